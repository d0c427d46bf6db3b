"""A whole model as programs of all ranks, one for each shape of its inputs."""

from __future__ import annotations

import copy
import functools
import hashlib
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from .calls import check_loss_function
from .compiler import Sharding, compile_ir, compile_on_first
from .exporter import export
from .fingerprint import fingerprint
from .inspection import check_rotary, check_windows
from .operator import Operator, load
from .rows import RowSharing
from .world import World, shared_world

# Whole shapes and types of inputs by their names, and the entries of cu_seqlens.
_Inputs = tuple[tuple[tuple[str, tuple[int, ...], torch.dtype], ...], int]

# Of models as they were, for the same inputs; and exports that made nothing new, until
# that is told.
_MOST_SEEN = 16
_MANY = 8
# Of a part of an input: the shape of the whole.
_WHOLE = "_cp_mlir_whole"


@dataclass(frozen=True)
class ModelOutput:
    """This rank's share of the loss of a batch, and of its logits."""

    loss: Tensor
    logits: Tensor


class CompiledModel(nn.Module, RowSharing):
    """A model of torch, called with each rank's parts of its inputs. Parameters are the
    model's own, whole on every rank; programs add up their gradients, so that every
    rank has those of the batch. They are compiled by the first rank, when inputs of
    their shapes come; whatever else is in the model, such as buffers, modes, attributes
    and hooks, is a constant of theirs: when one changes the model is exported again,
    and compiled where that makes another program (fingerprint.py)."""

    def __init__(
        self,
        model: nn.Module,
        group: Any,
        sharding: Sharding,
        world: World,
        inputs: Sequence[str] = ("input_ids",),
        overlap: bool = False,
    ) -> None:
        super().__init__()
        self.model = model
        self.share_rows(group, sharding, world)
        self.inputs = tuple(inputs)
        self.overlap = overlap
        """By what they are made of, and by the models that were found to be that."""
        self._operators: dict[Any, Operator] = {}
        self._seen: dict[_Inputs, dict[Any, Operator]] = {}
        self._exported_again = 0

    @property
    def operators(self) -> tuple[Operator, ...]:
        """In the order in which they were compiled."""
        return tuple(self._operators.values())

    def batch(self, input_ids: Tensor | None = None, **named: Any) -> dict[str, Any]:
        """As ContextParallel.batch. Programs know their tokens' positions, of documents
        too, so there are none where the model was not exported with them."""
        given = super().batch(input_ids, **named)
        if "position_ids" not in self.inputs:
            if named.get("position_ids") is not None:
                raise TypeError(
                    "the programs know their tokens' positions, so that position_ids "
                    "would be lost; give them to compile_model() too"
                )
            given.pop("position_ids", None)
        return given

    def __reduce__(self) -> Any:
        raise TypeError(
            "a compiled model is not saved whole, since its ranks are not; save the "
            "state_dict() of the model that it was made of"
        )

    def __copy__(self) -> CompiledModel:
        """Of the same model and programs."""
        made = CompiledModel.__new__(CompiledModel)
        made.__dict__ = dict(self.__dict__)
        return made

    def __deepcopy__(self, memo: dict[int, Any]) -> CompiledModel:
        """Of the model alone: these are the same ranks."""
        return CompiledModel(
            copy.deepcopy(self.model, memo),
            self.group,
            self.sharding,
            self.world,
            self.inputs,
            self.overlap,
        )

    def forward(
        self,
        *parts: Tensor,
        cu_seqlens: Tensor | None = None,
        labels: Tensor | None = None,
        num_items_in_batch: Tensor | int | None = None,
        shift_labels: Tensor | None = None,
        cp_batch: Any = None,
        **named: Tensor,
    ) -> Any:
        """Parts in the order of the inputs, or by their names, and `cu_seqlens` of
        whole rows; the part of its result that this rank has, or a tuple of several.
        Ids may be of any integers. With what batch() gives, ModelOutput."""
        if cp_batch is not None:
            self.note(cp_batch)
        if torch.is_autocast_enabled(self.world.device.of_torch.type):
            warnings.warn(
                "a program computes in the types of the model, which autocast does not "
                "change; call bfloat16() of the model for products in bf16",
                stacklevel=2,
            )
        given = self._inputs_of(parts, named)
        if cu_seqlens is not None and (
            cu_seqlens.dim() != 2 or cu_seqlens.shape[1] < 2
        ):
            raise ValueError(
                f"cu_seqlens has the shape {list(cu_seqlens.shape)}, expected "
                "[rows, documents + 1]; take it from batch()"
            )
        if labels is not None and shift_labels is None:
            raise TypeError(
                "labels alone are shifted within a rank's part, so that the last token "
                "of each part has none; take them, and shift_labels, from batch()"
            )
        wholes = {
            name: (self._whole_shape(name, part, cp_batch is not None), part.dtype)
            for name, part in given.items()
        }
        operator = self._operator(wholes, cu_seqlens)
        if cu_seqlens is not None:
            given["cu_seqlens"] = cu_seqlens
        for spec in operator.parameters:
            if spec.is_parameter:
                given[spec.name] = _at(self.model, spec.name)
            elif not (part := given[spec.name]).is_floating_point():
                given[spec.name] = _narrowed(part, getattr(torch, spec.dtype))
        result = operator(**given)
        if shift_labels is None:
            return result
        if num_items_in_batch is None:
            raise TypeError(
                "labels came without num_items_in_batch, of which this rank's loss is "
                "a share; call with what batch() gives"
            )
        logits = result[0] if isinstance(result, tuple) else result
        check_loss_function(self.model)
        own = getattr(self.model, "loss_function", None)
        if own is None or getattr(own, "__name__", "") == "ForCausalLMLoss":
            return ModelOutput(_loss(logits, shift_labels) / num_items_in_batch, logits)
        # As a model of transformers calls it.
        loss = own(
            logits=logits,
            labels=labels,
            vocab_size=logits.shape[-1],
            shift_labels=shift_labels,
            num_items_in_batch=num_items_in_batch,
        )
        return ModelOutput(loss, logits)

    def _inputs_of(
        self, parts: Sequence[Tensor], named: Mapping[str, Any]
    ) -> dict[str, Tensor]:
        if len(parts) > len(self.inputs):
            raise TypeError(
                f"the inputs are {list(self.inputs)}, but {len(parts)} came by place"
            )
        given = dict(zip(self.inputs, parts, strict=False))
        twice = sorted(given.keys() & named.keys())
        if twice:
            raise TypeError(f"{twice} came by place and by name")
        given |= {name: each for name, each in named.items() if each is not None}
        for name, each in given.items():
            if not isinstance(each, Tensor):
                raise TypeError(
                    f"'{name}' is {each!r}, expected a tensor; what is none is said "
                    "when the model is exported, by its config"
                )
        if "position_ids" in given:
            self._check_positions(given["position_ids"])
        return given

    def _check_positions(self, positions: Tensor) -> None:
        """transformers takes a step of another length for the end of a document."""
        ahead = positions - self.places_of(positions)
        if not bool((ahead == ahead[:, :1]).all()):
            raise ValueError(
                "position_ids do not count on along the row; where they begin anew "
                "rows hold documents: give these by seq_lens of batch()"
            )

    def split(self, name: str, whole: Tensor) -> Tensor:
        """This rank's part of an input, which a result of the same rows has too."""
        shape = tuple(whole.shape)
        operator = next(
            (
                each
                for each in self.operators
                if any(p.name == name and p.shape == shape for p in each.parameters)
            ),
            None,
        )
        if operator is None:
            if self.inputs != (name,):
                raise ValueError(
                    f"no program has '{name}' of {list(shape)}; inputs are "
                    f"{list(self.inputs)}: give them to compile_model()"
                )
            operator = self._operator({name: (shape, whole.dtype)}, None)
        spec = next(each for each in operator.parameters if each.name == name)
        split = operator.split(name, whole.to(getattr(torch, spec.dtype)))
        part = split.to(whole.dtype)
        setattr(part, _WHOLE, shape)
        return part

    def _whole_shape(
        self, name: str, part: Tensor, is_of_batch: bool
    ) -> tuple[int, ...]:
        """Of what it is a part: as split() has noted it, or as long as all ranks'
        parts."""
        if (noted := getattr(part, _WHOLE, None)) is not None:
            return noted
        shape = list(part.shape)
        if len(shape) > 1:
            shape[1] *= self.world.size
        whole = tuple(shape)
        others = {
            spec.shape
            for operator in self.operators
            for spec in operator.parameters
            if spec.name == name and spec.local_shape == tuple(part.shape)
        } - {whole}
        if others and not is_of_batch:
            raise ValueError(
                f"'{name}' {list(part.shape)} may be a part of {list(whole)}, or of "
                f"{sorted(map(list, others))}, which ranks do not divide; call the "
                "model with what split() or batch() gave, itself"
            )
        return whole

    def _operator(
        self,
        wholes: Mapping[str, tuple[tuple[int, ...], torch.dtype]],
        cu_seqlens: Tensor | None,
    ) -> Operator:
        entries = 0 if cu_seqlens is None else cu_seqlens.shape[1]
        inputs = tuple((name, *wholes[name]) for name in sorted(wholes)), entries
        seen = self._seen.setdefault(inputs, {})
        state = fingerprint(self.model)
        found = seen.get(state)
        if found is None:
            found = self._made(inputs, wholes, entries)
            # A layer may count its calls, or keep what it made, while it is exported.
            seen[state] = seen[fingerprint(self.model)] = found
            while len(seen) > _MOST_SEEN:
                del seen[next(iter(seen))]
        return found

    def _made(
        self,
        inputs: _Inputs,
        wholes: Mapping[str, tuple[tuple[int, ...], torch.dtype]],
        entries: int,
    ) -> Operator:
        """The program of the model as it is: that of earlier, where nothing that has
        changed is in it. That each rank finds out by itself, since it may be its own
        affair, as what a checkpoint writes into a config."""
        given = {
            name: torch.zeros(shape, dtype=dtype, device=self.world.device.of_torch)
            for name, (shape, dtype) in wholes.items()
        }
        wrt = [name for name, each in given.items() if each.is_floating_point()]
        documents = entries - 1 if entries else 0
        text = _exported(self.model, documents, given)
        digest = (*inputs, hashlib.sha256(text.encode()).hexdigest())
        found = self._operators.get(digest)
        if found is not None:
            self._exported_again += 1
            if self._exported_again == _MANY:
                warnings.warn(
                    f"the model was exported {_MANY} times again, since attributes or "
                    "hooks of its layers have changed, with the same program each "
                    "time; keep counters and the like elsewhere",
                    stacklevel=4,
                )
            return found
        if not self._operators:
            self.expect_same_parameters(self.model)
        path = compile_on_first(
            self.group,
            lambda: compile_ir(
                text,
                self.sharding if documents else self.sharding.of_rows(),
                wrt=wrt,
                overlap=self.overlap,
                for_cards=self.world.device.is_card,
            ),
            self.world.deadline,
        )
        found = load(path, self.group, world=self.world)
        _check_results(found)
        self._operators[digest] = found
        return found


def _exported(model: nn.Module, documents: int, given: Mapping[str, Tensor]) -> str:
    for name, parameter in model.named_parameters():
        if hasattr(parameter, "device_mesh"):
            raise TypeError(
                f"'{name}' is a DTensor, as FSDP and tensor parallelism make them, and "
                "a program takes whole parameters; use shard() with these"
            )
    # What a checkpoint around the call counts is of the program, and not of this.
    with torch.autograd.graph.saved_tensors_hooks(_same, _same):
        return export(model, documents=documents, **given)


def _check_results(operator: Operator) -> None:
    """ValueError for a result that is cut and has no rows: nothing would say so."""
    for spec in operator.program.entries[0].results:
        if not spec.is_residual and any(cut.dim != 1 for cut in spec.cuts):
            raise ValueError(
                f"the result '{spec.name}' has its tokens elsewhere than in dimension "
                "1, and ranks do not divide their number; give rows of a length that "
                "they divide, or a result [B, S, ...]"
            )


def _same(tensor: Tensor) -> Tensor:
    return tensor


def _at(model: nn.Module, name: str) -> Tensor:
    """A parameter, or what torch.func.functional_call has put in its place."""
    *path, last = name.split(".")
    return getattr(functools.reduce(getattr, path, model), last)


def _narrowed(ids: Tensor, dtype: torch.dtype) -> Tensor:
    """What does not fit stays what no vocabulary has."""
    if torch.iinfo(ids.dtype).bits > torch.iinfo(dtype).bits:
        ids = ids.clamp(torch.iinfo(dtype).min, torch.iinfo(dtype).max)
    return ids.to(dtype)


def _loss(logits: Tensor, labels: Tensor) -> Tensor:
    """The sum over this rank's tokens, in no less than f32."""
    wide = torch.promote_types(logits.dtype, torch.float32)
    return nn.functional.cross_entropy(
        logits.flatten(0, 1).to(wide),
        labels.flatten(),
        ignore_index=-100,
        reduction="sum",
    )


def compile_model(
    model: nn.Module,
    group: Any = None,
    *,
    strategy: str = "sequence",
    attention: str | None = None,
    order: str = "contiguous",
    scan: str = "chain",
    inner: int | None = None,
    overlap: bool = False,
    transport: str | None = None,
    deadline: float = 60.0,
    threads: int = 0,
    device: str | torch.device | None = None,
    **inputs: Tensor,
) -> CompiledModel:
    """A model as one program of the ranks of `group` (Sharding, World) for each shape
    of its inputs. With `inputs`, whole ones as export() takes them, the first is
    compiled at once; without, the model is called with input_ids. With `overlap`
    gradients are summed while the backward pass goes on. Inputs of floats have
    gradients too. All ranks call this, and the model, with the same shapes.
    Errors: ValueError for rotary embeddings that depend on the longest position;
    ExportError, CompileError, here or when inputs of another shape come."""
    import torch.distributed as dist

    check_rotary(model)
    check_windows(model)
    ranks = dist.get_world_size(group) if dist.is_initialized() else 1
    sharding = Sharding(ranks, strategy, attention, order, scan, inner)
    world = shared_world(
        sharding.sizes,
        group,
        transport=transport,
        deadline=deadline,
        threads=threads,
        device=device,
    )
    names = tuple(inputs) or ("input_ids",)
    compiled = CompiledModel(model, group, sharding, world, names, overlap)
    if inputs:
        compiled._operator(
            {name: (tuple(each.shape), each.dtype) for name, each in inputs.items()},
            None,
        )
    return compiled
