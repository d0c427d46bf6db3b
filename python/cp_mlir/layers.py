"""One layer as IR on whole tensors, for the compiler."""

from __future__ import annotations

import math
from dataclasses import dataclass

ELEMENTS = {"float32": "f32", "float64": "f64", "bfloat16": "bf16"}


def _tensor(shape: tuple[int, ...], element: str) -> str:
    return f"tensor<{'x'.join(map(str, shape))}x{element}>"


def _real(value: float) -> str:
    """As an attribute of MLIR; the bits, where it has no other word for them."""
    if math.isinf(value):
        return "0x7FF0000000000000" if value > 0 else "0xFFF0000000000000"
    return f"{value:.17e}"


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
    dt_min: float = 0.0
    dt_max: float = math.inf
    proj_bias: bool = False
    conv_bias: bool = True
    """Entries of `cu_seqlens` in a row; 0 where a row is one document."""
    documents: int = 0

    def ir(self) -> str:
        """A function of `u`, the weights by their names, and `cu_seqlens`."""
        element = ELEMENTS[self.dtype]
        inner = self.num_heads * self.head_dim
        channels = inner + 2 * self.num_groups * self.state_size
        u = _tensor((self.rows, self.length, self.hidden), element)
        arguments = {"u": u}
        arguments["in_proj.weight"] = _tensor(
            (inner + channels + self.num_heads, self.hidden), element
        )
        if self.proj_bias:
            arguments["in_proj.bias"] = _tensor(
                (inner + channels + self.num_heads,), element
            )
        arguments["conv1d.weight"] = _tensor((channels, self.conv_width), element)
        if self.conv_bias:
            arguments["conv1d.bias"] = _tensor((channels,), element)
        for name in ("dt_bias", "A_log", "D"):
            arguments[name] = _tensor((self.num_heads,), element)
        arguments["norm.weight"] = _tensor((inner,), element)
        arguments["out_proj.weight"] = _tensor((self.hidden, inner), element)
        if self.proj_bias:
            arguments["out_proj.bias"] = _tensor((self.hidden,), element)
        if self.documents:
            arguments["cu_seqlens"] = _tensor((self.rows, self.documents), "i32")
        value = {name: f"%{i}" for i, name in enumerate(arguments)}

        def listed(*names: str) -> str:
            return ", ".join(value[name] for name in names if name in value)

        documents = f" documents({value['cu_seqlens']})" if self.documents else ""
        attributes = [
            f"num_heads = {self.num_heads} : i64",
            f"head_dim = {self.head_dim} : i64",
            f"num_groups = {self.num_groups} : i64",
            f"state_size = {self.state_size} : i64",
            f"chunk_size = {self.chunk_size} : i64",
            f"norm_groups = {self.norm_groups} : i64",
            f"eps = {_real(self.eps)} : f64",
        ]
        if (self.dt_min, self.dt_max) != (0.0, math.inf):
            attributes.append(f"dt_min = {_real(self.dt_min)} : f64")
            attributes.append(f"dt_max = {_real(self.dt_max)} : f64")
        return "\n".join(
            [
                f"func.func @mixer({_parameters(arguments, value)})",
                f'    -> ({u} {{cp.name = "y", cp.sequence = 1 : i64}}) {{',
                f"  %y = cp.mamba_mixer {value['u']}",
                f"      in_proj({listed('in_proj.weight', 'in_proj.bias')})",
                f"      conv({listed('conv1d.weight', 'conv1d.bias')})",
                f"      dt_bias({value['dt_bias']}) A_log({value['A_log']})",
                f"      D({value['D']}) norm({value['norm.weight']})",
                f"      out_proj({listed('out_proj.weight', 'out_proj.bias')})"
                f"{documents}",
                f"      {{{', '.join(attributes)}}}",
                f"      : ({', '.join(arguments.values())}) -> {u}",
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

    def ir(self) -> str:
        """A function of q `[b, l, h, p]`, k, v and `cu_seqlens`."""
        element = ELEMENTS[self.dtype]
        rows = (self.rows, self.length)
        q = _tensor((*rows, self.num_heads, self.head_dim), element)
        k = _tensor((*rows, self.num_kv_heads, self.head_dim), element)
        v = _tensor((*rows, self.num_kv_heads, self.value_dim), element)
        out = _tensor((*rows, self.num_heads, self.value_dim), element)
        wide = "f64" if element == "f64" else "f32"
        lse = _tensor((self.rows, self.num_heads, self.length), wide)
        arguments = {"q": q, "k": k, "v": v}
        places, lines, types = "", [], [q, k, v]
        if self.documents:
            arguments["cu_seqlens"] = _tensor((self.rows, self.documents), "i32")
            place_type = _tensor(rows, "i64")
            lines.append(
                f"  %places = cp.positions documents(%3 : {arguments['cu_seqlens']}) "
                f": {place_type}"
            )
            places = " places(%places)"
            types.append(place_type)
        value = {name: f"%{i}" for i, name in enumerate(arguments)}
        attributes = [f"scale = {_real(self.scale)} : f64"]
        if self.window:
            attributes.append(f"window = {self.window} : i64")
        return "\n".join(
            [
                f"func.func @attention({_parameters(arguments, value)})",
                f'    -> ({out} {{cp.name = "out", cp.sequence = 1 : i64}}) {{',
                *lines,
                f"  %out, %lse = cp.attention %0, %1, %2{places}",
                f"      {{{', '.join(attributes)}}}",
                f"      : ({', '.join(types)}) -> ({out}, {lse})",
                f"  return %out : {out}",
                "}",
                "",
            ]
        )
