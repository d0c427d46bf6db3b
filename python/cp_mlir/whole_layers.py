"""Layers that stay whole while a model is exported: each is one operator, for which
there is one op of the dialect."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, nn

from .calls import refuse, scale_of
from .layers import MixerShape
from .mixers import MIXERS, check_mixer, fields_of
from .writer import ExportError

NAME = "cp_mlir_export"

_library = torch.library.Library(NAME, "DEF")
_library.define("mixer(Tensor u, Tensor[] weights, str[] names, str fields) -> Tensor")
_library.define(
    "attention(Tensor q, Tensor k, Tensor v, float scale, int window) -> Tensor"
)
_library.define("rms_norm(Tensor x, Tensor weight, float eps) -> Tensor")


def _fake_mixer(u: Tensor, weights: Any, names: Any, fields: str) -> Tensor:
    return torch.empty_like(u)


def _fake_attention(q: Tensor, k: Tensor, v: Tensor, scale: float, w: int) -> Tensor:
    return q.new_empty(*q.shape[:3], v.shape[3])


def _fake_norm(x: Tensor, weight: Tensor, eps: float) -> Tensor:
    return torch.empty_like(x)


for _name, _fake in (
    ("mixer", _fake_mixer),
    ("attention", _fake_attention),
    ("rms_norm", _fake_norm),
):
    torch.library.register_fake(f"{NAME}::{_name}", _fake, lib=_library)

_ops = getattr(torch.ops, NAME)


def _mixer(mixer: Any) -> Callable[..., Tensor]:
    fields = repr(fields_of(mixer))
    names = [
        name
        for name, _ in mixer.named_parameters()
        if name in MixerShape(1, 1, 1, 1, 1, 1, 1, 1, proj_bias=True).types()
    ]

    def forward(hidden_states: Tensor, *others: Any, **named: Any) -> Tensor:
        refuse(type(mixer).__name__, others, named)
        weights = [mixer.get_parameter(name) for name in names]
        return _ops.mixer(hidden_states, weights, names, fields)

    return forward


def _is_norm(module: Any) -> bool:
    """Whether it computes as cp.rms_norm does, which a name does not say: some add 1 to
    their weight."""
    eps = _eps_of(module)
    weight = getattr(module, "weight", None)
    if not type(module).__name__.endswith("RMSNorm") or eps is None or weight is None:
        return False
    with torch.no_grad():
        generator = torch.Generator().manual_seed(0)
        x = torch.randn(3, weight.numel(), generator=generator).to(weight.dtype)
        try:
            found = module(x).double()
        except Exception:  # Whatever else it takes, it is none.
            return False
        wide = x.double()
        scale = torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + eps)
        expected = wide * scale * weight.double()
        near = 2e-2 if weight.dtype is torch.bfloat16 else 1e-5
        return bool((found - expected).norm() <= near * expected.norm())


def _eps_of(norm: Any) -> float | None:
    eps = getattr(norm, "variance_epsilon", None)
    return getattr(norm, "eps", None) if eps is None else eps


def _norm(norm: Any) -> Callable[..., Tensor]:
    eps = _eps_of(norm)

    def forward(hidden_states: Tensor) -> Tensor:
        return _ops.rms_norm(hidden_states, norm.weight, eps)

    return forward


def _attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | None = None,
    dropout: float = 0.0,
    sliding_window: int | None = None,
    **named: Any,
) -> tuple[Tensor, None]:
    what = type(module).__name__
    if not getattr(module, "is_causal", False):
        raise ExportError(f"{what} is not causal, and is not exported")
    scale = scale_of(what, query, scaling, attention_mask, dropout, named)
    q, k, v = (each.transpose(1, 2) for each in (query, key, value))
    return _ops.attention(q, k, v, scale, sliding_window or 0), None


@contextlib.contextmanager
def layers_whole(model: Any) -> Iterator[None]:
    """Until it ends, each layer that has an op is one operator."""
    if getattr(model, "_cp_mlir_sharded", False):
        raise ExportError(
            "the model is sharded, and its layers are programs already; export another "
            "one"
        )
    changed: list[tuple[nn.Module, Any]] = []
    config = getattr(model, "config", None)
    attention = getattr(config, "_attn_implementation", None)
    try:
        for name, module in model.named_modules():
            if type(module).__name__ in MIXERS:
                check_mixer(module, name)
                forward = _mixer(module)
            elif _is_norm(module):
                forward = _norm(module)
            else:
                continue
            changed.append((module, module.__dict__.get("forward")))
            module.forward = forward
        if attention is not None:
            from transformers import AttentionInterface

            AttentionInterface.register(NAME, _attention)
            model.set_attn_implementation(NAME)
        yield
    finally:
        for module, before in changed:
            del module.forward
            if before is not None:
                module.forward = before
        if attention is not None:
            model.set_attn_implementation(attention)
