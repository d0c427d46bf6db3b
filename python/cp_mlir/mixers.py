"""Mamba-2 mixers of transformers, whose forward becomes an operator."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from .calls import apply, count_in, documents_for, dtype_of, refuse
from .layers import MixerShape

if TYPE_CHECKING:
    from .parallel import ContextParallel

# Mixers that compute as cp.mamba_mixer does: silu, and a gate behind the scan, with a
# norm or without.
MIXERS = frozenset(
    {
        "BambaMixer",
        "FalconH1Mixer",
        "GraniteMoeHybridMambaLayer",
        "Mamba2Mixer",
        "NemotronHMamba2Mixer",
        "Zamba2MambaMixer",
    }
)


def is_changed(module: nn.Module) -> bool:
    """Whether more is done than its class does, by hooks or a forward of its own."""
    hooks = module._forward_hooks or module._forward_pre_hooks
    return bool(hooks) or "forward" in module.__dict__


def check_parts(mixer: Any, name: str, refuses_hooks: bool = False) -> None:
    """That its projections are what the program takes them for. Hooks that come later
    may be those of an observer of all modules, and are not called."""
    for part, expected in (
        ("in_proj", nn.Linear),
        ("conv1d", nn.Conv1d),
        ("out_proj", nn.Linear),
    ):
        found = getattr(mixer, part)
        if type(found) is not expected or (refuses_hooks and is_changed(found)):
            kind = type(found)
            what = kind.__name__
            if kind is not expected and what == expected.__name__:
                what = f"{kind.__module__}.{what}"
            raise ValueError(
                f"'{name}.{part}' is a {what}"
                f"{' with hooks' if is_changed(found) else ''}, expected a plain "
                f"{expected.__name__}: the program reads its weight alone, and what is "
                "around it, such as an adapter, would be lost"
            )


def check_mixer(mixer: Any, name: str) -> None:
    if mixer.activation not in ("silu", "swish"):
        raise ValueError(
            f"'{name}' has the activation '{mixer.activation}', expected silu"
        )
    check_parts(mixer, name, refuses_hooks=True)
    if "forward" in mixer.__dict__ or is_changed(mixer.norm):
        raise ValueError(
            f"'{name}' has a forward of its own or hooks on its norm, which would be "
            "lost: a program takes the place of all of it"
        )
    norm = mixer.norm
    if not _has_norm(mixer):
        return
    if not hasattr(norm, "variance_epsilon") or "weight" not in norm._parameters:
        raise ValueError(
            f"'{name}.norm' is a {type(norm).__name__} without a weight or a "
            "variance_epsilon, which is not known; leave what is around it out"
        )


def _mixer_keys(
    parallel: ContextParallel, fields: dict[str, Any]
) -> Callable[..., str]:
    """The operator of a mixer by its input. What is traced by torch.compile takes it
    for a constant, of the arguments: `identity` says of which mixer, since layers that
    are alike share what was traced."""

    @torch.compiler.assume_constant_result
    def key(
        identity: str,
        rows: int,
        local: int,
        hidden: int,
        dtype: torch.dtype,
        documents: int,
    ) -> str:
        shape = MixerShape(
            rows=rows,
            length=local * parallel.world.size,
            hidden=hidden,
            dtype=dtype_of(dtype, "the mixers' input"),
            documents=documents,
            **fields,
        )
        return parallel.operator_of(shape, ("u",)).key

    return key


def _has_norm(mixer: Any) -> bool:
    return not isinstance(mixer.norm, nn.Identity)


def _norm_fields(norm: Any, inner: int) -> dict[str, Any]:
    # Before transformers 5.23 a norm is over all of d_inner.
    groups = inner // (getattr(norm, "group_size", None) or inner)
    return {
        "norm_groups": getattr(norm, "n_groups", groups),
        "eps": norm.variance_epsilon,
        "gate_first": not getattr(norm, "norm_before_gate", False),
    }


def fields_of(mixer: Any) -> dict[str, Any]:
    """What a mixer has of MixerShape, whatever its input is."""
    inner = mixer.num_heads * mixer.head_dim
    norm = _norm_fields(mixer.norm, inner) if _has_norm(mixer) else {"has_norm": False}
    least, most = mixer.time_step_limit
    return {
        "num_heads": mixer.num_heads,
        "head_dim": mixer.head_dim,
        "num_groups": mixer.n_groups,
        "state_size": mixer.ssm_state_size,
        "conv_width": mixer.conv_kernel_size,
        # A published chunk serves GPUs; on a CPU states stay in cache with less.
        "chunk_size": min(mixer.chunk_size, 64),
        **norm,
        "dt_min": float(least),
        "dt_max": float(most),
        "in_bias": mixer.in_proj.bias is not None,
        "out_bias": mixer.out_proj.bias is not None,
        "conv_bias": mixer.conv1d.bias is not None,
    }


def weights_of(mixer: Any) -> dict[str, Tensor]:
    """By the names and in the order of MixerShape.types()."""
    weights = {
        "in_proj.weight": mixer.in_proj.weight,
        "in_proj.bias": mixer.in_proj.bias,
        "conv1d.weight": mixer.conv1d.weight.squeeze(1),
        "conv1d.bias": mixer.conv1d.bias,
        "dt_bias": mixer.dt_bias,
        "A_log": mixer.A_log,
        "D": mixer.D,
        "norm.weight": mixer.norm.weight if _has_norm(mixer) else None,
        "out_proj.weight": mixer.out_proj.weight,
        "out_proj.bias": mixer.out_proj.bias,
    }
    given = {name: weight for name, weight in weights.items() if weight is not None}
    # Falcon-H1 multiplies what comes and goes, which is to multiply the weights.
    factors = getattr(mixer, "mup_vector", None)
    if factors is not None:
        factors = factors.reshape(-1).to(mixer.in_proj.weight.dtype)
        rows = (factors * mixer.ssm_in_multiplier)[:, None]
        given["in_proj.weight"] = given["in_proj.weight"] * rows
        if "in_proj.bias" in given:
            given["in_proj.bias"] = given["in_proj.bias"] * factors
    return given


def replace_forward(parallel: ContextParallel, mixer: Any, name: str) -> None:
    """By a method of the mixer's own, which a copy of it has for itself."""
    fields = fields_of(mixer)
    key_of = _mixer_keys(parallel, fields)
    identity = f"{parallel.identity} {fields}"
    norm = type(mixer.norm)

    def forward(self: Any, hidden_states: Tensor, *others: Any, **named: Any) -> Tensor:
        refuse(name, [*others], named)
        # They may have got an adapter since.
        check_parts(self, name)
        if type(self.norm) is not norm:
            raise ValueError(
                f"'{name}.norm' is a {type(self.norm).__name__} now, and was a "
                f"{norm.__name__}: the program reads its weight alone, and what is "
                "around it, such as an adapter, would be lost"
            )
        documents = documents_for(parallel, name, named)
        u = hidden_states
        tensors = [u, *(w.to(u.dtype) for w in weights_of(self).values())]
        key = key_of(identity, *u.shape, u.dtype, count_in(documents))
        return apply(key, tensors, documents)

    mixer.forward = types.MethodType(forward, mixer)
