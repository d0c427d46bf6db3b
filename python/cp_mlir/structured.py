"""Operators of aten that add up: projections, reductions, and what is made of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch

from .elementwise import Elementwise
from .fusions import parallel_of
from .layers import real, tensor_type
from .rules import place_of
from .writer import ExportError, Value


def _dims_of(x: Value, dims: int | Sequence[int] | None) -> list[int]:
    """From 0, in their order; all where none is given."""
    rank = len(x.shape)
    given = [dims] if isinstance(dims, int) else dims
    return sorted({each % rank for each in given or range(rank)})


class Structured(Elementwise):
    def op_embedding(
        self,
        table: Value,
        ids: Value,
        padding: int = -1,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
    ) -> Value:
        """Sparse gradients are dense ones here."""
        if scale_grad_by_freq:
            raise ExportError(
                f"aten.embedding with scale_grad_by_freq has no rule"
                f"{place_of(self.node)}; set it to False"
            )
        attributes = f" {{padding_idx = {padding} : i64}}" if padding >= 0 else ""
        self.below.setdefault(ids.name, table.shape[0])
        # The op has rows of ids; places of a row are one.
        rows = ids
        if len(ids.shape) < 2:
            rows = self.writer.reshape(ids, (1, math.prod(ids.shape)))
        elif len(ids.shape) > 2:
            rows = self.writer.reshape(ids, (ids.shape[0], math.prod(ids.shape[1:])))
        shape = (*rows.shape, table.shape[1])
        result = tensor_type(shape, table.element)
        text = f"cp.embedding {rows.name} in {table.name}{attributes}"
        made = self.writer.op(
            shape, table.element, f"{text} : ({rows.type}, {table.type}) -> {result}"
        )
        return self.writer.reshape(made, self.shape())

    def op_linear(self, x: Value, weight: Value, bias: Value | None = None) -> Value:
        made = self.linear(x, weight, self.shape())
        return made if bias is None else self.simple("arith.addf", made, bias)

    def linear(
        self, x: Value, weight: Value, shape: Sequence[int], rows: str = "n"
    ) -> Value:
        """x weight^T, or with `rows` "k" x weight; this node's layer says how ranks cut
        it."""
        element = x.element
        rank = len(shape)
        outer = [f"d{i}" for i in range(rank - 1)]
        loops = ", ".join([*outer, "n", "k"])
        of_weight = ["n", "k"] if rows == "n" else ["k", "n"]
        maps = [
            f"affine_map<({loops}) -> ({', '.join(dims)})>"
            for dims in ([*outer, "k"], of_weight, [*outer, "n"])
        ]
        into = self.writer.zeros(shape, element)
        parallel = parallel_of(self.node)
        words = f' {{cp.parallel = "{parallel}"}}' if parallel else ""
        return self.writer.op(
            shape,
            element,
            f"linalg.contract indexing_maps = [{', '.join(maps)}]{words}\n"
            f"    ins({x.name}, {weight.name} : {x.type}, {weight.type}) "
            f"outs({into.name} : {into.type}) -> {into.type}",
        )

    def op_matmul(self, x: Value, weight: Value) -> Value:
        if len(weight.shape) != 2:
            raise ExportError(
                f"aten.matmul has no rule{place_of(self.node)} but of a matrix on the "
                "right, such as a parameter"
            )
        return self.linear(x, weight, self.shape(), rows="k")

    def op_index(self, table: Value, indices: list[Value | None]) -> Value:
        """Rows of a table."""
        ids = indices[0]
        if len(indices) != 1 or ids is None or self.is_mask(1) or len(table.shape) != 2:
            raise ExportError(
                f"aten.index has no rule{place_of(self.node)} but of rows of a table"
            )
        return self.op_embedding(table, ids)

    def reduce(self, x: Value, dims: Sequence[int], op: str, start: float) -> Value:
        """Without these dimensions."""
        kept = [i for i in range(len(x.shape)) if i not in dims]
        shape = [x.shape[i] for i in kept]
        into = self.writer.splat(shape, x.element, start)
        a, b, s = (self.writer.fresh() for _ in range(3))
        return self.writer.op(
            shape,
            x.element,
            f"linalg.reduce ins({x.name} : {x.type}) outs({into.name} : {into.type}) "
            f"dimensions = {list(dims)}\n"
            f"    ({a}: {x.element}, {b}: {x.element}) {{\n"
            f"      {s} = {op} {a}, {b} : {x.element}\n"
            f"      linalg.yield {s} : {x.element}\n    }}",
        )

    def op_sum(
        self, x: Value, dim: Sequence[int] | None = None, keep: bool = False, **_: Any
    ) -> Value:
        return self.widened(self._sum(x, _dims_of(x, dim)), self.element())

    def _sum(self, x: Value, dims: Sequence[int]) -> Value:
        """In the type of the result, and in no less than f32: rounded once."""
        element = self.element()
        wide = self.widened(x, "f32" if element == "bf16" else element)
        op = "arith.addi" if element.startswith("i") else "arith.addf"
        return self.writer.reshape(self.reduce(wide, dims, op, 0), self.shape())

    def op_mean(
        self, x: Value, dim: Sequence[int] | None = None, keep: bool = False, **_: Any
    ) -> Value:
        dims = _dims_of(x, dim)
        made = self._sum(x, dims)
        count = math.prod(x.shape[i] for i in dims)
        made = self.simple(
            "arith.divf", made, float(count), shape=made.shape, element=made.element
        )
        return self.widened(made, self.element())

    def op_softmax(self, x: Value, dim: int, dtype: Any = None) -> Value:
        """Of differences to the largest, which has no part in the derivative."""
        element = self.element()
        wide = self.widened(x, "f32" if element == "bf16" else element)
        weights, total = self._exponentials(wide, dim % len(x.shape))
        made = self.simple(
            "arith.divf", weights, total, shape=wide.shape, element=wide.element
        )
        return self.widened(made, element)

    op__softmax = op_softmax

    def _exponentials(self, x: Value, dim: int) -> tuple[Value, Value]:
        """exp(x - max x), and their sums, which have one element there."""
        one = (*x.shape[:dim], 1, *x.shape[dim + 1 :])
        most = self.reduce(x, [dim], "arith.maximumf", -math.inf)
        text = f"cp.stop_gradient {most.name} : {most.type}"
        most = self.writer.op(most.shape, x.element, text)
        most = self.writer.reshape(most, one)
        like = {"shape": x.shape, "element": x.element}
        less = self.simple("arith.subf", x, most, **like)
        weights = self.simple("math.exp", less, **like)
        total = self.reduce(weights, [dim], "arith.addf", 0)
        return weights, self.writer.reshape(total, one)

    def op_layer_norm(
        self,
        x: Value,
        shape: Sequence[int],
        weight: Value | None = None,
        bias: Value | None = None,
        eps: float = 1e-5,
        *_: Any,
    ) -> Value:
        """The RMS norm of what is left without the mean, in no less than f32."""
        self._expect_last(shape)
        element = "f32" if x.element == "bf16" else x.element
        wide = self.widened(x, element)
        if weight is None:
            weight = self.writer.splat(shape, element, 1)
        made = self.layer_rms_norm(self._centred(wide), weight, eps)
        if bias is not None:
            made = self.simple(
                "arith.addf", made, bias, shape=made.shape, element=element
            )
        return self.widened(made, x.element)

    def _centred(self, x: Value) -> Value:
        """Without the mean of its last dimension."""
        total = self.reduce(x, [len(x.shape) - 1], "arith.addf", 0)
        mean = self.simple(
            "arith.divf",
            total,
            float(x.shape[-1]),
            shape=total.shape,
            element=x.element,
        )
        mean = self.writer.reshape(mean, (*x.shape[:-1], 1))
        return self.simple("arith.subf", x, mean, shape=x.shape, element=x.element)

    def _expect_last(self, shape: Sequence[int]) -> None:
        if len(shape) != 1:
            raise ExportError(
                f"{self.node.target} over {len(shape)} dimensions has no rule"
                f"{place_of(self.node)}, only over the last"
            )

    def op_rms_norm(
        self,
        x: Value,
        shape: Sequence[int],
        weight: Value | None = None,
        eps: float | None = None,
    ) -> Value:
        """torch's own, which has the smallest step of what it computes in for eps."""
        self._expect_last(shape)
        if weight is None:
            weight = self.writer.splat(shape, x.element, 1)
        if eps is None:
            wide = torch.float64 if x.element == "f64" else torch.float32
            eps = torch.finfo(wide).eps
        return self.layer_rms_norm(x, weight, eps)

    def layer_rms_norm(self, x: Value, weight: Value, eps: float) -> Value:
        weight = self.widened(weight, x.element)
        return self.writer.op(
            x.shape,
            x.element,
            f"cp.rms_norm {x.name} weight({weight.name}) {{eps = {real(eps)} : f64}} "
            f": ({x.type}, {weight.type}) -> {x.type}",
        )
