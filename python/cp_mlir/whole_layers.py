"""Layers that stay whole while a model is exported: each is one operator, for which
there is one op of the dialect."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, nn

from .aten import LAYERS
from .calls import refuse, scale_of
from .inspection import check_windows
from .mixers import MIXERS, check_mixer, fields_of, is_changed, weights_of
from .writer import ExportError

NAME = LAYERS

_library = torch.library.Library(NAME, "DEF")
_library.define("mixer(Tensor u, Tensor[] weights, str[] names, str fields) -> Tensor")
_library.define(
    "attention(Tensor q, Tensor k, Tensor v, float scale, int window) -> Tensor"
)
_library.define(
    "attention_block(Tensor u, Tensor[] weights, str[] names, str fields) -> Tensor"
)
_library.define("rms_norm(Tensor x, Tensor weight, float eps) -> Tensor")


def _fake_layer(u: Tensor, weights: Any, names: Any, fields: str) -> Tensor:
    return torch.empty_like(u)


def _fake_attention(q: Tensor, k: Tensor, v: Tensor, scale: float, w: int) -> Tensor:
    return q.new_empty(*q.shape[:3], v.shape[3])


def _fake_norm(x: Tensor, weight: Tensor, eps: float) -> Tensor:
    return torch.empty_like(x)


for _name, _fake in (
    ("mixer", _fake_layer),
    ("attention_block", _fake_layer),
    ("attention", _fake_attention),
    ("rms_norm", _fake_norm),
):
    torch.library.register_fake(f"{NAME}::{_name}", _fake, lib=_library)

_ops = getattr(torch.ops, NAME)


def _mixer(mixer: Any) -> Callable[..., Tensor]:
    fields = repr(fields_of(mixer))

    def forward(hidden_states: Tensor, *others: Any, **named: Any) -> Tensor:
        refuse(type(mixer).__name__, others, named)
        weights = weights_of(mixer)
        return _ops.mixer(hidden_states, [*weights.values()], [*weights], fields)

    return forward


def _is_norm(module: Any) -> bool:
    """Whether it computes as cp.rms_norm does, which a name does not say: some add 1 to
    their weight."""
    eps = _eps_of(module)
    weight = getattr(module, "weight", None)
    if not type(module).__name__.endswith("RMSNorm") or eps is None or weight is None:
        return False
    # What else it learns may begin as if it were not there.
    held = [*module.named_parameters(), *module.named_buffers()]
    if [name for name, _ in held] != ["weight"] or is_changed(module):
        return False
    with torch.no_grad():
        generator = torch.Generator().manual_seed(0)
        x = torch.randn(3, weight.numel(), generator=generator).to(weight)
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
    original = norm.forward

    def forward(*others: Any, **named: Any) -> Any:
        # With a residual or the like it is more than a norm.
        given = [*others, *named.values()]
        if len(given) != 1 or given[0].shape[-1:] != norm.weight.shape:
            return original(*others, **named)
        return _ops.rms_norm(given[0], norm.weight, eps)

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


# Attention that computes as cp.attention_block does: of plain projections, with rotary
# embeddings of halves of the first channels of a head, or none.
_BLOCKS = frozenset(
    {"BambaAttention", "GraniteMoeHybridAttention", "NemotronHAttention"}
)
_PROJECTIONS = ("q_proj", "k_proj", "v_proj", "o_proj")


def _is_block(module: Any) -> bool:
    if type(module).__name__ not in _BLOCKS:
        return False
    linears = [getattr(module, name) for name in _PROJECTIONS]
    return (
        "forward" not in module.__dict__
        and all(type(each) is nn.Linear and not is_changed(each) for each in linears)
        and len({each.bias is None for each in linears}) == 1
    )


def _rotary_of(model: nn.Module) -> tuple[float, int] | None:
    """Theta and channels of its rotary embeddings, where they are the plain ones."""
    known = [
        module
        for module in model.modules()
        if hasattr(module, "inv_freq") and hasattr(module, "attention_scaling")
    ]
    if len(known) != 1 or is_changed(known[0]):
        return None
    module: Any = known[0]
    parameters = getattr(module.config, "rope_parameters", None) or {}
    theta = parameters.get("rope_theta")
    kind = getattr(module, "rope_type", "default")
    if theta is None or kind != "default" or module.attention_scaling != 1:
        return None
    found = module.inv_freq.double()
    dims = 2 * len(found)
    places = torch.arange(0, dims, 2, device=found.device).double()
    expected = float(theta) ** -(places / dims)
    return (float(theta), dims) if torch.allclose(found, expected, 1e-6, 0) else None


def _block(module: Any, rotary: tuple[float, int] | None) -> Callable[..., Any]:
    """`rotary`: that of the positions from 0, or None where they are others."""
    what = type(module).__name__
    original = type(module).forward
    signature = inspect.signature(original)
    names = [name for name, _ in module.named_parameters()]

    def forward(hidden_states: Tensor, *others: Any, **named: Any) -> Any:
        given = signature.bind(module, hidden_states, *others, **named).arguments
        given.update(given.pop("kwargs", {}))
        rotates = given.get("position_embeddings") is not None
        if rotates and rotary is None:
            return original(module, hidden_states, *others, **named)
        refuse(what, (), given)
        dropout = module.attention_dropout if module.training else 0.0
        mask = given.pop("attention_mask", None)
        scale = scale_of(what, hidden_states, module.scaling, mask, dropout, given)
        theta, dims = rotary if rotates and rotary else (0.0, 0)
        fields = {
            "num_heads": module.q_proj.out_features // module.head_dim,
            "num_kv_heads": module.k_proj.out_features // module.head_dim,
            "head_dim": module.head_dim,
            "scale": scale,
            "rope_theta": theta,
            "rotary_dims": dims,
            "bias": module.q_proj.bias is not None,
        }
        weights = [module.get_parameter(name) for name in names]
        return _ops.attention_block(hidden_states, weights, names, repr(fields)), None

    return forward


@contextlib.contextmanager
def layers_whole(model: Any, counts_from_zero: bool = True) -> Iterator[None]:
    """Until it ends, each layer that has an op is one operator. `counts_from_zero`:
    positions are those of a row, or of its documents."""
    if getattr(model, "_cp_mlir_sharded", False):
        raise ExportError(
            "the model is sharded, and its layers are programs already; export another "
            "one"
        )
    check_windows(model)
    changed: list[tuple[nn.Module, Any]] = []
    config = getattr(model, "config", None)
    attention = getattr(config, "_attn_implementation", None)
    rotary = _rotary_of(model) if counts_from_zero else None
    try:
        for name, module in model.named_modules():
            if type(module).__name__ in MIXERS:
                check_mixer(module, name)
                forward = _mixer(module)
            elif _is_block(module):
                forward = _block(module, rotary)
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
