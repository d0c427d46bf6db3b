"""What a model may be called with, once its layers share tokens."""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from .attention import NAME
from .calls import check_loss_function

if TYPE_CHECKING:
    from .parallel import ContextParallel


def guard(model: nn.Module, parallel: ContextParallel) -> None:
    """Checks each call of the model, and hands it places in the whole row where it
    has got none: its own would begin at 0 on every rank."""
    base = getattr(model, "base_model", model)
    guarded = _Guard(parallel, base)
    _enclose(base, guarded, guarded.check_inputs)
    _enclose(model, guarded, guarded.check_labels)


class _Guard:
    """What is done around a call."""

    def __init__(self, parallel: ContextParallel, base: nn.Module) -> None:
        self.parallel = parallel
        self.takes_positions = "position_ids" in _names_of(base)
        self.takes_cache = _takes_cache(base)

    def check_labels(self, model: nn.Module, named: dict[str, Any]) -> None:
        """Of the model with its loss."""
        parallel = self.parallel
        batch = named.pop("cp_batch", None)
        _check_shape(parallel, batch, named)
        if batch is not None:
            parallel.note(batch)
        keep = named.get("logits_to_keep")
        if isinstance(keep, int) and keep and parallel.world.size > 1:
            raise ValueError(
                "logits_to_keep is of the last tokens of a row, which are one rank's; "
                "take those of all tokens, and gather() the logits"
            )
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
        if named.get("labels") is not None:
            check_loss_function(model)
        if named.get("labels") is not None and _shifts_by_itself(model):
            raise ValueError(
                "the model computes a loss of its own of labels, which are shifted "
                "already; call it without labels, and take the loss of logits and "
                "shift_labels"
            )
        # Not every model hands on what it does not know.
        parallel.handed = named.get("cu_seqlens")

    def check_inputs(self, module: nn.Module, named: dict[str, Any]) -> None:
        """Of the model that has the layers."""
        parallel = self.parallel
        if parallel.has_attention:
            _check_implementation(module)
        parallel.documents = named.get("cu_seqlens", parallel.handed)
        parallel.handed = None
        parallel.has_had_documents |= parallel.documents is not None
        parallel.is_under_way = True
        if torch.is_grad_enabled():
            parallel.is_under_ddp = _is_under_ddp(parallel, module)
        _check_mask(named)
        if named.get("token_type_ids") is not None:
            raise ValueError(
                "token_type_ids are of the whole row, and may make a mask of their "
                "own; call the model with what batch() gives"
            )
        for cache in ("cache", "past_key_values", "cache_params"):
            if named.get(cache) is not None:
                raise ValueError(
                    f"{cache} is for generation, which shard() does not do; call the "
                    "model without it"
                )
        if self.takes_cache:
            named["use_cache"] = False
        if self.takes_positions:
            _check_positions(parallel, named)

    def state(self) -> tuple[Any, Any, bool]:
        parallel = self.parallel
        return parallel.documents, parallel.handed, parallel.is_under_way

    def restore(self, state: tuple[Any, Any, bool]) -> None:
        """That of whoever called: a copy may be called within a call of the model."""
        parallel = self.parallel
        parallel.documents, parallel.handed, parallel.is_under_way = state


def _enclose(
    module: nn.Module,
    guarded: _Guard,
    check: Callable[[nn.Module, dict[str, Any]], None],
) -> None:
    """Checks the arguments of each call of `forward`, by their names. It is a method of
    the module's own, which a copy of it has for itself: hooks are passed over where a
    wrapper calls forward, as those of adapters do."""
    inner: Any = module.forward
    # What somebody has put in its place may be no method.
    is_own = getattr(inner, "__self__", None) is module
    function: Callable[..., Any] = inner.__func__ if is_own else _called(inner)
    names = _names_of(module)
    # What torch.compile traces begins behind them: what is checked, and noted for the
    # layers, is this batch and not the one that was traced.
    begin: Any = torch.compiler.disable(guarded.state)
    before: Any = torch.compiler.disable(check)
    behind: Any = torch.compiler.disable(guarded.restore)

    @torch.compiler.disable(recursive=False)
    @functools.wraps(type(module).forward)
    def forward(self: nn.Module, *args: Any, **named: Any) -> Any:
        named = dict(zip(names, args, strict=False)) | named
        state = begin()
        try:
            before(self, named)
            return function(self, **named)
        finally:
            behind(state)

    module.forward = types.MethodType(forward, module)  # type: ignore[method-assign]


def _called(forward: Callable[..., Any]) -> Callable[..., Any]:
    def call(_: nn.Module, **named: Any) -> Any:
        return forward(**named)

    return call


def _names_of(module: nn.Module) -> list[str]:
    return list(inspect.signature(type(module).forward).parameters)[1:]


def _check_shape(parallel: ContextParallel, batch: Any, named: dict[str, Any]) -> None:
    """That the tokens are those of the batch that came with them, and no more, as
    adapters add that are tokens of each rank's own."""
    for name in ("input_ids", "inputs_embeds"):
        tokens = named.get(name)
        if batch is None or tokens is None:
            continue
        known = name if name in batch.names() else "input_ids"
        expected = tuple(batch.part(known, parallel.rank).shape)[:2]
        if tuple(tokens.shape[:2]) == expected:
            continue
        raise ValueError(
            f"{name} have shape {list(tokens.shape)}, but this rank's part of the "
            f"batch has {list(expected)}; give the model what batch() gave"
        )


def _takes_cache(base: nn.Module) -> bool:
    """Whether it may be told not to keep one."""
    parameters = inspect.signature(type(base).forward).parameters
    if "use_cache" in parameters:
        return True
    takes_all = any(each.kind is each.VAR_KEYWORD for each in parameters.values())
    return takes_all and hasattr(getattr(base, "config", None), "use_cache")


def _shifts_by_itself(model: nn.Module) -> bool:
    """Whether it takes labels, and hands them neither to a loss_function nor takes
    shift_labels: what a class that it is made of does may never be called."""
    if "labels" not in _names_of(model):
        return False
    code = getattr(inspect.unwrap(type(model).forward), "__code__", None)
    if code is None:
        return False
    arguments = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    words = {*code.co_names, *code.co_consts, *arguments}
    return not words & {"loss_function", "shift_labels"}


def _is_under_ddp(parallel: ContextParallel, module: nn.Module) -> bool:
    """Whether the call is one of DDP's, over these ranks, which has its parameters."""
    if parallel.world.size == 1:
        return False
    import torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel

    wrapper = DistributedDataParallel._get_active_ddp_module()
    if wrapper is None:
        return False
    mine = {id(each) for each in module.parameters()}
    if not any(id(each) in mine for each in wrapper.parameters()):
        return False
    ranks = dist.get_process_group_ranks(parallel.group)
    return len({*ranks} & {*dist.get_process_group_ranks(wrapper.process_group)}) > 1


def _check_implementation(module: Any) -> None:
    """That its attention is the one that shard() has set."""
    now = getattr(module.config, "_attn_implementation", NAME)
    if now != NAME:
        raise ValueError(
            f"the attention of {type(module).__name__} is '{now}' now, by which each "
            f"rank would see its own tokens alone; call set_attn_implementation("
            f"'{NAME}'), and give another model a copy of the config: models of one "
            "config have one attention"
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
