"""Automodel's MambaContextParallel around a mixer of transformers: what its users
write, as nemotron_v3/layers.py of the released package does, with transformers' own
convolution and scan in place of CUDA kernels."""

from __future__ import annotations

import importlib.util
import sys
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from transformers.models.nemotron_h import modeling_nemotron_h as modeling


def released() -> Any:
    """The module alone: the package around it wants more than this needs."""
    found = importlib.util.find_spec("nemo_automodel")
    assert found is not None, "pip install --no-deps nemo_automodel"
    assert found.submodule_search_locations
    folder = found.submodule_search_locations[0]
    path = f"{folder}/components/distributed/context_parallel/mamba.py"
    spec = importlib.util.spec_from_file_location("automodel_mamba", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["automodel_mamba"] = module
    spec.loader.exec_module(module)
    return module


def forward(mixer: Any, cp: Any, u: Tensor) -> Tensor:
    """u `[b, l, d]` of this rank, in zigzag order."""
    projected = cp.pre_conv_ssm(mixer.in_proj(u))
    inner = cp.d_inner_local
    states = cp.n_groups_local * cp.d_state
    z, x, dt = projected.split([inner, inner + 2 * states, cp.num_heads_local], -1)
    x = modeling.causal_conv1d_fn(
        x.transpose(1, 2),
        cp.get_conv1d_weight(),
        cp.get_conv1d_bias(),
        activation="silu",
    ).transpose(1, 2)
    x, b, c = x.split([inner, states, states], -1)
    rows = x.shape[:2]
    y = modeling.mamba2_chunk_scan(
        x.reshape(*rows, cp.num_heads_local, cp.head_dim),
        dt,
        -torch.exp(cp.get_A_log().float()),
        b.reshape(*rows, cp.n_groups_local, cp.d_state),
        c.reshape(*rows, cp.n_groups_local, cp.d_state),
        chunk_size=mixer.chunk_size,
        D=cp.get_D(),
        dt_bias=cp.get_dt_bias(),
        dt_softplus=True,
        dt_limit=mixer.time_step_limit,
    )
    y = y.reshape(*rows, inner) * functional.silu(z)
    y = cp.post_conv_ssm(y.contiguous())
    # A gate of which silu is 1.
    norm = mixer.norm
    groups = y.float().unflatten(-1, (-1, norm.group_size))
    scale = torch.rsqrt(groups.pow(2).mean(-1, keepdim=True) + norm.variance_epsilon)
    return mixer.out_proj(norm.weight * (groups * scale).flatten(-2).to(y.dtype))
