"""From a model of torch to IR, by torch.export.

Mixers, attention and norms stay whole: while the model is exported each of them is one
operator, for which there is one op of the dialect. What is between them is some ninety
operators of aten, which become arith, math, linalg and tensor.
"""

from __future__ import annotations

import contextlib
import inspect
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, fx, nn
from torch.autograd.function import BackwardCFunction
from torch.utils import _pytree as pytree

from .aten import AtenImporter
from .fusions import Fusions
from .layers import real, tensor_type
from .rules import Documents
from .token_wise import check_documents
from .whole_layers import layers_whole
from .writer import ExportError, Value, Writer, element_of


def export(model: nn.Module, *, documents: int = 0, **inputs: Tensor) -> str:
    """The module of whole tensors that cp-opt and cp-run take of a model called with
    `inputs`, such as input_ids `[B, S]`, whose sizes it is for. Its parameters are
    named as in state_dict(), and of tied ones one is there; inputs with a dimension 1
    are cut along it, and ids are i32. Mixers, causal attention and RMS norms become
    single ops. With `documents`, the most that a row may have, it takes `cu_seqlens`
    too, `[B, documents + 1]` of i32, and counts positions from 0 in each document;
    position_ids that are given say where tokens stand, and not what documents there
    are. The model is as it was afterwards.

    Errors: ExportError, for an operator without a rule, by name and place; ValueError
    for a layer that is handed what its op does not take, such as a mask.
    """
    config = getattr(model, "config", None)
    named: dict[str, Any] = {
        name: each.detach().requires_grad_() if each.is_floating_point() else each
        for name, each in inputs.items()
    }
    if config is not None and hasattr(config, "use_cache"):
        named["use_cache"] = False
    if documents:
        if _POSITIONS in inputs:
            raise ExportError(
                f"{_POSITIONS} are those that documents make; give one of the two"
            )
        rows = _rows_of([tensor.shape for tensor in inputs.values()])
        if _POSITIONS in inspect.signature(model.forward).parameters:
            there = next(iter(inputs.values())).device
            named[_POSITIONS] = torch.arange(rows[1], device=there).repeat(rows[0], 1)
    # Whoever asks: what a model keeps from its gradients is in no program of another.
    with (
        layers_whole(model, counts_from_zero=_POSITIONS not in inputs),
        torch.enable_grad(),
        # torch.export keeps the types that it makes, and not the casts.
        torch.autocast("cpu", enabled=False),
        torch.autocast("cuda", enabled=False),
        _own_derivatives_refused(model),
        _all_with_gradients(model),
    ):
        program = torch.export.export(model, (), named, strict=False)
    names = {id(each): name for name, each in model.named_parameters()}
    return _Export(program, documents, names).text()


_POSITIONS = "position_ids"


@contextlib.contextmanager
def _own_derivatives_refused(model: nn.Module) -> Iterator[None]:
    """What is exported is what a model computes, and its derivative is derived of that:
    one that the model says itself would be lost."""

    original, ours = Tensor.register_hook, threading.get_ident()

    def refused_hook(*given: Any, **named: Any) -> Any:
        if threading.get_ident() != ours:
            return original(*given, **named)
        raise ExportError(
            "the model has a hook on the gradient of a tensor, of which a program "
            "knows nothing; leave it out of the model"
        )

    seen = model.register_forward_hook(lambda _, __, output: _check_nodes(output))
    try:
        Tensor.register_hook = refused_hook
        yield
    finally:
        Tensor.register_hook = original
        seen.remove()


@contextlib.contextmanager
def _all_with_gradients(model: nn.Module) -> Iterator[None]:
    """Which of them is frozen changes, and is no matter of a program."""
    frozen = [
        each
        for each in model.parameters()
        if each.is_floating_point() and not each.requires_grad
        if not each.is_inference()
    ]
    try:
        for each in frozen:
            each.requires_grad_()
        yield
    finally:
        for each in frozen:
            each.requires_grad_(False)


def _check_nodes(output: Any) -> None:
    """Of autograd's graph behind what a model gave."""
    work = [
        each.grad_fn for each in pytree.tree_leaves(output) if isinstance(each, Tensor)
    ]
    known: set[Any] = {None}
    while work:
        node: Any = work.pop()
        if node in known:
            continue
        known.add(node)
        work += [before for before, _ in node.next_functions]
        name = type(node).__name__
        # An operator of somebody's library is found in the program, by its own name.
        if isinstance(node, BackwardCFunction) and "GeneratedBackwardFor_" not in name:
            raise ExportError(
                f"{name.removesuffix('Backward')} has a backward pass of its own, of "
                "which a program knows nothing; leave it out of the model, or export "
                "what it computes without"
            )


def _rows_of(shapes: Sequence[Sequence[int]]) -> tuple[int, int]:
    """[B, S] of those that have two dimensions or more."""
    rows = {tuple(shape[:2]) for shape in shapes if len(shape) > 1}
    if len(rows) != 1:
        raise ExportError(
            f"the inputs have {sorted(rows) or 'no'} rows, expected [B, S, ...] of one "
            "number and length"
        )
    b, s = rows.pop()
    return b, s


class _Export:
    """Of an exported program, node by node."""

    def __init__(
        self,
        program: torch.export.ExportedProgram,
        documents: int,
        names: Mapping[int, str],
    ) -> None:
        self.program = program
        _open_regions(program.graph_module)
        _clean(program.graph)
        self.writer = Writer()
        fusions = Fusions(program.graph)
        self.importer = AtenImporter(self.writer, fusions)
        if documents:
            fused = {*fusions.inner, *fusions.ends}
            inputs = program.graph_signature.user_inputs
            check_documents(program.graph, [str(each) for each in inputs], fused)
        self.documents = documents
        """Each with its attributes."""
        self.arguments: list[tuple[Value, str]] = []
        self.results: list[Value] = []
        signature = program.graph_signature
        # Of tied ones the first name, as files of weights have it.
        self.parameters = {
            node: names.get(id(program.state_dict[name]), name)
            for node, name in signature.inputs_to_parameters.items()
        }
        self.buffers = {
            **signature.inputs_to_buffers,
            **signature.inputs_to_lifted_tensor_constants,
        }

    def text(self) -> str:
        if self.documents:
            self._take_documents()
        for node in self.program.graph.nodes:
            if node.op == "placeholder":
                self._take(node)
            elif node.op == "call_function":
                self.importer.run(node)
            elif node.op == "output":
                found = self.importer.of(node.args[0])
                _check_masks(node)
                self.results = [each for each in found if each is not None]
                _check_results(self.results)
        return _function(
            self._signature(),
            self.writer.lines,
            self.results,
            _names_of(self.program, self.results),
            self._rows(),
        )

    def _rows(self) -> tuple[int, int]:
        return _rows_of(
            [value.shape for value, text in self.arguments if "cp.sequence" in text]
        )

    def _take_documents(self) -> None:
        """Their ends, and what is made of them."""
        rows = _rows_of(
            [
                node.meta["val"].shape
                for node in self.program.graph.nodes
                if node.op == "placeholder"
                and node.name in self.program.graph_signature.user_inputs
                and isinstance(node.meta.get("val"), Tensor)
            ]
        )
        ends = self.writer.value((rows[0], self.documents + 1), "i32")
        init = f'cp.init = {{kind = "documents", length = {rows[1]} : i64}}'
        self.arguments.append((ends, f'{init}, cp.name = "cu_seqlens"'))
        self.importer.documents = Documents(self.writer, ends, rows)

    def _take(self, node: fx.Node) -> None:
        """An argument of the program."""
        tensor = node.meta.get("val")
        if not isinstance(tensor, Tensor):
            self.importer.values[node] = tensor
            return
        element = element_of(tensor.dtype, f"'{node.name}'")
        if node.name in self.buffers:
            if not node.users:
                return
            name = self.buffers[node.name]
            known = {**self.program.state_dict, **self.program.constants}
            buffer: Any = known[name]
            self.importer.values[node] = _buffer(self.writer, buffer, element)
            return
        is_given = node.name not in self.parameters
        if self.importer.documents and node.name == _POSITIONS:
            if node.users:
                self.importer.values[node] = self.importer.documents.places()
            return
        if is_given and not node.users:
            raise ExportError(
                f"the model reads nothing of '{node.name}'; leave it out, and say by "
                "documents= what a mask would"
            )
        if _is_ids(node):
            element = "i32"
        value = self.writer.value(tensor.shape, element)
        self.importer.values[node] = value
        if is_given:
            attributes = f'cp.name = "{node.name}"'
            if len(value.shape) > 1:
                attributes += ", cp.sequence = 1 : i64"
            self.arguments.append((value, attributes))
        # Of tied parameters one is read.
        elif node.users:
            name = self.parameters[node.name]
            self.arguments.append((value, f'cp.param = "{name}"'))

    def _signature(self) -> list[str]:
        """What it is called with, the ends of documents, and then the parameters."""
        ordered = sorted(
            self.arguments,
            key=lambda each: (each[1].startswith("cp.param"), "cu_seqlens" in each[1]),
        )
        listed = []
        for value, attributes in ordered:
            below = self.importer.below.get(value.name)
            if below is not None:
                init = f'cp.init = {{kind = "ids", below = {below} : i64}}'
                attributes = f"{init}, {attributes}"
            listed.append(f"{value.name}: {value.type} {{{attributes}}}")
        return listed


def _check_masks(output: fx.Node) -> None:
    for node in pytree.tree_leaves(output.args[0]):
        tensor = node.meta.get("val") if isinstance(node, fx.Node) else None
        if isinstance(tensor, Tensor) and tensor.dtype is torch.bool:
            raise ExportError(
                "the model's result is of truths, which have no type in IR; give "
                "them as numbers, by .float() or .long()"
            )


def _check_results(results: Sequence[Any]) -> None:
    if not results:
        raise ExportError("the model has no results; return a tensor, or several")
    for each in results:
        if not isinstance(each, Value):
            raise ExportError(
                f"{each!r} is among the model's results, which are tensors; leave it "
                "out"
            )


_region = torch.ops.higher_order.wrap_with_set_grad_enabled


def _open_regions(module: fx.GraphModule) -> None:
    """What is computed under no_grad() is a graph of its own in what torch exports. It
    becomes part of the model's, and what is read of it has no gradient. None is within
    another: torch ends one where gradients are wanted again."""
    graph: Any = module.graph
    for node in [each for each in graph.nodes if each.target is _region]:
        is_enabled, named, *given = node.args
        inner: Any = module.get_submodule(named.target).graph
        starts = [each for each in inner.nodes if each.op == "placeholder"]
        with graph.inserting_before(node):
            found = graph.graph_copy(inner, dict(zip(starts, given, strict=True)))
            if not is_enabled:
                found = [
                    value if _is_itself(own) else _without_gradient(graph, value)
                    for value, own in zip(found, _results_of(inner), strict=True)
                ]
        for user in list(node.users):
            user.replace_all_uses_with(found[user.args[1]])
            graph.erase_node(user)
        graph.erase_node(node)
        graph.erase_node(named)


def _results_of(graph: Any) -> list[Any]:
    (output,) = (each for each in graph.nodes if each.op == "output")
    return list(output.args[0])


# What gives its argument itself, where that has the type already.
_MAYBE_ITSELF = {"to", "type_as", "float", "double", "dropout", "contiguous"}


def _is_itself(node: fx.Node) -> bool:
    """Whether a result of a region is what came into it, with the gradient that had."""
    if node.op == "placeholder":
        return True
    schema = getattr(node.target, "_schema", None)
    source = node.args[0] if node.args else None
    return (
        schema is not None
        and schema.name.removeprefix("aten::") in _MAYBE_ITSELF
        and isinstance(source, fx.Node)
        and source.meta["val"].dtype == node.meta["val"].dtype
        and _is_itself(source)
    )


def _without_gradient(graph: fx.Graph, value: fx.Node) -> fx.Node:
    kept = graph.call_function(torch.ops.aten.detach.default, (value,))
    kept.meta = dict(value.meta)
    return kept


def _clean(graph: fx.Graph) -> None:
    """Without what nobody reads, and what only checks what it was traced with."""
    for node in reversed(graph.nodes):
        if node.target is torch.ops.aten._assert_tensor_metadata.default:
            graph.erase_node(node)
    graph.eliminate_dead_code()


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
        return str(each) if element.startswith("i") else real(each, element)

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
    rows: tuple[int, int],
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
