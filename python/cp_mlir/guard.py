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

    def check_labels(_: nn.Module, args: Any, named: dict[str, Any]) -> Any:
        named.pop("cp_batch", None)
        # Not every model hands on what it does not know.
        parallel.handed = named.pop("cu_seqlens", None)
        if named.get("labels") is not None and named.get("shift_labels") is None:
            raise ValueError(
                "labels alone are shifted within a rank's part, so that the last token "
                "of each part has none; take them, and shift_labels, from batch()"
            )
        return args, named

    def check_inputs(_: nn.Module, args: Any, named: dict[str, Any]) -> Any:
        parallel.documents = named.pop("cu_seqlens", parallel.handed)
        parallel.handed = None
        mask = named.get("attention_mask")
        if mask is not None:
            if not (isinstance(mask, Tensor) and mask.dim() == 2 and bool(mask.all())):
                raise ValueError(
                    "an attention_mask that is not all ones says what the program of "
                    "all ranks would not know; give padding and documents by seq_lens "
                    "of batch(), and no mask to the model"
                )
            named["attention_mask"] = None
        for cache in ("cache", "past_key_values", "cache_params"):
            if named.get(cache) is not None:
                raise ValueError(
                    f"{cache} is for generation, which shard() does not do; call the "
                    "model without it"
                )
        named["use_cache"] = False
        tokens = args[0] if args else named.get("input_ids")
        if tokens is None:
            tokens = named.get("inputs_embeds")
        has_positions = (
            not _takes_positions(base) or named.get("position_ids") is not None
        )
        if tokens is not None and not has_positions:
            if parallel.documents is not None:
                raise ValueError(
                    "documents have positions of their own; give position_ids too, as "
                    "batch() does"
                )
            named["position_ids"] = parallel.places_of(tokens)
        return args, named

    base = getattr(model, "base_model", model)
    model.register_forward_pre_hook(check_labels, with_kwargs=True)
    base.register_forward_pre_hook(check_inputs, with_kwargs=True)


def _takes_positions(module: nn.Module) -> bool:
    parameters = inspect.signature(type(module).forward).parameters
    return "position_ids" in parameters
