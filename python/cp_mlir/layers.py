"""One layer as IR on whole tensors, for the compiler."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

ELEMENTS = {"float32": "f32", "float64": "f64", "bfloat16": "bf16"}


def tensor_type(shape: Sequence[int], element: str) -> str:
    return f"tensor<{''.join(f'{size}x' for size in shape)}{element}>"


# Of infinity and of NaN.
_BITS = {
    "f64": ("7FF0000000000000", "7FF8000000000000"),
    "f32": ("7F800000", "7FC00000"),
    "bf16": ("7F80", "7FC0"),
}


def real(value: float, element: str = "f64") -> str:
    """As a number of MLIR; the bits, where it has no other word for them."""
    infinity, none = _BITS[element]
    if math.isnan(value):
        return f"0x{none}"
    if math.isinf(value):
        return f"0x{infinity}" if value > 0 else f"0xF{infinity[1:]}"
    mantissa, _, exponent = repr(value).partition("e")
    if "." not in mantissa:
        mantissa += ".0"
    return f"{mantissa}e{exponent}" if exponent else mantissa


@dataclass(frozen=True)
class MixerShape:
    """A Mamba-2 mixer of a batch of `rows` sequences of `length` tokens."""

    rows: int
    length: int
    hidden: int
    num_heads: int
    head_dim: int
    num_groups: int
    state_size: int
    conv_width: int
    dtype: str = "float32"
    chunk_size: int = 64
    norm_groups: int = 1
    eps: float = 1e-5
    """Without a norm the scan's result is gated alone."""
    has_norm: bool = True
    """Norms y * silu(z), and not y before it is gated."""
    gate_first: bool = True
    dt_min: float = 0.0
    dt_max: float = math.inf
    in_bias: bool = False
    out_bias: bool = False
    conv_bias: bool = True
    """Entries of `cu_seqlens` in a row; 0 where a row is one document."""
    documents: int = 0

    def types(self) -> dict[str, str]:
        """Of `u`, the weights by their names, and `cu_seqlens`."""
        element = ELEMENTS[self.dtype]
        inner = self.num_heads * self.head_dim
        channels = inner + 2 * self.num_groups * self.state_size
        projected = inner + channels + self.num_heads
        shapes = {
            "u": (self.rows, self.length, self.hidden),
            "in_proj.weight": (projected, self.hidden),
            "in_proj.bias": (projected,),
            "conv1d.weight": (channels, self.conv_width),
            "conv1d.bias": (channels,),
            "dt_bias": (self.num_heads,),
            "A_log": (self.num_heads,),
            "D": (self.num_heads,),
            "norm.weight": (inner,),
            "out_proj.weight": (self.hidden, inner),
            "out_proj.bias": (self.hidden,),
        }
        absent = set()
        if not self.in_bias:
            absent.add("in_proj.bias")
        if not self.out_bias:
            absent.add("out_proj.bias")
        if not self.conv_bias:
            absent.add("conv1d.bias")
        if not self.has_norm:
            absent.add("norm.weight")
        types = {
            name: tensor_type(shape, element)
            for name, shape in shapes.items()
            if name not in absent
        }
        if self.documents:
            types["cu_seqlens"] = tensor_type((self.rows, self.documents), "i32")
        return types

    def op(self, value: Mapping[str, str]) -> str:
        """The op on values that have these names and types."""
        types = self.types()

        def listed(*names: str) -> str:
            return ", ".join(value[name] for name in names if name in types)

        documents = f" documents({value['cu_seqlens']})" if self.documents else ""
        norm = f" norm({value['norm.weight']})" if self.has_norm else ""
        attributes = [
            f"num_heads = {self.num_heads} : i64",
            f"head_dim = {self.head_dim} : i64",
            f"num_groups = {self.num_groups} : i64",
            f"state_size = {self.state_size} : i64",
            f"chunk_size = {self.chunk_size} : i64",
            f"norm_groups = {self.norm_groups} : i64",
            f"eps = {real(self.eps)} : f64",
        ]
        if not self.gate_first:
            attributes.append("gate_first = false")
        if (self.dt_min, self.dt_max) != (0.0, math.inf):
            attributes.append(f"dt_min = {real(self.dt_min)} : f64")
            attributes.append(f"dt_max = {real(self.dt_max)} : f64")
        return "\n      ".join(
            [
                f"cp.mamba_mixer {value['u']}",
                f"in_proj({listed('in_proj.weight', 'in_proj.bias')})",
                f"conv({listed('conv1d.weight', 'conv1d.bias')})",
                f"dt_bias({value['dt_bias']}) A_log({value['A_log']})",
                f"D({value['D']}){norm}",
                f"out_proj({listed('out_proj.weight', 'out_proj.bias')}){documents}",
                f"{{{', '.join(attributes)}}}",
                f": ({', '.join(types.values())}) -> {types['u']}",
            ]
        )

    def ir(self) -> str:
        """A function of them."""
        types = self.types()
        value = {name: f"%{i}" for i, name in enumerate(types)}
        u = types["u"]
        return "\n".join(
            [
                f"func.func @mixer({_parameters(types, value)})",
                f'    -> ({u} {{cp.name = "y", cp.sequence = 1 : i64}}) {{',
                f"  %y = {self.op(value)}",
                f"  return %y : {u}",
                "}",
                "",
            ]
        )


def _parameters(arguments: dict[str, str], value: dict[str, str]) -> str:
    """Of a function: the first and what is called like it are activations."""
    activations = {"u", "q", "k", "v"}
    listed = []
    for name, type_ in arguments.items():
        if name in activations:
            attributes = f'cp.name = "{name}", cp.sequence = 1 : i64'
        elif name == "cu_seqlens":
            attributes = f'cp.name = "{name}"'
        else:
            attributes = f'cp.param = "{name}"'
        listed.append(f"{value[name]}: {type_} {{{attributes}}}")
    return ",\n    ".join(listed)


@dataclass(frozen=True)
class BlockShape:
    """Causal attention with its projections: of a batch of `rows` sequences."""

    rows: int
    length: int
    hidden: int
    num_heads: int
    num_kv_heads: int
    head_dim: int
    scale: float
    dtype: str = "float32"
    """Of rotary embeddings; 0 where there are none."""
    rope_theta: float = 0.0
    rotary_dims: int = 0
    bias: bool = False
    documents: int = 0

    def types(self) -> dict[str, str]:
        element = ELEMENTS[self.dtype]
        inner = self.num_heads * self.head_dim
        narrow = self.num_kv_heads * self.head_dim
        shapes: dict[str, tuple[int, ...]] = {
            "u": (self.rows, self.length, self.hidden)
        }
        for name, shape in (
            ("q_proj", (inner, self.hidden)),
            ("k_proj", (narrow, self.hidden)),
            ("v_proj", (narrow, self.hidden)),
            ("o_proj", (self.hidden, inner)),
        ):
            shapes[f"{name}.weight"] = shape
            if self.bias:
                shapes[f"{name}.bias"] = shape[:1]
        types = {name: tensor_type(shape, element) for name, shape in shapes.items()}
        if self.documents:
            types["cu_seqlens"] = tensor_type((self.rows, self.documents), "i32")
        return types

    def op(self, value: Mapping[str, str]) -> str:
        """The op on values that have these names and types."""
        types = self.types()

        def projection(name: str) -> str:
            parts = [f"{name}.weight", f"{name}.bias"]
            return (
                f"{name}({', '.join(value[each] for each in parts if each in types)})"
            )

        documents = f" documents({value['cu_seqlens']})" if self.documents else ""
        attributes = [
            f"num_heads = {self.num_heads} : i64",
            f"num_kv_heads = {self.num_kv_heads} : i64",
            f"head_dim = {self.head_dim} : i64",
        ]
        # What the op takes without one.
        if self.scale != self.head_dim**-0.5:
            attributes.append(f"scale = {real(self.scale)} : f64")
        if self.rotary_dims:
            attributes.append(f"rope_theta = {real(self.rope_theta)} : f64")
            attributes.append(f"rotary_dims = {self.rotary_dims} : i64")
        return "\n      ".join(
            [
                f"cp.attention_block {value['u']}",
                " ".join(map(projection, ("q_proj", "k_proj", "v_proj"))),
                f"{projection('o_proj')}{documents}",
                f"{{{', '.join(attributes)}}}",
                f": ({', '.join(types.values())}) -> {types['u']}",
            ]
        )


@dataclass(frozen=True)
class AttentionShape:
    """Causal attention of a batch of `rows` sequences of `length` tokens."""

    rows: int
    length: int
    num_heads: int
    num_kv_heads: int
    head_dim: int
    value_dim: int
    scale: float
    dtype: str = "float32"
    """The keys that a query sees, its own included; 0 for all before."""
    window: int = 0
    documents: int = 0

    def types(self) -> dict[str, str]:
        """Of q `[b, l, h, p]`, k, v and `cu_seqlens`."""
        element = ELEMENTS[self.dtype]
        rows = (self.rows, self.length)
        types = {
            "q": tensor_type((*rows, self.num_heads, self.head_dim), element),
            "k": tensor_type((*rows, self.num_kv_heads, self.head_dim), element),
            "v": tensor_type((*rows, self.num_kv_heads, self.value_dim), element),
        }
        if self.documents:
            types["cu_seqlens"] = tensor_type((self.rows, self.documents), "i32")
        return types

    def result_type(self) -> str:
        shape = (self.rows, self.length, self.num_heads, self.value_dim)
        return tensor_type(shape, ELEMENTS[self.dtype])

    def op(self, value: Mapping[str, str], places: str | None = None) -> str:
        """The op, which has two results, on values that have these names and types,
        and on the places of documents."""
        types = self.types()
        operands = [types["q"], types["k"], types["v"]]
        if places:
            operands.append(tensor_type((self.rows, self.length), "i64"))
        wide = "f64" if self.dtype == "float64" else "f32"
        lse = tensor_type((self.rows, self.num_heads, self.length), wide)
        attributes = [f"scale = {real(self.scale)} : f64"]
        if self.window:
            attributes.append(f"window = {self.window} : i64")
        return "\n      ".join(
            [
                f"cp.attention {value['q']}, {value['k']}, {value['v']}"
                + (f" places({places})" if places else ""),
                f"{{{', '.join(attributes)}}}",
                f": ({', '.join(operands)}) -> ({self.result_type()}, {lse})",
            ]
        )

    def ir(self) -> str:
        """A function of them."""
        types = self.types()
        value = {name: f"%{i}" for i, name in enumerate(types)}
        out = self.result_type()
        lines = [
            f"func.func @attention({_parameters(types, value)})",
            f'    -> ({out} {{cp.name = "out", cp.sequence = 1 : i64}}) {{',
        ]
        places = None
        if self.documents:
            places = "%places"
            lines.append(
                f"  %places = cp.positions documents({value['cu_seqlens']} : "
                f"{types['cu_seqlens']}) "
                f": {tensor_type((self.rows, self.length), 'i64')}"
            )
        lines += [f"  %out, %lse = {self.op(value, places)}", f"  return %out : {out}"]
        return "\n".join([*lines, "}", ""])
