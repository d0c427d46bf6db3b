"""A whole model as one program of all ranks."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from .compiler import Sharding, compile_ir, compile_on_first
from .exporter import export
from .operator import Operator, load


class CompiledModel(nn.Module):
    """A model of torch, called with each rank's parts of its inputs. Parameters are the
    model's own, whole on every rank; the program adds up their gradients, so that every
    rank has those of the batch."""

    def __init__(self, model: nn.Module, operator: Operator) -> None:
        super().__init__()
        self.model = model
        self.operator = operator
        self._inputs = [
            spec.name for spec in operator.parameters if not spec.is_parameter
        ]
        self._parameters_used = [
            spec.name for spec in operator.parameters if spec.is_parameter
        ]

    def forward(self, *parts: Tensor, **named: Tensor) -> Any:
        """Parts in the order of the inputs, or by their names; the part of its result
        that this rank has, or a tuple of several. Ids may be of any integers."""
        given = dict(zip(self._inputs, parts, strict=False)) | named
        for spec in self.operator.parameters:
            part = given.get(spec.name)
            if part is not None and not part.is_floating_point():
                given[spec.name] = part.to(getattr(torch, spec.dtype))
        for name in self._parameters_used:
            given[name] = self.model.get_parameter(name)
        return self.operator(**given)

    def split(self, name: str, whole: Tensor) -> Tensor:
        """This rank's part of an input, which a result of the same rows has too."""
        spec = next(each for each in self.operator.parameters if each.name == name)
        part = self.operator.split(name, whole.to(getattr(torch, spec.dtype)))
        return part.to(whole.dtype)


def compile_model(
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
    **inputs: Tensor,
) -> CompiledModel:
    """A model called with `inputs`, whole ones (export), as one program of the ranks of
    `group` (Sharding, World). All of them call it; the first one compiles. Inputs of
    floats have gradients too. Errors: ExportError, CompileError."""
    import torch.distributed as dist

    ranks = dist.get_world_size(group) if dist.is_initialized() else 1
    sharding = Sharding(ranks, strategy, attention, order, scan, inner)
    wrt = [name for name, tensor in inputs.items() if tensor.is_floating_point()]
    path = compile_on_first(
        group, lambda: compile_ir(export(model, **inputs), sharding, wrt=wrt)
    )
    operator = load(
        path, group, transport=transport, deadline=deadline, threads=threads
    )
    return CompiledModel(model, operator)
