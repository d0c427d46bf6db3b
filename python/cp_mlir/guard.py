"""What a model may be called with, once its layers share tokens."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from torch import Tensor, nn

if TYPE_CHECKING:
    from .parallel import ContextParallel


def guard(model: nn.Module, parallel: ContextParallel) -> None:
    """Checks each call of the model, and hands it places in the whole row where it
    has got none: its own would begin at 0 on every rank."""

    def check_labels(module: nn.Module, args: Any, named: dict[str, Any]) -> Any:
        named = _by_name(module, args, named)
        batch = named.pop("cp_batch", None)
        _check_rows(parallel, batch, named)
        if named.get("output_router_logits"):
            raise ValueError(
                "output_router_logits adds a term to the loss that is no sum over "
                "tokens; call the model without it"
            )
        parallel.handed = None
        if named.get("labels") is not None and named.get("shift_labels") is None:
            raise ValueError(
                "labels alone are shifted within a rank's part, so that the last token "
                "of each part has none; take them, and shift_labels, from batch()"
            )
        # Not every model hands on what it does not know.
        parallel.handed = named.get("cu_seqlens")
        return (), named

    def forget(*_: Any) -> None:
        parallel.documents = parallel.handed = None

    def check_inputs(module: nn.Module, args: Any, named: dict[str, Any]) -> Any:
        named = _by_name(module, args, named)
        parallel.documents = named.get("cu_seqlens", parallel.handed)
        parallel.handed = None
        parallel.has_had_documents |= parallel.documents is not None
        _check_mask(named)
        for cache in ("cache", "past_key_values", "cache_params"):
            if named.get(cache) is not None:
                raise ValueError(
                    f"{cache} is for generation, which shard() does not do; call the "
                    "model without it"
                )
        named["use_cache"] = False
        if _takes(module, "position_ids"):
            _check_positions(parallel, named)
        return (), named

    model.register_forward_pre_hook(check_labels, with_kwargs=True)
    base = getattr(model, "base_model", model)
    base.register_forward_pre_hook(check_inputs, with_kwargs=True)
    base.register_forward_hook(forget, always_call=True)


def _by_name(module: nn.Module, args: Any, named: dict[str, Any]) -> dict[str, Any]:
    """All arguments of a call, those that were given by place too."""
    names = list(inspect.signature(type(module).forward).parameters)[1:]
    return dict(zip(names, args, strict=False)) | named


def _check_rows(parallel: ContextParallel, batch: Any, named: dict[str, Any]) -> None:
    """That the tokens are those of the batch that came with them."""
    tokens = named.get("input_ids")
    if batch is None or tokens is None:
        return
    expected = tuple(batch.part("input_ids", parallel.rank).shape)
    if tuple(tokens.shape) != expected:
        raise ValueError(
            f"input_ids have shape {list(tokens.shape)}, but this rank's part of the "
            f"batch has {list(expected)}; give the model what batch() gave"
        )


def _check_mask(named: dict[str, Any]) -> None:
    mask = named.get("attention_mask")
    if mask is None:
        return
    if not (isinstance(mask, Tensor) and mask.dim() == 2 and bool(mask.all())):
        raise ValueError(
            "an attention_mask that is not all ones says what the program of all ranks "
            "would not know; give padding and documents by seq_lens of batch(), and no "
            "mask to the model"
        )
    named["attention_mask"] = None


def _check_positions(parallel: ContextParallel, named: dict[str, Any]) -> None:
    """Positions are those of the whole row, or of documents that are known."""
    tokens = named.get("input_ids")
    if tokens is None:
        tokens = named.get("inputs_embeds")
    if tokens is None:
        return
    given = named.get("position_ids")
    if parallel.documents is not None:
        if given is None:
            raise ValueError(
                "documents have positions of their own; give position_ids too, as "
                "batch() does"
            )
        return
    places = parallel.places_of(tokens)
    if given is None:
        named["position_ids"] = places
    elif given.shape[1:] != places.shape[1:] or not bool((given == places).all()):
        raise ValueError(
            "position_ids are not those of this rank's tokens in a whole row; where "
            "they begin anew rows hold documents: give these by seq_lens of batch(), "
            "and take position_ids from it"
        )


def _takes(module: nn.Module, name: str) -> bool:
    return name in inspect.signature(type(module).forward).parameters
