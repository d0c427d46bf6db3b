"""Layers that stayed whole, each as its op of the dialect."""

from __future__ import annotations

import ast
import math

from .layers import ELEMENTS, AttentionShape, BlockShape, MixerShape
from .rules import Rules
from .writer import Value

# Of elements, torch's.
_NAMES = {element: name for name, element in ELEMENTS.items()}


class LayerRules(Rules):
    def layer_mixer(
        self, u: Value, weights: list[Value], names: list[str], fields: str
    ) -> Value:
        given = dict(zip(names, weights, strict=True))
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

    def convolve(self, x: Value, weight: Value, bias: Value | None) -> Value:
        """x `[b, l, c]` along the sequence, within documents where there are some."""
        places = self.documents.places() if self.documents else None
        given = [each for each in (x, weight, bias, places) if each is not None]
        text = f"cp.conv1d {x.name} weight({weight.name})"
        if bias is not None:
            text += f" bias({bias.name})"
        if places is not None:
            text += f" places({places.name})"
        types = ", ".join(each.type for each in given)
        return self.writer.op(x.shape, x.element, f"{text} : ({types}) -> {x.type}")

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
