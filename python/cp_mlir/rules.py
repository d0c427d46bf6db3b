"""What all rules have in common that make ops of an operator: values, and loops over
elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, fx

from .layers import real, tensor_type
from .writer import ExportError, Value, Writer, element_of


class Documents:
    """Of rows: where each document ends, and each token's place in its own."""

    def __init__(self, writer: Writer, ends: Value, rows: tuple[int, int]) -> None:
        self.writer = writer
        self.ends = ends
        self.rows = rows
        self._places: Value | None = None

    def places(self) -> Value:
        """Made once, where they are read first."""
        if self._places is None:
            self._places = self.writer.op(
                self.rows,
                "i64",
                f"cp.positions documents({self.ends.name} : {self.ends.type}) : "
                f"{tensor_type(self.rows, 'i64')}",
            )
        return self._places


class Rules:
    """Of one node at a time."""

    def __init__(self, writer: Writer) -> None:
        self.writer = writer
        self.values: dict[fx.Node, Any] = {}
        self.node: fx.Node
        """Of ids, by their names: how many there are to choose from."""
        self.below: dict[str, int] = {}
        self.documents: Documents | None = None

    def of(self, argument: Any) -> Any:
        if isinstance(argument, fx.Node):
            return self.values[argument]
        if isinstance(argument, (list, tuple)):
            return [self.of(each) for each in argument]
        return argument

    def is_mask(self, argument: int = -1) -> bool:
        """Whether the node's argument is of truths or, without one, its result is:
        these are 0 or 1 in i32."""
        node: Any = self.node if argument < 0 else self.node.args[argument]
        if isinstance(node, (list, tuple)):
            (node,) = node
        tensor = node.meta["val"] if isinstance(node, fx.Node) else None
        return isinstance(tensor, Tensor) and tensor.dtype is torch.bool

    def shape(self) -> tuple[int, ...]:
        return tuple(self.node.meta["val"].shape)

    def element(self) -> str:
        if self.is_mask():
            return "i32"
        return element_of(self.node.meta["val"].dtype, f"the result of {self.node}")

    def map(
        self,
        *operands: Any,
        body: Callable[[list[str], str], tuple[list[str], str]],
        shape: Sequence[int] | None = None,
        element: str | None = None,
        result: str | None = None,
    ) -> Value:
        """body(values, element); numbers are constants, and integers become what the
        result is. The node's shape and element, where no others are given; `result` is
        the element of what the body gives, where that is another."""
        shape = self.shape() if shape is None else shape
        element = element or self.element()
        tensors = [each for each in operands if isinstance(each, Value)]
        given = [self.writer.broadcast(each, shape) for each in tensors]

        def write(arguments: list[str]) -> tuple[list[str], str]:
            lines: list[str] = []
            left = iter(zip(arguments, tensors, strict=True))
            names = []
            for operand in operands:
                if isinstance(operand, Value):
                    name, tensor = next(left)
                    names.append(self.cast(lines, name, tensor.element, element))
                    continue
                names.append(self.number(lines, operand, element))
            more, made = body(names, element)
            return [*lines, *more], made

        return self.writer.generic(given, shape, result or element, write)

    def number(self, lines: list[str], number: float, element: str) -> str:
        """A constant within a loop."""
        name = self.writer.fresh()
        is_integer = element.startswith("i")
        if is_integer and number != int(number):
            raise ExportError(
                f"{self.node.target} of integers and {number} has no rule"
                f"{place_of(self.node)}; let the tensor be of fractions too"
            )
        text = str(int(number)) if is_integer else real(float(number), element)
        lines.append(f"{name} = arith.constant {text} : {element}")
        return name

    def line(self, lines: list[str], op: str, *names: str, element: str) -> str:
        """An op within a loop."""
        made = self.writer.fresh()
        lines.append(f"{made} = {op} {', '.join(names)} : {element}")
        return made

    def wide_map(
        self,
        *tensors: Value,
        body: Callable[[Any, list[str], str], tuple[list[str], str]],
    ) -> Value:
        """Of tensors that are alike, computed in no less than f32."""
        shape, element = tensors[0].shape, tensors[0].element
        wide = "f32" if element == "bf16" else element

        def write(arguments: list[str]) -> tuple[list[str], str]:
            lines: list[str] = []
            names = [self.cast(lines, name, element, wide) for name in arguments]
            more, result = body(self, names, wide)
            lines += more
            return lines, self.cast(lines, result, wide, element)

        dims = range(len(shape))
        return self.writer.generic(
            [(each, dims) for each in tensors], shape, element, write
        )

    def widened(self, x: Value, element: str) -> Value:
        """In another type, where it is another."""
        if x.element == element:
            return x
        return self.map(
            x, body=lambda names, _: ([], names[0]), shape=x.shape, element=element
        )

    def cast(self, lines: list[str], name: str, source: str, target: str) -> str:
        if source == target:
            return name
        widths = {"i1": 1, "bf16": 16, "f32": 32, "f64": 64, "i32": 32, "i64": 64}
        if source == "i1":
            op = "arith.extui" if target.startswith("i") else "arith.uitofp"
        elif source.startswith("i") and not target.startswith("i"):
            op = "arith.sitofp"
        elif target.startswith("i") and not source.startswith("i"):
            op = "arith.fptosi"
        elif source.startswith("i"):
            op = "arith.extsi" if widths[target] > widths[source] else "arith.trunci"
        else:
            op = "arith.extf" if widths[target] > widths[source] else "arith.truncf"
        made = self.writer.fresh()
        lines.append(f"{made} = {op} {name} : {source} to {target}")
        return made

    def simple(
        self,
        op: str,
        *operands: Any,
        integer: str | None = None,
        shape: Sequence[int] | None = None,
        element: str | None = None,
    ) -> Value:
        """One op of arith or math on elements."""

        def body(names: list[str], element: str) -> tuple[list[str], str]:
            lines: list[str] = []
            which = integer if element.startswith("i") else op
            if which is None:
                raise ExportError(f"{self.node.target} of integers has no rule")
            return lines, self.line(lines, which, *names, element=element)

        return self.map(*operands, body=body, shape=shape, element=element)

    def same(self, op: str, a: Any, b: Any, integer: str) -> Value:
        """On whole tensors where they are alike: sums of terms pass through."""
        shape, element = self.shape(), self.element()
        alike = all(
            isinstance(each, Value) and each.shape == shape and each.element == element
            for each in (a, b)
        )
        if not alike:
            return self.simple(op, a, b, integer=integer)
        which = integer if element.startswith("i") else op
        text = f"{which} {a.name}, {b.name} : {a.type}"
        return self.writer.op(shape, element, text)


def place_of(node: fx.Node) -> str:
    stack = node.meta.get("nn_module_stack") or {}
    places = [path for path, _ in stack.values() if path]
    return f" in '{places[-1]}'" if places else ""
