"""A transformers model whose layers share the tokens of a batch between ranks.

What depends along the sequence (Mamba-2 mixers, attention) becomes a program of all
ranks; what is token-wise stays as it is, on this rank's tokens. Parameters stay
torch's, and each rank's gradients are its terms of a sum.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from .attention import attention_keys, take_attention
from .compiler import CompileError, Sharding, compile_ir, compile_on_first
from .guard import guard
from .inspection import check_loss, layers_of
from .layers import AttentionShape
from .mixers import replace_forward
from .operator import Operator, load
from .program import Cut
from .rows import RowSharing
from .world import World, shared_world

_identities = itertools.count()

# Of a gradient: its version when it had been added up.
_SUMMED = "_cp_mlir_summed"


def _local(gradient: Tensor) -> Tensor:
    """This rank's part of one that FSDP has cut over other ranks."""
    to_local = getattr(gradient, "to_local", None)
    return gradient if to_local is None else to_local()


def _gradients_by_type(
    parameters: Sequence[nn.Parameter], has: Sequence[bool]
) -> dict[torch.dtype, list[Tensor]]:
    """Of those that some rank `has` one of; where this one has not, zeros."""
    by_type: dict[torch.dtype, list[Tensor]] = {}
    for parameter, is_there in zip(parameters, has, strict=True):
        if not is_there:
            continue
        if parameter.grad is None:
            parameter.grad = torch.zeros_like(parameter)
        by_type.setdefault(parameter.dtype, []).append(parameter.grad)
    return by_type


def _add_up(gradients: Sequence[Tensor], group: Any) -> None:
    """Over the ranks, in one bucket, and notes that they have been."""
    import torch.distributed as dist

    flat = torch.cat([_local(each).reshape(-1) for each in gradients])
    dist.all_reduce(flat, group=group)
    offset = 0
    for gradient in gradients:
        own = _local(gradient)
        own.copy_(flat[offset : offset + own.numel()].view_as(own))
        offset += own.numel()
        setattr(gradient, _SUMMED, own._version)


def _is_new(gradient: Tensor | None) -> bool:
    """Whether it is not as sum_gradients() has left it."""
    if gradient is None:
        return False
    return getattr(gradient, _SUMMED, None) != _local(gradient)._version


def _check_unshared(gradients: Sequence[Tensor | None], ranks: set[int]) -> None:
    """ValueError for those that torch shares between these ranks itself, and for sparse
    ones."""
    for each in gradients:
        if each is not None and each.is_sparse:
            raise ValueError(
                "a gradient is sparse, and sums over ranks are of dense ones; make the "
                "embedding with sparse=False"
            )
        mesh = getattr(each, "device_mesh", None)
        if mesh is not None and len(ranks & set(mesh.mesh.flatten().tolist())) > 1:
            raise ValueError(
                "gradients are DTensors over these ranks, as FSDP makes them, which "
                "adds them up itself; leave sum_gradients() out, and multiply the loss "
                "by the number of ranks"
            )


class ContextParallel(RowSharing):
    """What shard() has made of a model: batches for it, and its gradients."""

    def __init__(
        self,
        model: nn.Module,
        group: Any,
        sharding: Sharding,
        world: World,
    ) -> None:
        self.model = model
        self.share_rows(group, sharding, world)
        """cu_seqlens of the batch that is under way, or None."""
        self.documents: Tensor | None = None
        """Whether a batch had documents."""
        self.has_had_documents = False
        """Whether the model is being called, and which layers it hands documents."""
        self.is_under_way = False
        self.handed_to: set[str] = set()
        """Those that the whole model has been called with, for its base model."""
        self.handed: Tensor | None = None
        """Whether the model, with this, was copied."""
        self.is_copied = False
        """Whether DDP over these ranks has called it."""
        self.is_under_ddp = False
        """Whether some of its layers are attention."""
        self.has_attention = False
        self._operators: dict[Any, Operator] = {}
        """Which of the process, as words for what torch.compile traces."""
        self.identity = next(_identities)
        self.attention_key = attention_keys(self)

    def __deepcopy__(self, _: Any) -> ContextParallel:
        """Of copies of the model too: these are the same ranks."""
        self.is_copied = True
        return self

    def __reduce__(self) -> Any:
        raise TypeError(
            "a sharded model is not saved whole, since its ranks are not; save its "
            "state_dict(), and shard the model that loads it"
        )

    def sum_gradients(self, model: nn.Module | None = None) -> None:
        """Adds up the gradients of all parameters over the ranks, in buckets of one
        type: once a step, behind its last backward pass. `model`: a copy of this one,
        or what holds it and has parameters of its own. Not with FSDP or DDP over these
        ranks, which do it themselves (and divide by their number: multiply the loss by
        it). Errors: ValueError where there is nothing to add up, or it has been, where
        ranks gave batch() other rows, and where they began with other parameters."""
        import torch.distributed as dist

        if self.world.size == 1:
            return
        if self.is_under_ddp:
            self.is_under_ddp = False
            raise ValueError(
                "DDP over these ranks adds gradients up itself; leave sum_gradients() "
                "out, and multiply the loss by the number of ranks"
            )
        model = model or self.model
        self.expect_same_parameters(model)
        parameters = [each for each in model.parameters() if each.requires_grad]
        given = [each.grad for each in parameters]
        _check_unshared(given, set(dist.get_process_group_ranks(self.group)))
        # What one rank has no gradient of, others may have, as of a rare token's; so
        # what is wrong is so for all ranks, or none would know why the others wait.
        *has, are_new = self.agree_on_rows(
            [*(each is not None for each in given), any(map(_is_new, given))]
        )
        self._expect_gradients(model, any(has), are_new)
        for gradients in _gradients_by_type(parameters, has).values():
            _add_up(gradients, self.group)

    def _expect_gradients(
        self, model: nn.Module, are_there: bool, are_new: bool
    ) -> None:
        if are_there and are_new:
            return
        if are_there:
            raise ValueError(
                "these gradients have been added up already; call sum_gradients() once "
                "a step, behind its last backward pass"
            )
        raise ValueError(
            f"no parameter of this {type(model).__name__} has a gradient; "
            + (
                "it was copied: call sum_gradients(copy) for those of the copy"
                if self.is_copied
                else "call sum_gradients() behind the backward pass, before the "
                "optimizer's step"
            )
        )

    def operator_of(self, shape: Any, wrt: Sequence[str]) -> Operator:
        """Compiled by the first rank, once for each shape of a layer."""
        found = self._operators.get(shape)
        if found is None:
            # What knows no documents runs in the order of rows.
            knows_documents = isinstance(shape, AttentionShape) and shape.documents > 0
            sharding = self.sharding if knows_documents else self.sharding.of_rows()
            path = compile_on_first(
                self.group,
                lambda: compile_ir(
                    shape.ir(),
                    sharding,
                    wrt=wrt,
                    partial_gradients=True,
                    for_cards=self.world.device.is_card,
                ),
                self.world.deadline,
            )
            found = load(path, self.group, world=self.world)
            self._check_cuts(found, wrt)
            self._operators[shape] = found
        return found

    def _check_cuts(self, operator: Operator, activations: Sequence[str]) -> None:
        """That tokens lie in and out as batch() cuts them."""
        name, unit = self.sharding.rows.partition(":")[0], self.sharding.unit
        order = {"contiguous": 0, "zigzag": 1, "striped": 1 + unit}[name]
        expected = tuple(
            Cut(1, axis, 0 if axis else order, 1 if axis else unit)
            for axis in range(len(self.sharding.sizes))
        )
        entry = operator.program.entries[0]
        for spec in [
            *(each for each in entry.arguments if each.name in activations),
            *(each for each in entry.results if not each.is_residual),
        ]:
            if spec.cuts != expected:
                raise CompileError(
                    f"'{spec.name}' of '{entry.name}' came out cut as {spec.cuts}, "
                    f"expected {expected}; this is a defect of cp_mlir, please tell us"
                )


def shard(
    model: nn.Module,
    group: Any = None,
    *,
    strategy: str = "sequence",
    attention: str | None = None,
    order: str = "contiguous",
    scan: str = "chain",
    inner: int | None = None,
    transport: str | None = None,
    deadline: float = 60.0,
    threads: int = 0,
    device: str | torch.device | None = None,
) -> ContextParallel:
    """Lets the ranks of `group` (the default one without it; a process alone is one
    rank) share the tokens of each batch of a transformers model, which is changed in
    place. See Sharding for the words, World for the rest.

    Errors: ValueError for mixers or attention that are not known here, by their place
    in the model.
    """
    import torch.distributed as dist

    # One that torch.compile has made calls it.
    model = getattr(model, "_orig_mod", model)
    ranks = dist.get_world_size(group) if dist.is_initialized() else 1
    sharding = Sharding(ranks, strategy, attention, order, scan, inner)
    if getattr(model, "_cp_mlir_sharded", False):
        raise ValueError(
            f"this {type(model).__name__} is sharded already; make another model for "
            "another sharding"
        )
    check_loss(model)
    mixers, heads = layers_of(model)
    world = shared_world(
        sharding.sizes,
        group,
        transport=transport,
        deadline=deadline,
        threads=threads,
        device=device,
    )
    parallel = ContextParallel(model, group, sharding, world)
    for name, mixer in mixers:
        replace_forward(parallel, mixer, name)
    parallel.has_attention = bool(heads)
    if heads:
        take_attention(model, parallel, [module for _, module in heads])
    guard(model, parallel)
    # So that it is not saved whole. Not a submodule, nor a parameter.
    object.__setattr__(model, "_cp_mlir", parallel)
    model._cp_mlir_sharded = True  # type: ignore[assignment]
    return parallel
