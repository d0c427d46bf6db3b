"""Operators of aten that move elements, or make them of nothing."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from .layers import tensor_type
from .rules import Rules, place_of
from .writer import ExportError, Value, Writer


class Views(Rules):
    def __init__(self, writer: Writer) -> None:
        super().__init__(writer)
        """By their names: what they were made of, and in which order."""
        self.permuted: dict[str, tuple[Value, list[int]]] = {}

    def op_view(self, x: Value, *_: Any) -> Value:
        return self.writer.reshape(x, self.shape())

    op_reshape = op_view
    op_reshape_as = op_view
    op_view_as = op_view
    op_unflatten = op_view
    op__unsafe_view = op_view
    op_unsqueeze = op_view
    op_flatten = op_view

    def op_squeeze(self, x: Value, *dims: Any) -> Value:
        dim = dims[0] if len(dims) == 1 and isinstance(dims[0], int) else -1
        if dim < 0 or dim + 1 >= len(x.shape) or x.shape[dim] != 1:
            return self.op_view(x)
        return self.writer.squeeze(x, dim)

    def op_expand(self, x: Value, *_: Any, **__: Any) -> Value:
        if x.shape == self.shape():
            return x
        return self.map(x, body=lambda names, element: ([], names[0]))

    def op_permute(self, x: Value, dims: Sequence[int]) -> Value:
        """Of one that is permuted already, of what that was made of."""
        x, before = self.permuted.get(x.name, (x, list(range(len(x.shape)))))
        order = [before[dim] for dim in dims]
        if order == sorted(order):
            return x
        # Where each dimension of the operand is in the result.
        listed = [order.index(i) for i in range(len(order))]
        made = self.writer.generic(
            [(x, listed)],
            [x.shape[dim] for dim in order],
            x.element,
            lambda names: ([], names[0]),
        )
        self.permuted[made.name] = (x, order)
        return made

    def op_transpose(self, x: Value, a: int, b: int) -> Value:
        dims = list(range(len(x.shape)))
        dims[a], dims[b] = dims[b], dims[a]
        return self.op_permute(x, dims)

    def op_t(self, x: Value) -> Value:
        return self.op_permute(x, [1, 0]) if len(x.shape) > 1 else x

    def slice(self, x: Value, dim: int, start: int, size: int) -> Value:
        offsets = [0] * len(x.shape)
        offsets[dim] = start
        sizes = list(x.shape)
        sizes[dim] = size
        if tuple(sizes) == x.shape:
            return x
        if size == 0:
            return self.writer.empty(sizes, x.element)
        text = f"tensor.extract_slice {x.name}{offsets} {sizes} {[1] * len(sizes)}"
        return self.writer.op(
            sizes,
            x.element,
            f"{text} : {x.type} to {tensor_type(sizes, x.element)}",
        )

    def op_slice(
        self,
        x: Value,
        dim: int = 0,
        start: int | None = 0,
        end: int | None = None,
        step: int = 1,
    ) -> Value:
        dim %= len(x.shape)
        start = start or 0
        if start < 0:
            start = max(start + x.shape[dim], 0)
        size = self.shape()[dim]
        if step == 1:
            return self.slice(x, dim, start, size)
        if size * step != x.shape[dim]:
            raise ExportError(
                f"aten.slice with a step of {step} of {x.shape[dim]} from {start} has "
                "no rule, only where the step divides them, from one below it"
            )
        pairs = (*x.shape[:dim], size, step, *x.shape[dim + 1 :])
        one = self.slice(self.writer.reshape(x, pairs), dim + 1, start, 1)
        return self.writer.reshape(one, self.shape())

    def op_select(self, x: Value, dim: int, index: int) -> Value:
        dim %= len(x.shape)
        one = self.slice(x, dim, index % x.shape[dim], 1)
        return self.writer.reshape(one, self.shape())

    def op_split(self, x: Value, size: int | list[int], dim: int = 0) -> list[Value]:
        dim %= len(x.shape)
        whole = x.shape[dim]
        sizes = (
            size
            if isinstance(size, list)
            else [min(size, whole - at) for at in range(0, whole, size)]
        )
        starts = [0, *itertools.accumulate(sizes)]
        return [
            self.slice(x, dim, start, each)
            for start, each in zip(starts, sizes, strict=False)
        ]

    op_split_with_sizes = op_split

    def op_chunk(self, x: Value, chunks: int, dim: int = 0) -> list[Value]:
        return self.op_split(x, -(-x.shape[dim] // chunks), dim)

    def op_getitem(self, values: list[Value], index: int) -> Value:
        return values[index]

    def op_cat(self, parts: list[Value], dim: int = 0) -> Value:
        shape, element = self.shape(), self.element()
        dim %= len(shape)
        whole = self.writer.empty(shape, element)
        at = 0
        for part in parts:
            if part.shape[dim] == 0:
                continue
            offsets = [0] * len(shape)
            offsets[dim] = at
            at += part.shape[dim]
            part = self.widened(part, element)
            text = (
                f"tensor.insert_slice {part.name} into {whole.name}{offsets} "
                f"{list(part.shape)} {[1] * len(shape)}"
            )
            whole = self.writer.op(
                shape, element, f"{text} : {part.type} into {whole.type}"
            )
        return whole

    op_concat = op_cat
    op_concatenate = op_cat

    def op_stack(self, parts: list[Value], dim: int = 0) -> Value:
        shape = self.shape()
        dim %= len(shape)
        one = (*shape[:dim], 1, *shape[dim + 1 :])
        return self.op_cat([self.writer.reshape(part, one) for part in parts], dim)

    def op_unbind(self, x: Value, dim: int = 0) -> list[Value]:
        dim %= len(x.shape)
        rest = (*x.shape[:dim], *x.shape[dim + 1 :])
        ones = [self.slice(x, dim, i, 1) for i in range(x.shape[dim])]
        return [self.writer.reshape(one, rest) for one in ones]

    def op_repeat_interleave(
        self, x: Value, repeats: Any, dim: int | None = None, **_: Any
    ) -> Value:
        """Each element next to its copies."""
        if isinstance(repeats, Value) or dim is None:
            raise ExportError(
                "aten.repeat_interleave has a rule for one number and a dim"
            )
        dim %= len(x.shape)
        return self._repeat(x, dim, dim + 1, repeats)

    def op_repeat(self, x: Value, repeats: Sequence[int]) -> Value:
        """The whole next to its copies."""
        x = self.writer.reshape(x, (*[1] * (len(repeats) - len(x.shape)), *x.shape))
        for dim, count in enumerate(repeats):
            x = self._repeat(x, dim, dim, count)
        return x

    def _repeat(self, x: Value, dim: int, at: int, count: int) -> Value:
        """A dimension, by a new one of copies in front of it or, with `at` behind it,
        within."""
        if count == 1:
            return x
        apart = (*x.shape[:at], 1, *x.shape[at:])
        wide = (*x.shape[:at], count, *x.shape[at:])
        copies = self.map(
            self.writer.reshape(x, apart),
            body=lambda names, _: ([], names[0]),
            shape=wide,
            element=x.element,
        )
        joined = (*x.shape[:dim], count * x.shape[dim], *x.shape[dim + 1 :])
        return self.writer.reshape(copies, joined)

    def op_ones(self, *_: Any, **__: Any) -> Value:
        return self.writer.splat(self.shape(), self.element(), 1)

    op_ones_like = op_ones
    op_new_ones = op_ones

    def op_zeros(self, *_: Any, **__: Any) -> Value:
        return self.writer.splat(self.shape(), self.element(), 0)

    op_zeros_like = op_zeros
    op_new_zeros = op_zeros

    def op_full(self, _: Any, number: Any, **__: Any) -> Value:
        return self.writer.splat(self.shape(), self.element(), number)

    op_full_like = op_full

    def op_new_full(self, _: Value, __: Any, number: Any, **___: Any) -> Value:
        return self.op_full(None, number)

    def op_scalar_tensor(self, number: Any, **_: Any) -> Value:
        return self.writer.splat((), self.element(), number)

    def op_arange(self, *bounds: Any, **_: Any) -> Value:
        """Places of a row: wherever a rank's tokens stand, they are theirs."""
        is_from_zero = len(bounds) < 2 or bounds[0] == 0
        has_step = len(bounds) > 2 and bounds[2] != 1
        if self.element() != "i64" or not is_from_zero or has_step:
            raise ExportError("aten.arange is exported of places from 0, in i64")
        if self.documents:
            raise ExportError(
                f"aten.arange has no rule{place_of(self.node)} where rows have "
                "documents; make the positions an argument, position_ids"
            )
        shape = self.shape()
        return self.writer.op(
            shape, "i64", f"cp.positions : {tensor_type(shape, 'i64')}"
        )
