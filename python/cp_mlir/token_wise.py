"""Whether a model's operators keep documents of a row apart: what mixes tokens and is
no layer of the dialect would mix those of all documents."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from torch import Tensor, fx

from .rules import place_of
from .writer import ExportError

# By what their first dimension argument says, and where it stands.
_ALONG = {
    "cat": 1,
    "chunk": 2,
    "concat": 1,
    "concatenate": 1,
    "mean": 1,
    "select": 1,
    "slice": 1,
    "softmax": 1,
    "split": 2,
    "split_with_sizes": 2,
    "sum": 1,
    "unbind": 1,
}
_REDUCES = {"mean", "sum"}
# Of which each part, or what is left, has another number of dimensions.
_DROPS = {"select", "unbind"}
_SHAPED = {
    "_unsafe_view",
    "flatten",
    "reshape",
    "reshape_as",
    "squeeze",
    "unflatten",
    "unsqueeze",
    "view",
    "view_as",
}


def check_documents(
    graph: fx.Graph, inputs: Collection[str], fused: Collection[fx.Node]
) -> None:
    """ExportError, by its place, for an operator that mixes tokens of a row, or is of
    where in a row they stand; `fused` are parts of what is known. Where tokens are
    joined with something else it is not known any more what is done with them."""
    tokens = _Tokens(inputs, fused)
    for node in graph.nodes:
        tensor = node.meta.get("val")
        first = tensor[0] if isinstance(tensor, (list, tuple)) and tensor else tensor
        if isinstance(first, Tensor):
            tokens.visit(node, first)


class _Tokens:
    def __init__(self, inputs: Collection[str], fused: Collection[fx.Node]) -> None:
        self.inputs = inputs
        self.fused = fused
        """Of nodes: the dimension of their tokens."""
        self.dims: dict[fx.Node, int] = {}
        """Those that have something of the inputs, wherever that is."""
        self.read: set[fx.Node] = set()

    def visit(self, node: fx.Node, tensor: Tensor) -> None:
        if node.op == "placeholder":
            if node.name in self.inputs:
                self.read.add(node)
            if node.name in self.inputs and tensor.dim() > 1:
                self.dims[node] = 1
            return
        if any(each in self.read for each in node.all_input_nodes):
            self.read.add(node)
        known = [each for each in node.all_input_nodes if each in self.dims]
        if not known or node.op != "call_function":
            return
        found = self._of(node, known, tensor)
        if found is not None:
            self.dims[node] = found

    def _of(self, node: fx.Node, known: list[fx.Node], out: Tensor) -> int | None:
        source, name = known[0], _name_of(node)
        dim, shape = self.dims[source], _shape_of(source)
        if node in self.fused or shape[dim] == 1:
            return dim if dim < out.dim() and out.shape[dim] == shape[dim] else None
        if name in _ALONG:
            return self._of_one(node, name, dim, shape)
        if name in ("permute", "transpose", "t"):
            return _moved(node, name, dim, len(shape))
        if name in _SHAPED:
            return _reshaped(shape, dim, tuple(out.shape))
        if name == "getitem":
            return dim
        right: Any = node.args[1] if name == "matmul" else None
        if right in self.dims:
            if self.dims[right] != len(_shape_of(right)) - 1:
                self._refuse(node)
            return len(out.shape) - 1
        if name in ("linear", "embedding", "index", "addmm") or "::" in name:
            return dim if dim < out.dim() and out.shape[dim] == shape[dim] else None
        return self._of_elements(node, known, out)

    def _of_one(
        self, node: fx.Node, name: str, dim: int, shape: tuple[int, ...]
    ) -> int | None:
        at = _ALONG[name]
        default = None if name in _REDUCES else 0
        said: Any = (
            node.args[at] if len(node.args) > at else node.kwargs.get("dim", default)
        )
        listed = range(len(shape)) if said is None else [said]
        if isinstance(said, list):
            listed = said
        dims = [each % len(shape) for each in listed]
        whole = name == "slice" and tuple(node.meta["val"].shape) == shape
        if dim in dims and not whole:
            self._refuse(node)
        drops = name in _DROPS or (
            name in _REDUCES and node.meta["val"].dim() < len(shape)
        )
        return dim - sum(each < dim for each in dims) if drops else dim

    def _of_elements(
        self, node: fx.Node, known: list[fx.Node], out: Tensor
    ) -> int | None:
        """Dimensions are aligned at their end."""
        behind = {self.dims[each] - len(_shape_of(each)) for each in known}
        if len(behind) > 1:
            return None
        (end,) = behind
        length = out.shape[end] if -end <= len(out.shape) else 0
        if length != _shape_of(known[0])[end]:
            return None
        for each in node.all_input_nodes:
            if each in self.read or not isinstance(each.meta.get("val"), Tensor):
                continue
            other = _shape_of(each)
            if -end <= len(other) and other[end] > 1:
                raise ExportError(
                    f"{node.target} reads a table by where tokens stand in a row"
                    f"{place_of(node)}, and not in their documents; read it by "
                    "position_ids"
                )
        return len(out.shape) + end

    def _refuse(self, node: fx.Node) -> None:
        raise ExportError(
            f"{node.target} mixes the tokens of a row{place_of(node)}, and so of its "
            "documents; compile the model without documents"
        )


def _name_of(node: fx.Node) -> str:
    schema = getattr(node.target, "_schema", None)
    name = schema.name if schema else getattr(node.target, "__name__", "")
    return name.removeprefix("aten::")


def _shape_of(node: fx.Node) -> tuple[int, ...]:
    tensor = node.meta["val"]
    return tuple((tensor[0] if isinstance(tensor, (list, tuple)) else tensor).shape)


def _moved(node: fx.Node, name: str, dim: int, rank: int) -> int:
    order = list(range(rank))
    if name == "permute":
        listed: Any = node.args[1]
        order = [each % rank for each in listed]
    else:
        a, b = (0, 1) if name == "t" else (int(str(each)) for each in node.args[1:3])
        order[a], order[b] = order[b], order[a]
    return order.index(dim)


def _reshaped(shape: tuple[int, ...], dim: int, out: tuple[int, ...]) -> int | None:
    """Where as many elements are in front of it and within it as before."""
    before = 1
    for size in shape[:dim]:
        before *= size
    front = 1
    for i, size in enumerate(out):
        if front == before and size == shape[dim]:
            return i
        front *= size
    return None
