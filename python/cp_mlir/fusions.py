"""What models write as several operators of aten, and is one loop, or is cut before it
is computed: what the compiler's own importers write."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
from torch import fx

from .elementwise import shared_by_sigmoid
from .layers import real
from .writer import Value

if TYPE_CHECKING:
    from .aten import AtenImporter

_aten = torch.ops.aten
# Parts of an MLP, by how ranks that share its hidden channels cut their weights.
_PARALLEL = {
    "gate_proj": "columns",
    "up_proj": "columns",
    "input_linear": "columns",
    "down_proj": "rows",
    "output_linear": "rows",
}


class Fusions:
    """Of a graph: which nodes end such a group, and which are inside of one."""

    def __init__(self, graph: fx.Graph) -> None:
        self.ends: dict[fx.Node, Callable[[AtenImporter], Any]] = {}
        self.inner: set[fx.Node] = set()
        for node in graph.nodes:
            for find in _FINDERS:
                found = find(node)
                if found is not None:
                    self.inner |= found[0]
                    self.ends[node] = found[1]
                    break


# The nodes inside, and what writes the group.
_Found = tuple[set[fx.Node], Callable[["AtenImporter"], Any]]


def _only_for(node: Any, target: Any) -> bool:
    """Whether it is a node of this operator that another one alone reads."""
    return isinstance(node, fx.Node) and node.target is target and len(node.users) == 1


def _scaled_projection(node: fx.Node) -> _Found | None:
    """Logits that are scaled by a number: their hidden states are instead, so that the
    result is a projection, of which cp-next-token-loss makes a loss that keeps no
    logits."""
    if not (
        node.target in (_aten.div.Tensor, _aten.mul.Tensor)
        and all(user.op == "output" for user in node.users)
        and _only_for(projection := node.args[0], _aten.linear.default)
        and isinstance(projection, fx.Node)
        and len(projection.args) == 2
        and isinstance(factor := node.args[1], (int, float))
    ):
        return None
    source, weight = projection.args
    assert isinstance(source, fx.Node)

    def write(importer: AtenImporter) -> Value:
        importer.node = source
        x = importer.of(source)
        narrow = (
            importer.op_div(x, factor)
            if node.target is _aten.div.Tensor
            else importer.op_mul(x, factor)
        )
        importer.node = projection
        return importer.op_linear(narrow, importer.of(weight))

    return {projection}, write


def _swiglu(node: fx.Node) -> _Found | None:
    """silu(gate) * up of one shape."""
    if node.target is not _aten.mul.Tensor:
        return None
    for silu, up in (node.args, node.args[::-1]):
        if not (_only_for(silu, _aten.silu.default) and isinstance(up, fx.Node)):
            continue
        if up is silu:
            continue
        assert isinstance(silu, fx.Node)
        gate = silu.args[0]
        if not (isinstance(gate, fx.Node) and _alike(node, gate, up)):
            continue

        def write(
            importer: AtenImporter, gate: fx.Node = gate, up: fx.Node = up
        ) -> Value:
            return importer.wide_map(importer.of(gate), importer.of(up), body=_swish)

        return {silu}, write
    return None


def _alike(*nodes: fx.Node) -> bool:
    values = [node.meta["val"] for node in nodes]
    return all(
        each.shape == values[0].shape and each.dtype == values[0].dtype
        for each in values
    )


def _swish(importer: AtenImporter, names: list[str], element: str) -> Any:
    """silu(x) * y."""
    x, y = names
    lines: list[str] = []
    gated = shared_by_sigmoid(importer, lines, x, x, element)
    return lines, importer.line(lines, "arith.mulf", gated, y, element=element)


def _squared_relu(node: fx.Node) -> _Found | None:
    is_square = node.target is _aten.square.default or (
        node.target is _aten.pow.Tensor_Scalar and node.args[1] == 2
    )
    if not (is_square and _only_for(relu := node.args[0], _aten.relu.default)):
        return None
    assert isinstance(relu, fx.Node)
    source = relu.args[0]

    def body(importer: AtenImporter, names: list[str], element: str) -> Any:
        zero, positive, squared = (importer.writer.fresh() for _ in range(3))
        return [
            f"{zero} = arith.constant {real(0.0)} : {element}",
            f"{positive} = arith.maximumf {names[0]}, {zero} : {element}",
            f"{squared} = arith.mulf {positive}, {positive} : {element}",
        ], squared

    return {relu}, lambda importer: importer.wide_map(importer.of(source), body=body)


def _halves(node: fx.Node) -> _Found | None:
    """A linear layer's result in two: two layers, each with its half of the weight,
    which ranks can share."""
    if not (
        node.target is _aten.chunk.default
        and node.args[1] == 2
        and _only_for(linear := node.args[0], _aten.linear.default)
        and isinstance(linear, fx.Node)
        and len(linear.args) == 2
    ):
        return None
    rank = len(linear.meta["val"].shape)
    dim = node.args[2] if len(node.args) > 2 else 0
    if dim not in (-1, rank - 1) or linear.meta["val"].shape[-1] % 2:
        return None
    source, weight = linear.args

    def write(importer: AtenImporter) -> list[Value]:
        x, whole = importer.of(source), importer.of(weight)
        rows = whole.shape[0] // 2
        importer.node = linear
        shape = (*linear.meta["val"].shape[:-1], rows)
        return [
            importer.linear(x, importer.slice(whole, 0, half * rows, rows), shape)
            for half in (0, 1)
        ]

    return {linear}, write


def _flat_projection(node: fx.Node) -> _Found | None:
    """x weight + bias of rows that are joined for it and come apart again, as GPT-2's
    layers do."""
    if not (
        node.target is _aten.view.default
        and _only_for(product := node.args[0], _aten.addmm.default)
        and isinstance(product, fx.Node)
        and isinstance(flat := product.args[1], fx.Node)
        and flat.target is _aten.view.default
    ):
        return None
    bias, _, weight = product.args
    (source, *_) = flat.args
    assert isinstance(source, fx.Node)
    shape, before = node.meta["val"].shape, source.meta["val"].shape
    if shape[:-1] != before[:-1] or product.kwargs:
        return None

    def write(importer: AtenImporter) -> Value:
        x, rows = importer.of(source), importer.of(weight)
        importer.node = node
        made = importer.linear(x, rows, shape, rows="k")
        return importer.simple("arith.addf", made, importer.of(bias))

    return {product, *([flat] if len(flat.users) == 1 else [])}, write


def _causal_convolution(node: fx.Node) -> _Found | None:
    """The first rows of a convolution of each channel that is padded on both sides."""
    if not (
        node.target is _aten.slice.Tensor
        and _only_for(conv := node.args[0], _aten.conv1d.default)
        and isinstance(conv, fx.Node)
    ):
        return None
    source, weight, *rest = conv.args
    assert isinstance(source, fx.Node)
    assert isinstance(weight, fx.Node)
    bias, stride, padding, dilation, groups = [*rest, *_PLAIN_CONV[len(rest) :]]
    channels, one, width = weight.meta["val"].shape
    rank, length = len(source.meta["val"].shape), source.meta["val"].shape[-1]
    dim, start = [*node.args[1:3], *[0, None][len(node.args) - 1 :]]
    if (
        conv.kwargs
        or rank != 3
        or (one, groups) != (1, channels)
        or [*stride, *padding, *dilation] != [1, width - 1, 1]
        or (dim % rank, start or 0) != (rank - 1, 0)
        or node.meta["val"].shape[-1] != length
    ):
        return None

    def write(importer: AtenImporter) -> Value:
        importer.node = conv
        x = importer.op_permute(importer.of(source), [0, 2, 1])
        taps = importer.writer.squeeze(importer.of(weight), 1)
        made = importer.convolve(x, taps, None if bias is None else importer.of(bias))
        return importer.op_permute(made, [0, 2, 1])

    return {conv}, write


# bias, stride, padding, dilation and groups where none are said.
_PLAIN_CONV: list[Any] = [None, [1], [0], [1], 1]

_FINDERS = (
    _scaled_projection,
    _swiglu,
    _squared_relu,
    _halves,
    _flat_projection,
    _causal_convolution,
)


def parallel_of(node: fx.Node) -> str | None:
    """How ranks that share an MLP's hidden channels cut the weight of a linear layer
    that is a part of one: "columns" or "rows"."""
    stack = list((node.meta.get("nn_module_stack") or {}).values())
    if len(stack) < 2:
        return None
    path, _ = stack[-1]
    _, parent = stack[-2]
    kind = parent if isinstance(parent, str) else parent.__name__
    return _PARALLEL.get(path.rpartition(".")[2]) if kind.endswith("MLP") else None
