"""Operators of aten, each as an op or a few of arith, math, linalg and tensor."""

from __future__ import annotations

from torch import fx

from .fusions import Fusions
from .layer_rules import LayerRules
from .rules import place_of
from .structured import Structured
from .views import Views
from .writer import ExportError, Writer

# The library of layers that stay whole (whole_layers.py).
LAYERS = "cp_mlir_export"
# Of operators by where they are from: what the methods that import them begin with.
# Another library's has a name of its own, whatever it is called.
_RULES = {"aten": "op_", LAYERS: "layer_", "": "op_"}


class AtenImporter(Structured, Views, LayerRules):
    """By a method for each operator, whose name is its own without overload."""

    def __init__(self, writer: Writer, fusions: Fusions) -> None:
        super().__init__(writer)
        self.fusions = fusions

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
                f"{target} has no rule{place_of(node)}; keep it out of the model"
            )
        arguments = [self.of(each) for each in node.args]
        named = {key: self.of(each) for key, each in node.kwargs.items()}
        try:
            self.values[node] = rule(*arguments, **named)
        except (AttributeError, IndexError, TypeError, ValueError) as error:
            # It is called in a way that the rule does not know.
            raise ExportError(
                f"{target} has no rule for how it is called{place_of(node)} "
                f"({node.format_node()}): {error}"
            ) from error
