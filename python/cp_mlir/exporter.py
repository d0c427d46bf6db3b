"""From a model of torch to IR, by torch.export.

Mixers, attention and norms stay whole: while the model is exported each of them is one
operator, for which there is one op of the dialect. What is between them is some thirty
operators of aten, which become arith, math, linalg and tensor.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, fx, nn

from .aten import AtenImporter
from .layers import real, tensor_type
from .whole_layers import layers_whole
from .writer import ExportError, Value, Writer, element_of


def export(model: nn.Module, **inputs: Tensor) -> str:
    """The module of whole tensors that cp-opt and cp-run take of a model called with
    `inputs`, such as input_ids `[B, S]`, whose sizes it is for. Its parameters are
    named as in state_dict(), and of tied ones one is there; inputs with a dimension 1
    are cut along it, and ids are i32. Mixers, causal attention and RMS norms become
    single ops. The model is as it was afterwards.

    Errors: ExportError, for an operator without a rule, by name and place; ValueError
    for a layer that is handed what its op does not take, such as a mask.
    """
    config = getattr(model, "config", None)
    named: dict[str, Any] = dict(inputs)
    if config is not None and hasattr(config, "use_cache"):
        named["use_cache"] = False
    with layers_whole(model):
        program = torch.export.export(model, (), named, strict=False)
    return _Export(program).text()


class _Export:
    """Of an exported program, node by node."""

    def __init__(self, program: torch.export.ExportedProgram) -> None:
        self.program = program
        self.writer = Writer()
        self.importer = AtenImporter(self.writer)
        """Each with its attributes."""
        self.arguments: list[tuple[Value, str]] = []
        self.results: list[Value] = []
        signature = program.graph_signature
        self.parameters = signature.inputs_to_parameters
        self.buffers = {
            **signature.inputs_to_buffers,
            **signature.inputs_to_lifted_tensor_constants,
        }

    def text(self) -> str:
        for node in self.program.graph.nodes:
            if node.op == "placeholder":
                self._take(node)
            elif node.op == "call_function":
                self.importer.run(node)
            elif node.op == "output":
                found = self.importer.of(node.args[0])
                self.results = [each for each in found if each is not None]
        rows = {
            value.shape[:2] for value, text in self.arguments if "cp.sequence" in text
        }
        if len(rows) != 1:
            raise ExportError(
                f"the inputs have {sorted(rows) or 'no'} rows, expected [B, S, ...] of "
                "one number and length"
            )
        return _function(
            self._signature(),
            self.writer.lines,
            self.results,
            _names_of(self.program, self.results),
            rows.pop(),
        )

    def _take(self, node: fx.Node) -> None:
        """An argument of the program."""
        tensor = node.meta.get("val")
        if not isinstance(tensor, Tensor):
            self.importer.values[node] = tensor
            return
        element = element_of(tensor.dtype, f"'{node.name}'")
        if node.name in self.buffers:
            name = self.buffers[node.name]
            known = {**self.program.state_dict, **self.program.constants}
            buffer: Any = known[name]
            self.importer.values[node] = _buffer(self.writer, buffer, element)
            return
        if _is_ids(node):
            element = "i32"
        value = self.writer.value(tensor.shape, element)
        self.importer.values[node] = value
        if node.name not in self.parameters:
            attributes = f'cp.name = "{node.name}"'
            if len(value.shape) > 1:
                attributes += ", cp.sequence = 1 : i64"
            self.arguments.append((value, attributes))
        # Of tied parameters one is read.
        elif node.users:
            name = self.parameters[node.name]
            self.arguments.append((value, f'cp.param = "{name}"'))

    def _signature(self) -> list[str]:
        """What it is called with, and then the parameters."""
        ordered = sorted(
            self.arguments, key=lambda each: each[1].startswith("cp.param")
        )
        listed = []
        for value, attributes in ordered:
            below = self.importer.below.get(value.name)
            if below is not None:
                init = f'cp.init = {{kind = "ids", below = {below} : i64}}'
                attributes = f"{init}, {attributes}"
            listed.append(f"{value.name}: {value.type} {{{attributes}}}")
        return listed


def _is_ids(node: fx.Node) -> bool:
    """Whether an input is rows of tables and nothing else: such are i32, as what trains
    and what reads batches has them."""
    return bool(node.users) and all(
        user.target is torch.ops.aten.embedding.default and user.args[0] is not node
        for user in node.users
    )


def _buffer(writer: Writer, tensor: Tensor, element: str) -> Value:
    """A constant, by its elements."""
    type_ = tensor_type(tensor.shape, element)
    if tensor.numel() > 1 << 16:
        raise ExportError(
            f"a buffer of {tensor.numel()} elements is too long for a constant; make "
            "it a parameter"
        )

    def listed(each: Any) -> str:
        if isinstance(each, list):
            return f"[{', '.join(map(listed, each))}]"
        return str(each) if element.startswith("i") else real(each)

    return writer.op(
        tensor.shape,
        element,
        f"arith.constant dense<{listed(tensor.tolist())}> : {type_}",
    )


def _names_of(program: Any, results: Sequence[Value]) -> list[str]:
    """As the model's output calls them."""
    spec = program.call_spec.out_spec
    context = getattr(spec, "context", None)
    keys = context if isinstance(context, list) else None
    if isinstance(context, (list, tuple)) and context and isinstance(context[0], list):
        keys = context[0]
    if keys is not None and len(keys) == len(results):
        return [str(key) for key in keys]
    return (
        ["logits"] if len(results) == 1 else [f"result{i}" for i in range(len(results))]
    )


def _function(
    arguments: Sequence[str],
    lines: Sequence[str],
    results: Sequence[Value],
    names: Sequence[str],
    rows: tuple[int, ...],
) -> str:
    listed = ",\n    ".join(
        f'{value.type} {{cp.name = "{name}"'
        + (", cp.sequence = 1 : i64}" if value.shape[:2] == rows else "}")
        for value, name in zip(results, names, strict=True)
    )
    body = "\n".join(lines).replace("\n", "\n  ")
    values = ", ".join(value.name for value in results)
    types = ", ".join(value.type for value in results)
    return (
        "func.func @main(\n    "
        + ",\n    ".join(arguments)
        + f")\n    -> ({listed}) {{\n  {body}\n  return {values} : {types}\n}}\n"
    )
