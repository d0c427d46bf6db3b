"""Operators of aten on elements, each as a loop of arith and math."""

from __future__ import annotations

import math
from typing import Any

from .rules import Rules, place_of
from .writer import ExportError, Value


class Elementwise(Rules):
    def op_add(self, a: Any, b: Any, alpha: float = 1) -> Value:
        if self.is_mask():
            return self.op_bitwise_or(a, b)
        return self.same("arith.addf", a, self._times(b, alpha), "arith.addi")

    def op_sub(self, a: Any, b: Any, alpha: float = 1) -> Value:
        return self.same("arith.subf", a, self._times(b, alpha), "arith.subi")

    def _times(self, b: Any, alpha: float) -> Any:
        if alpha == 1 or not isinstance(b, Value):
            return alpha * b if alpha != 1 else b
        return self.simple("arith.mulf", b, alpha, integer="arith.muli", shape=b.shape)

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

    def op_abs(self, x: Value) -> Value:
        return self.simple("math.absf", x)

    def op_erf(self, x: Value) -> Value:
        return self.simple("math.erf", x)

    def op_log(self, x: Value) -> Value:
        return self.simple("math.log", x)

    def op_log1p(self, x: Value) -> Value:
        return self.simple("math.log1p", x)

    def op_expm1(self, x: Value) -> Value:
        return self.simple("math.expm1", x)

    def op_reciprocal(self, x: Value) -> Value:
        return self.simple("arith.divf", 1.0, x)

    def op_maximum(self, a: Value, b: Value) -> Value:
        return self.simple("arith.maximumf", a, b)

    def op_minimum(self, a: Value, b: Value) -> Value:
        return self.simple("arith.minimumf", a, b)

    def op_max(self, a: Value, b: Any = None, *_: Any) -> Value:
        """Of two; the largest of one has none."""
        return self.op_maximum(a, self._second(b))

    def op_min(self, a: Value, b: Any = None, *_: Any) -> Value:
        return self.op_minimum(a, self._second(b))

    def _second(self, b: Any) -> Value:
        if not isinstance(b, Value):
            raise ExportError(f"{self.node.target} of one tensor has no rule")
        return b

    def op_relu(self, x: Value) -> Value:
        return self.simple("arith.maximumf", x, 0.0)

    def op_square(self, x: Value) -> Value:
        return self.simple("arith.mulf", x, x)

    def op_pow(self, x: Any, exponent: Any) -> Value:
        """Of small powers by products; others have no derivative where x is 0."""
        if isinstance(exponent, Value) or not isinstance(x, Value):
            raise ExportError("aten.pow to a tensor has no rule, only to a number")
        if exponent == 1:
            return x
        if exponent == 2:
            return self.op_square(x)
        if exponent == 3:
            return self.map(x, body=self._cube)
        if exponent == -1:
            return self.op_reciprocal(x)
        named = {0.5: "math.sqrt", -0.5: "math.rsqrt"}
        if exponent in named:
            return self.simple(named[exponent], x)
        raise ExportError(
            f"aten.pow to {exponent} has no rule, only to 1, 2, 3, -1, 0.5 and -0.5"
        )

    def _cube(self, names: list[str], element: str) -> tuple[list[str], str]:
        lines: list[str] = []
        (x,) = names
        square = self.line(lines, "arith.mulf", x, x, element=element)
        return lines, self.line(lines, "arith.mulf", square, x, element=element)

    def op_gelu(self, x: Value, approximate: str = "none") -> Value:
        """In no less than f32, rounded once, as torch does."""
        body = _gelu_tanh if approximate == "tanh" else _gelu
        return self.wide_map(x, body=body)

    def op_softplus(self, x: Value, beta: float = 1, threshold: float = 20) -> Value:
        """max(x, 0) + log1p(exp(-|x|)), which nothing overflows in; torch's is x itself
        where it is above the threshold."""
        if beta != 1 or threshold < 20:
            raise ExportError(
                "aten.softplus has a rule for a beta of 1 and a threshold of 20 or more"
            )
        return self.wide_map(x, body=_softplus)

    def op_sigmoid(self, x: Value) -> Value:
        return self.wide_map(x, body=_sigmoid)

    def op_silu(self, x: Value) -> Value:
        return self.wide_map(x, body=_silu)

    def op_log_sigmoid(self, x: Value) -> Value:
        return self.wide_map(x, body=_log_sigmoid)

    def op_to(self, x: Value, *_: Any, **__: Any) -> Value:
        if self.is_mask() and not self.is_mask(0):
            return self._compare("une", x, 0)
        if x.element == self.element():
            return x
        return self.map(x, body=lambda names, element: ([], names[0]))

    op__to_copy = op_to
    op_float = op_to
    op_double = op_to
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

    def op_where(self, condition: Value, a: Any, b: Any) -> Value:
        shape, element = self.shape(), self.element()
        tensors = [each for each in (a, b) if isinstance(each, Value)]
        given = [self.writer.broadcast(each, shape) for each in (condition, *tensors)]

        def write(arguments: list[str]) -> tuple[list[str], str]:
            lines: list[str] = []
            names = iter(arguments)
            zero = self.number(lines, 0, "i32")
            is_so = self.line(lines, "arith.cmpi ne,", next(names), zero, element="i32")
            chosen = [is_so]
            for each in (a, b):
                if isinstance(each, Value):
                    chosen.append(self.cast(lines, next(names), each.element, element))
                else:
                    chosen.append(self.number(lines, each, element))
            return lines, self.line(lines, "arith.select", *chosen, element=element)

        return self.writer.generic(given, shape, element, write)

    def op_masked_fill(self, x: Value, mask: Value, value: Any) -> Value:
        return self.op_where(mask, value, x)

    def op_clamp(self, x: Value, least: Any = None, most: Any = None) -> Value:
        """What is at a bound has no derivative, as in torch."""
        if isinstance(least, Value) or isinstance(most, Value):
            raise ExportError("aten.clamp to a tensor has no rule, only to a number")
        for kind, bound in (("ole", least), ("oge", most)):
            if bound is not None:
                x = self.op_where(self._compare(kind, x, bound), bound, x)
        return x

    op_clip = op_clamp

    def op_clamp_min(self, x: Value, least: Any) -> Value:
        return self.op_clamp(x, least)

    def op_clamp_max(self, x: Value, most: Any) -> Value:
        return self.op_clamp(x, None, most)

    def _compare(self, kind: str, a: Any, b: Any) -> Value:
        """A mask: 0 or 1 in i32, since bits are not what ranks and programs exchange;
        what reads it in the same loop has no need of that."""
        elements = {each.element for each in (a, b) if isinstance(each, Value)}
        if len(elements) != 1:
            raise ExportError(f"{self.node.target} of two types has no rule")
        (element,) = elements
        numbers = [each for each in (a, b) if not isinstance(each, Value)]
        if element[0] == "i" and any(not float(n).is_integer() for n in numbers):
            element = "f64"
        signed = {"oeq": "eq", "une": "ne"}.get(kind, f"s{kind[1:]}")
        op = f"arith.cmpi {signed}" if element[0] == "i" else f"arith.cmpf {kind}"

        def body(names: list[str], element: str) -> tuple[list[str], str]:
            lines: list[str] = []
            made = self.line(lines, f"{op},", *names, element=element)
            return lines, self.cast(lines, made, "i1", "i32")

        return self.map(a, b, body=body, element=element, result="i32")

    def op_logical_not(self, x: Value) -> Value:
        return self._compare("oeq", x, 0)

    def op_bitwise_not(self, x: Value) -> Value:
        return self._of_masks("xori", x, 1)

    def op_bitwise_and(self, a: Value, b: Value) -> Value:
        return self._of_masks("andi", a, b)

    def op_bitwise_or(self, a: Value, b: Value) -> Value:
        return self._of_masks("ori", a, b)

    op___and__ = op_bitwise_and
    op_logical_and = op_bitwise_and
    op___or__ = op_bitwise_or
    op_logical_or = op_bitwise_or

    def _of_masks(self, op: str, a: Value, b: Any) -> Value:
        count = sum(isinstance(each, Value) for each in (a, b))
        if not all(map(self.is_mask, range(count))):
            raise ExportError(
                f"{self.node.target} has no rule but of masks{place_of(self.node)}"
            )
        return self.simple("", a, b, integer=f"arith.{op}", element="i32")

    def op_lt(self, a: Any, b: Any) -> Value:
        return self._compare("olt", a, b)

    def op_le(self, a: Any, b: Any) -> Value:
        return self._compare("ole", a, b)

    def op_gt(self, a: Any, b: Any) -> Value:
        return self._compare("ogt", a, b)

    def op_ge(self, a: Any, b: Any) -> Value:
        return self._compare("oge", a, b)

    def op_eq(self, a: Any, b: Any) -> Value:
        return self._compare("oeq", a, b)

    def op_ne(self, a: Any, b: Any) -> Value:
        return self._compare("une", a, b)

    def op_dropout(self, x: Value, p: float, train: bool) -> Value:
        if train and p > 0:
            raise ExportError(f"dropout {p} has no rule; export the model in eval()")
        return x

    def op__assert_tensor_metadata(self, *_: Any, **__: Any) -> None:
        return None


# Within loops: of no less than f32, as wide_map wants them.


def _gelu(rules: Rules, names: list[str], element: str) -> tuple[list[str], str]:
    """x (1 + erf(x / sqrt 2)) / 2."""
    lines: list[str] = []
    (x,) = names
    scale = rules.number(lines, math.sqrt(0.5), element)
    scaled = rules.line(lines, "arith.mulf", x, scale, element=element)
    erf = rules.line(lines, "math.erf", scaled, element=element)
    return lines, _half_of(rules, lines, x, erf, element)


def _gelu_tanh(rules: Rules, names: list[str], element: str) -> tuple[list[str], str]:
    """x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2."""
    lines: list[str] = []
    (x,) = names
    first = rules.number(lines, math.sqrt(2 / math.pi), element)
    third = rules.number(lines, 0.044715 * math.sqrt(2 / math.pi), element)
    square = rules.line(lines, "arith.mulf", x, x, element=element)
    factor = rules.line(lines, "arith.mulf", square, third, element=element)
    factor = rules.line(lines, "arith.addf", factor, first, element=element)
    inner = rules.line(lines, "arith.mulf", factor, x, element=element)
    tanh = rules.line(lines, "math.tanh", inner, element=element)
    return lines, _half_of(rules, lines, x, tanh, element)


def _half_of(rules: Rules, lines: list[str], x: str, share: str, element: str) -> str:
    """x (1 + share) / 2."""
    one, half = (rules.number(lines, each, element) for each in (1.0, 0.5))
    share = rules.line(lines, "arith.addf", share, one, element=element)
    x = rules.line(lines, "arith.mulf", x, half, element=element)
    return rules.line(lines, "arith.mulf", x, share, element=element)


def _sigmoid(rules: Rules, names: list[str], element: str) -> tuple[list[str], str]:
    lines: list[str] = []
    one = rules.number(lines, 1.0, element)
    return lines, shared_by_sigmoid(rules, lines, names[0], one, element)


def _silu(rules: Rules, names: list[str], element: str) -> tuple[list[str], str]:
    lines: list[str] = []
    return lines, shared_by_sigmoid(rules, lines, names[0], names[0], element)


def shared_by_sigmoid(
    rules: Rules, lines: list[str], x: str, what: str, element: str
) -> str:
    """what / (1 + exp(-x)), with an exponential whose derivative is finite too."""
    most = rules.number(lines, 700.0 if element == "f64" else 80.0, element)
    minus = rules.line(lines, "arith.negf", x, element=element)
    least = rules.line(lines, "arith.minimumf", minus, most, element=element)
    power = rules.line(lines, "math.exp", least, element=element)
    one = rules.number(lines, 1.0, element)
    total = rules.line(lines, "arith.addf", power, one, element=element)
    return rules.line(lines, "arith.divf", what, total, element=element)


def _log_sigmoid(rules: Rules, names: list[str], element: str) -> tuple[list[str], str]:
    """-softplus(-x)."""
    lines: list[str] = []
    minus = rules.line(lines, "arith.negf", names[0], element=element)
    more, made = _softplus(rules, [minus], element)
    lines += more
    return lines, rules.line(lines, "arith.negf", made, element=element)


def _softplus(rules: Rules, names: list[str], element: str) -> tuple[list[str], str]:
    lines: list[str] = []
    (x,) = names
    zero = rules.number(lines, 0.0, element)
    positive = rules.line(lines, "arith.cmpf ogt,", x, zero, element=element)
    most = rules.line(lines, "arith.select", positive, x, zero, element=element)
    minus = rules.line(lines, "arith.negf", x, element=element)
    size = rules.line(lines, "arith.select", positive, minus, x, element=element)
    rest = rules.line(lines, "math.exp", size, element=element)
    rest = rules.line(lines, "math.log1p", rest, element=element)
    return lines, rules.line(lines, "arith.addf", most, rest, element=element)
