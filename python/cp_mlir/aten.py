"""Operators of aten, each as an op or a few of arith, math, linalg and tensor."""

from __future__ import annotations

import ast
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import fx

from .fusions import Fusions, parallel_of
from .layers import (
    ELEMENTS,
    AttentionShape,
    BlockShape,
    MixerShape,
    real,
    tensor_type,
)
from .writer import ExportError, Value, Writer, element_of

# The library of layers that stay whole (whole_layers.py).
LAYERS = "cp_mlir_export"
# Of elements, torch's.
_NAMES = {element: name for name, element in ELEMENTS.items()}


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


# Of operators by where they are from: what the methods that import them begin with.
# Another library's has a name of its own, whatever it is called.
_RULES = {"aten": "op_", LAYERS: "layer_", "": "op_"}


class AtenImporter:
    def __init__(self, writer: Writer, fusions: Fusions) -> None:
        self.writer = writer
        self.fusions = fusions
        self.values: dict[fx.Node, Any] = {}
        self.node: fx.Node
        """Of ids, by their names: how many there are to choose from."""
        self.below: dict[str, int] = {}
        self.documents: Documents | None = None

    # Which of the methods below imports an operator: by its name without overload.
    def run(self, node: fx.Node) -> None:
        self.node = node
        if node in self.fusions.inner:
            return
        if (fused := self.fusions.ends.get(node)) is not None:
            self.values[node] = fused(self)
            return
        target = node.target
        schema = getattr(target, "_schema", None)
        library, _, short = schema.name.rpartition("::") if schema else ("", "", "")
        short = short or getattr(target, "__name__", "")
        rule = getattr(self, f"{_RULES.get(library)}{short}", None)
        if rule is None:
            raise ExportError(
                f"{target} has no rule{_place_of(node)}; keep it out of the model"
            )
        arguments = [self.of(each) for each in node.args]
        named = {key: self.of(each) for key, each in node.kwargs.items()}
        try:
            self.values[node] = rule(*arguments, **named)
        except (AttributeError, TypeError) as error:
            # It is called in a way that the rule does not know.
            raise ExportError(
                f"{target} has no rule for how it is called{_place_of(node)} "
                f"({node.format_node()}): {error}"
            ) from error

    def of(self, argument: Any) -> Any:
        if isinstance(argument, fx.Node):
            return self.values[argument]
        if isinstance(argument, (list, tuple)):
            return [self.of(each) for each in argument]
        return argument

    def shape(self) -> tuple[int, ...]:
        return tuple(self.node.meta["val"].shape)

    def element(self) -> str:
        return element_of(self.node.meta["val"].dtype, f"the result of {self.node}")

    # Element by element.

    def map(
        self, *operands: Any, body: Callable[[list[str], str], tuple[list[str], str]]
    ) -> Value:
        """body(values, element); numbers are constants, and integers become what the
        result is."""
        shape, element = self.shape(), self.element()
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
                name = self.writer.fresh()
                text = (
                    str(int(operand))
                    if element.startswith("i")
                    else real(float(operand), element)
                )
                lines.append(f"{name} = arith.constant {text} : {element}")
                names.append(name)
            more, result = body(names, element)
            return [*lines, *more], result

        return self.writer.generic(given, shape, element, write)

    def wide_map(
        self,
        *tensors: Value,
        body: Callable[[AtenImporter, list[str], str], tuple[list[str], str]],
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

    def cast(self, lines: list[str], name: str, source: str, target: str) -> str:
        if source == target:
            return name
        widths = {"bf16": 16, "f32": 32, "f64": 64, "i32": 32, "i64": 64}
        if source.startswith("i") and not target.startswith("i"):
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

    def simple(self, op: str, *operands: Any, integer: str | None = None) -> Value:
        """One op of arith or math on elements."""

        def body(names: list[str], element: str) -> tuple[list[str], str]:
            made = self.writer.fresh()
            if element.startswith("i") and integer is None:
                raise ExportError(f"{self.node.target} of integers has no rule")
            which = integer if element.startswith("i") else op
            return [f"{made} = {which} {', '.join(names)} : {element}"], made

        return self.map(*operands, body=body)

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

    def op_add(self, a: Any, b: Any, alpha: float = 1) -> Value:
        if alpha != 1:
            raise ExportError("aten.add with alpha has no rule")
        return self.same("arith.addf", a, b, "arith.addi")

    def op_sub(self, a: Any, b: Any, alpha: float = 1) -> Value:
        if alpha != 1:
            raise ExportError("aten.sub with alpha has no rule")
        return self.same("arith.subf", a, b, "arith.subi")

    def op_rsub(self, a: Value, b: Any, alpha: float = 1) -> Value:
        return self.op_sub(b, a, alpha)

    def op_mul(self, a: Any, b: Any) -> Value:
        return self.same("arith.mulf", a, b, "arith.muli")

    def op_div(self, a: Any, b: Any, rounding_mode: str | None = None) -> Value:
        if rounding_mode is not None:
            raise ExportError("aten.div with a rounding mode has no rule")
        return self.same("arith.divf", a, b, "arith.divsi")

    def op_neg(self, x: Value) -> Value:
        return self.simple("arith.negf", x)

    def op_cos(self, x: Value) -> Value:
        return self.simple("math.cos", x)

    def op_sin(self, x: Value) -> Value:
        return self.simple("math.sin", x)

    def op_exp(self, x: Value) -> Value:
        return self.simple("math.exp", x)

    def op_tanh(self, x: Value) -> Value:
        return self.simple("math.tanh", x)

    def op_sqrt(self, x: Value) -> Value:
        return self.simple("math.sqrt", x)

    def op_rsqrt(self, x: Value) -> Value:
        return self.simple("math.rsqrt", x)

    def op_relu(self, x: Value) -> Value:
        return self.simple("arith.maximumf", x, 0.0)

    def op_square(self, x: Value) -> Value:
        return self.simple("arith.mulf", x, x)

    def op_pow(self, x: Any, exponent: Any) -> Value:
        if isinstance(exponent, Value) or not isinstance(x, Value):
            raise ExportError("aten.pow to a tensor has no rule, only to the number 2")
        if exponent != 2:
            raise ExportError(f"aten.pow to {exponent} has no rule, only to 2")
        return self.op_square(x)

    def op_sigmoid(self, x: Value) -> Value:
        return self.map(x, 0.5, body=self._sigmoid)

    def op_silu(self, x: Value) -> Value:
        def body(names: list[str], element: str) -> tuple[list[str], str]:
            lines, gate = self._sigmoid(names, element)
            made = self.writer.fresh()
            return [*lines, f"{made} = arith.mulf {names[0]}, {gate} : {element}"], made

        return self.map(x, 0.5, body=body)

    def _sigmoid(self, names: list[str], element: str) -> tuple[list[str], str]:
        """By the hyperbolic tangent, whose derivative overflows nowhere."""
        x, half = names
        a, t, b, s = (self.writer.fresh() for _ in range(4))
        return [
            f"{a} = arith.mulf {x}, {half} : {element}",
            f"{t} = math.tanh {a} : {element}",
            f"{b} = arith.mulf {t}, {half} : {element}",
            f"{s} = arith.addf {b}, {half} : {element}",
        ], s

    def op_to(self, x: Value, *_: Any, **__: Any) -> Value:
        if x.element == self.element():
            return x
        return self.map(x, body=lambda names, element: ([], names[0]))

    op__to_copy = op_to
    op_float = op_to
    op_type_as = op_to

    def op_clone(self, x: Value, **_: Any) -> Value:
        return x

    op_contiguous = op_clone
    op_lift_fresh_copy = op_clone
    op_alias = op_clone

    def op_detach(self, x: Value) -> Value:
        if x.element.startswith("i"):
            return x
        text = f"cp.stop_gradient {x.name} : {x.type}"
        return self.writer.op(x.shape, x.element, text)

    op_detach_ = op_detach

    def op_dropout(self, x: Value, p: float, train: bool) -> Value:
        if train and p > 0:
            raise ExportError(f"dropout {p} has no rule; export the model in eval()")
        return x

    def op__assert_tensor_metadata(self, *_: Any, **__: Any) -> None:
        return None

    # Shapes.

    def op_view(self, x: Value, *_: Any) -> Value:
        return self.writer.reshape(x, self.shape())

    op_reshape = op_view
    op__unsafe_view = op_view
    op_unsqueeze = op_view
    op_squeeze = op_view
    op_flatten = op_view

    def op_expand(self, x: Value, *_: Any, **__: Any) -> Value:
        if x.shape == self.shape():
            return x
        return self.map(x, body=lambda names, element: ([], names[0]))

    def op_permute(self, x: Value, dims: Sequence[int]) -> Value:
        rank = len(x.shape)
        order = [dim % rank for dim in dims]
        # Where each dimension of the operand is in the result.
        listed = [order.index(i) for i in range(rank)]
        return self.writer.generic(
            [(x, listed)], self.shape(), x.element, lambda names: ([], names[0])
        )

    def op_transpose(self, x: Value, a: int, b: int) -> Value:
        dims = list(range(len(x.shape)))
        dims[a], dims[b] = dims[b], dims[a]
        return self.op_permute(x, dims)

    def op_t(self, x: Value) -> Value:
        return self.op_permute(x, [1, 0])

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
        self, x: Value, dim: int = 0, start: int | None = 0, *rest: int
    ) -> Value:
        if len(rest) > 1 and rest[1] != 1:
            raise ExportError("aten.slice with a step has no rule")
        dim %= len(x.shape)
        start = start or 0
        if start < 0:
            start = max(start + x.shape[dim], 0)
        return self.slice(x, dim, start, self.shape()[dim])

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
            text = (
                f"tensor.insert_slice {part.name} into {whole.name}{offsets} "
                f"{list(part.shape)} {[1] * len(shape)}"
            )
            whole = self.writer.op(
                shape, element, f"{text} : {part.type} into {whole.type}"
            )
        return whole

    def op_arange(self, *bounds: Any, **_: Any) -> Value:
        """Places of a row: wherever a rank's tokens stand, they are theirs."""
        is_from_zero = len(bounds) < 2 or bounds[0] == 0
        has_step = len(bounds) > 2 and bounds[2] != 1
        if self.element() != "i64" or not is_from_zero or has_step:
            raise ExportError("aten.arange is exported of places from 0, in i64")
        if self.documents:
            raise ExportError(
                f"aten.arange has no rule{_place_of(self.node)} where rows have "
                "documents; make the positions an argument, position_ids"
            )
        shape = self.shape()
        return self.writer.op(
            shape, "i64", f"cp.positions : {tensor_type(shape, 'i64')}"
        )

    # What is more than elements.

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
                f"{_place_of(self.node)}; set it to False"
            )
        attributes = f" {{padding_idx = {padding} : i64}}" if padding >= 0 else ""
        self.below.setdefault(ids.name, table.shape[0])
        # The op has rows of ids; places of a row are one.
        rows = ids if len(ids.shape) > 1 else self.writer.reshape(ids, (1, *ids.shape))
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

    def linear(self, x: Value, weight: Value, shape: Sequence[int]) -> Value:
        """x weight^T, which is of this node's layer."""
        element = x.element
        rank = len(shape)
        outer = [f"d{i}" for i in range(rank - 1)]
        loops = ", ".join([*outer, "n", "k"])
        maps = [
            f"affine_map<({loops}) -> ({', '.join(dims)})>"
            for dims in ([*outer, "k"], ["n", "k"], [*outer, "n"])
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

    def op_mean(
        self, x: Value, dim: Sequence[int] | None = None, keep: bool = False, **_: Any
    ) -> Value:
        rank = len(x.shape)
        reduced = sorted({each % rank for each in dim or range(rank)})
        kept = [i for i in range(rank) if i not in reduced]
        shape = [x.shape[i] for i in kept]
        into = self.writer.zeros(shape, x.element)
        a, b, s = (self.writer.fresh() for _ in range(3))
        made = self.writer.op(
            shape,
            x.element,
            f"linalg.reduce ins({x.name} : {x.type}) outs({into.name} : {into.type}) "
            f"dimensions = {reduced}\n"
            f"    ({a}: {x.element}, {b}: {x.element}) {{\n"
            f"      {s} = arith.addf {a}, {b} : {x.element}\n"
            f"      linalg.yield {s} : {x.element}\n    }}",
        )
        count = 1
        for i in reduced:
            count *= x.shape[i]
        wide = self.writer.reshape(made, self.shape())
        return self.simple("arith.divf", wide, float(count))

    # Layers.

    def op_rms_norm(
        self,
        x: Value,
        shape: Sequence[int],
        weight: Value | None = None,
        eps: float | None = None,
    ) -> Value:
        """torch's own, which has the smallest step of what it computes in for eps."""
        if len(shape) != 1:
            raise ExportError(
                f"aten.rms_norm over {len(shape)} dimensions has no rule"
                f"{_place_of(self.node)}, only over the last"
            )
        if weight is None:
            weight = self.writer.splat(shape, x.element, 1)
        if eps is None:
            wide = torch.float64 if x.element == "f64" else torch.float32
            eps = torch.finfo(wide).eps
        return self.layer_rms_norm(x, weight, eps)

    def layer_rms_norm(self, x: Value, weight: Value, eps: float) -> Value:
        return self.writer.op(
            x.shape,
            x.element,
            f"cp.rms_norm {x.name} weight({weight.name}) {{eps = {real(eps)} : f64}} "
            f": ({x.type}, {weight.type}) -> {x.type}",
        )

    def layer_mixer(
        self, u: Value, weights: list[Value], names: list[str], fields: str
    ) -> Value:
        def shaped(name: str, weight: Value) -> Value:
            # [c, 1, w] of Conv1d.
            return self.writer.squeeze(weight, 1) if name == "conv1d.weight" else weight

        given = {
            name: shaped(name, weight)
            for name, weight in zip(names, weights, strict=True)
        }
        return self._layer(MixerShape, u, given, fields)

    def layer_attention_block(
        self, u: Value, weights: list[Value], names: list[str], fields: str
    ) -> Value:
        given = dict(zip(names, weights, strict=True))
        return self._layer(BlockShape, u, given, fields)

    def _layer(
        self,
        kind: type[MixerShape | BlockShape],
        u: Value,
        weights: dict[str, Value],
        fields: str,
    ) -> Value:
        # What repr() gave of numbers: an infinity is no literal.
        known = ast.literal_eval(fields.replace(": inf", ": 'inf'"))
        known = {
            key: math.inf if value == "inf" else value for key, value in known.items()
        }
        dtype = _NAMES[u.element]
        names = {name: weight.name for name, weight in weights.items()}
        names["u"] = u.name
        if self.documents:
            known["documents"] = self.documents.ends.shape[1]
            names["cu_seqlens"] = self.documents.ends.name
        shape = kind(*u.shape, dtype=dtype, **known)
        return self.writer.op(u.shape, u.element, shape.op(names))

    def layer_attention(
        self, q: Value, k: Value, v: Value, scale: float, window: int
    ) -> Value:
        dtype = _NAMES[q.element]
        shape = AttentionShape(
            rows=q.shape[0],
            length=q.shape[1],
            num_heads=q.shape[2],
            num_kv_heads=k.shape[2],
            head_dim=q.shape[3],
            value_dim=v.shape[3],
            scale=scale,
            dtype=dtype,
            window=window,
        )
        out = self.writer.value(self.shape(), q.element)
        value = {"q": q.name, "k": k.name, "v": v.name}
        lse = self.writer.fresh()
        places = self.documents.places().name if self.documents else None
        self.writer.lines.append(f"{out.name}, {lse} = {shape.op(value, places)}")
        return out


def _place_of(node: fx.Node) -> str:
    stack = node.meta.get("nn_module_stack") or {}
    places = [path for path, _ in stack.values() if path]
    return f" in '{places[-1]}'" if places else ""
