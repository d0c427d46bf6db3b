"""Attention by transformers' own interface, which becomes an operator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from .calls import apply, count_in, documents_for, dtype_of, scale_of
from .layers import AttentionShape

if TYPE_CHECKING:
    from .parallel import ContextParallel

NAME = "cp_mlir"


def take_attention(
    model: Any, parallel: ContextParallel, modules: Sequence[nn.Module]
) -> None:
    from transformers import AttentionInterface

    AttentionInterface.register(NAME, _attention)
    for module in modules:
        # Not a submodule, nor a parameter.
        object.__setattr__(module, "_cp_mlir", parallel)
    model.set_attn_implementation(NAME)


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
    """transformers' attention interface: q `[b, h, l, p]`, k and v `[b, g, l, p]`; the
    result is `[b, l, h, p]`."""
    parallel: ContextParallel | None = getattr(module, "_cp_mlir", None)
    what = type(module).__name__
    if parallel is None:
        raise ValueError(
            f"{what} is in no model that cp_mlir.shard() was given; if another model "
            "of the same config was, give each a copy of the config"
        )
    scale = scale_of(what, query, scaling, attention_mask, dropout, named)
    documents = documents_for(parallel, what, named)
    # Under autocast rotary embedding leaves q and k in another type than v.
    dtype = torch.promote_types(query.dtype, value.dtype)
    if torch.is_autocast_enabled(query.device.type):
        dtype = torch.get_autocast_dtype(query.device.type)
    q, k, v = (
        each.to(dtype).transpose(1, 2).contiguous() for each in (query, key, value)
    )
    operator_key = parallel.attention_key(
        parallel.identity,
        tuple(q.shape),
        tuple(k.shape[2:]),
        v.shape[3],
        q.dtype,
        scale,
        sliding_window,
        count_in(documents),
    )
    return apply(operator_key, [q, k, v], documents), None


def attention_keys(parallel: ContextParallel) -> Callable[..., str]:
    @torch.compiler.assume_constant_result
    def key(
        identity: int,
        q: tuple[int, int, int, int],
        k: tuple[int, int],
        value_dim: int,
        dtype: torch.dtype,
        scale: float,
        window: int | None,
        documents: int,
    ) -> str:
        rows, local, heads, head_dim = q
        shape = AttentionShape(
            rows=rows,
            length=local * parallel.world.size,
            num_heads=heads,
            num_kv_heads=k[0],
            head_dim=head_dim,
            value_dim=value_dim,
            scale=scale,
            dtype=dtype_of(dtype, "q of attention"),
            window=window or 0,
            documents=documents,
        )
        return parallel.operator_of(shape, ("q", "k", "v")).key

    return key
