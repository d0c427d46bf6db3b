"""What layers of a model have in common when they call an operator."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from .layers import ELEMENTS
from .operator import check_plain

if TYPE_CHECKING:
    from .parallel import ContextParallel


def dtype_of(dtype: torch.dtype, what: str) -> str:
    name = str(dtype).removeprefix("torch.")
    if name not in ELEMENTS:
        raise TypeError(f"{what} is {dtype}, expected one of {', '.join(ELEMENTS)}")
    return name


def documents_for(
    parallel: ContextParallel, what: str, named: dict[str, Any]
) -> Tensor | None:
    """cu_seqlens of the call that is under way: as the model has handed it on to this
    layer, or else of the call that began last. That is not the right one where a layer
    is computed again for the backward pass."""
    if "cu_seqlens" in named:
        if parallel.is_under_way and not torch.compiler.is_compiling():
            parallel.handed_to.add(what)
        return named["cu_seqlens"]
    if not parallel.is_under_way and what in parallel.handed_to:
        return None
    if parallel.has_had_documents and _is_again(parallel):
        raise ValueError(
            f"'{what}' is computed again in the backward pass, and the model has not "
            "handed on its documents; train it without gradient checkpointing, or "
            "without documents"
        )
    return parallel.documents


def _is_again(parallel: ContextParallel) -> bool:
    """Whether a layer is computed for the backward pass, behind the model's call."""
    if parallel.is_under_way:
        return False
    return torch.compiler.is_compiling() or torch._C._current_graph_task_id() != -1


def count_in(documents: Tensor | None) -> int:
    return 0 if documents is None else documents.shape[1]


def apply(key: str, tensors: list[Tensor], documents: Tensor | None) -> Tensor:
    if documents is not None:
        tensors = [*tensors, documents]
    check_plain(tensors)
    return torch.ops.cp_mlir.forward(key, tensors)[0]


def refuse(name: str, others: Sequence[Any], named: dict[str, Any]) -> None:
    """What a layer is handed beside its input, and cannot be left out in silence."""
    for key in ("cache", "cache_params", "past_key_values", "seq_idx"):
        if named.get(key) is not None:
            raise ValueError(
                f"'{name}' got {key}, which shard() does not take; train without a "
                "cache, and give documents by seq_lens of batch()"
            )
    masks = [*others, named.get("attention_mask")]
    if any(mask is not None for mask in masks):
        raise ValueError(
            f"'{name}' got a mask, which shard() does not take; give documents and "
            "padding by seq_lens of batch()"
        )


def check_loss_function(model: Any) -> None:
    """ValueError for a loss of the model's own that shifts labels by itself, which are
    shifted already, or does not divide by the tokens of all ranks."""
    own = getattr(model, "loss_function", None)
    if own is None:
        return
    parameters = inspect.signature(own).parameters
    missing = {"shift_labels", "num_items_in_batch"} - set(parameters)
    if missing:
        raise ValueError(
            f"the model's loss_function takes no {' and no '.join(sorted(missing))}, "
            "by which ranks share a loss as transformers' own do; take the loss of "
            "logits and shift_labels, or let it take them"
        )


# What some models hand to attention beside the rest.
_REFUSED = (
    "block_indices",
    "head_mask",
    "indices",
    "position_bias",
    "s_aux",
    "sinks",
    "softcap",
)


def scale_of(
    what: str,
    query: Tensor,
    scaling: float | None,
    attention_mask: Tensor | None,
    dropout: float,
    named: dict[str, Any],
) -> float:
    """That of attention, as transformers' interface hands it over; ValueError for what
    cannot be left out in silence. Queries are `[..., p]`."""
    if attention_mask is not None:
        raise ValueError(
            f"{what} got a mask, which is not taken; give documents and padding by "
            "seq_lens of batch()"
        )
    if dropout > 0:
        raise ValueError(
            f"{what} has dropout {dropout} in training, which is not taken; set "
            "attention_dropout to 0, or export the model in eval()"
        )
    for refused in _REFUSED:
        if named.get(refused) is not None:
            raise ValueError(f"{what} has {refused}, which is not taken")
    if named.get("is_causal") is False:
        raise ValueError(f"{what} is not causal in this call, which is not taken")
    return query.shape[-1] ** -0.5 if scaling is None else float(scaling)
