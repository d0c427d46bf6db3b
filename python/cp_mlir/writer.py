"""IR as text: values, and the ops that make them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import torch

from .layers import ELEMENTS, real, tensor_type


class ExportError(RuntimeError):
    """What of a model has no op: by name and place."""


class Value:
    def __init__(self, name: str, shape: Sequence[int], element: str) -> None:
        self.name = name
        self.shape = tuple(shape)
        self.element = element

    @property
    def type(self) -> str:
        return tensor_type(self.shape, self.element)


_INTEGERS = {torch.int32: "i32", torch.int64: "i64"}
_ELEMENTS = {getattr(torch, name): element for name, element in ELEMENTS.items()}
_ELEMENTS |= _INTEGERS


def element_of(dtype: torch.dtype, what: str) -> str:
    if dtype not in _ELEMENTS:
        raise ExportError(f"{what} is {dtype}, which has no type in IR")
    return _ELEMENTS[dtype]


class Writer:
    """Writes ops, and gives their values."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._numbers = itertools.count()

    def value(self, shape: Sequence[int], element: str) -> Value:
        return Value(f"%{next(self._numbers)}", shape, element)

    def op(self, shape: Sequence[int], element: str, text: str) -> Value:
        made = self.value(shape, element)
        self.lines.append(f"{made.name} = {text}")
        return made

    def constant(self, value: float, element: str) -> str:
        """A scalar."""
        name = f"%c{next(self._numbers)}"
        text = (
            str(int(value)) if element.startswith("i") else real(float(value), element)
        )
        self.lines.append(f"{name} = arith.constant {text} : {element}")
        return name

    def empty(self, shape: Sequence[int], element: str) -> Value:
        return self.op(
            shape, element, f"tensor.empty() : {tensor_type(shape, element)}"
        )

    def zeros(self, shape: Sequence[int], element: str) -> Value:
        return self.splat(shape, element, 0)

    def splat(self, shape: Sequence[int], element: str, number: float) -> Value:
        """Of one number."""
        each = self.constant(number, element)
        into = self.empty(shape, element)
        return self.op(
            shape,
            element,
            f"linalg.fill ins({each} : {element}) outs({into.name} : {into.type}) "
            f"-> {into.type}",
        )

    def reshape(self, source: Value, shape: Sequence[int]) -> Value:
        """ExportError where dimensions are neither split nor joined."""
        shape = tuple(shape)
        if shape == source.shape:
            return source
        narrow, wide = sorted([source.shape, shape], key=len)
        groups = _groups(narrow, wide)
        if groups is None:
            # Through one dimension.
            flat = 1
            for size in shape:
                flat *= size
            if len(narrow) <= 1:
                raise ExportError(f"no view of {source.shape} as {shape}")
            return self.reshape(self.reshape(source, (flat,)), shape)
        listed = ", ".join(f"[{', '.join(map(str, group))}]" for group in groups)
        result = tensor_type(shape, source.element)
        if len(shape) < len(source.shape):
            text = f"tensor.collapse_shape {source.name} [{listed}]"
            return self.op(
                shape, source.element, f"{text} : {source.type} into {result}"
            )
        text = f"tensor.expand_shape {source.name} [{listed}]"
        return self.op(
            shape,
            source.element,
            f"{text} output_shape {list(shape)} : {source.type} into {result}",
        )

    def squeeze(self, source: Value, dim: int) -> Value:
        """Without a dimension of one element, which goes to the one behind it."""
        shape = (*source.shape[:dim], *source.shape[dim + 1 :])
        groups = [[i] for i in range(dim)] + [[dim, dim + 1]]
        groups += [[i] for i in range(dim + 2, len(source.shape))]
        result = tensor_type(shape, source.element)
        return self.op(
            shape,
            source.element,
            f"tensor.collapse_shape {source.name} {groups} : {source.type} "
            f"into {result}",
        )

    def generic(
        self,
        operands: Sequence[tuple[Value, Sequence[int]]],
        shape: Sequence[int],
        element: str,
        body: Callable[[list[str]], tuple[list[str], str]],
    ) -> Value:
        """Element by element; each operand has the dimensions that are listed.
        body(arguments) gives lines and the result's name."""
        into = self.empty(shape, element)
        dims = ", ".join(f"d{i}" for i in range(len(shape)))
        maps = [
            f"affine_map<({dims}) -> ({', '.join(f'd{i}' for i in listed)})>"
            for _, listed in [*operands, (into, range(len(shape)))]
        ]
        arguments = [f"%x{next(self._numbers)}" for _ in operands]
        lines, result = body(arguments)
        kinds = ", ".join(['"parallel"'] * len(shape))
        block = [
            f"{name}: {operand.element}"
            for name, (operand, _) in zip(arguments, operands, strict=True)
        ]
        block.append(f"%o{next(self._numbers)}: {element}")
        ins = ""
        if operands:
            names = ", ".join(operand.name for operand, _ in operands)
            types = ", ".join(operand.type for operand, _ in operands)
            ins = f"ins({names} : {types}) "
        text = [
            f"linalg.generic {{indexing_maps = [{', '.join(maps)}],",
            f"    iterator_types = [{kinds}]}}",
            f"    {ins}outs({into.name} : {into.type}) {{",
            f"^bb0({', '.join(block)}):",
            *(f"  {line}" for line in lines),
            f"  linalg.yield {result} : {element}",
            f"}} -> {into.type}",
        ]
        return self.op(shape, element, "\n".join(text))

    def broadcast(self, source: Value, shape: Sequence[int]) -> tuple[Value, list[int]]:
        """The operand of a generic of this shape: without dimensions of one element
        that are repeated."""
        offset = len(shape) - len(source.shape)
        kept = [
            i
            for i, size in enumerate(source.shape)
            if size != 1 or shape[i + offset] == 1
        ]
        narrow = self.reshape(source, [source.shape[i] for i in kept])
        return narrow, [i + offset for i in kept]

    def fresh(self) -> str:
        return f"%s{next(self._numbers)}"


def _groups(narrow: Sequence[int], wide: Sequence[int]) -> list[list[int]] | None:
    """Which dimensions of the wide shape each of the narrow one is of."""
    if not narrow:
        return [] if all(size == 1 for size in wide) else None
    groups: list[list[int]] = []
    at = 0
    for i, size in enumerate(narrow):
        group, product = [], 1
        while at < len(wide) and (product < size or not group):
            group.append(at)
            product *= wide[at]
            at += 1
        # Ones belong to the group in front, but where the next is one itself.
        while (
            at < len(wide)
            and wide[at] == 1
            and (i + 1 == len(narrow) or len(wide) - at > len(narrow) - i - 1)
        ):
            group.append(at)
            at += 1
        if product != size:
            return None
        groups.append(group)
    return groups if at == len(wide) and all(groups) else None
