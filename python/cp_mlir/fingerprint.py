"""What of a model is in a program that was made of it, beside the values of its
parameters."""

from __future__ import annotations

import hashlib
import weakref
from collections import deque
from collections.abc import Hashable, Iterable
from dataclasses import is_dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.modules import module as torch_module

# Longer ones are in no program.
LONGEST_CONSTANT = 1 << 16
# Of containers in each other; what is deeper is one object.
DEEPEST = 8

_PLAIN = frozenset({bool, int, complex, str, bytes, type(None), torch.dtype})
_HOOKS = frozenset(
    {"_backward_hooks", "_backward_pre_hooks", "_forward_hooks", "_forward_pre_hooks"}
)
# Of a module: what is looked at elsewhere, and what is no business of a forward pass.
_APART = frozenset(vars(nn.Module())) - {"training", "_buffers", *_HOOKS}


class _Same:
    """An object that is equal to itself alone, as long as it is there."""

    def __init__(self, known: Any) -> None:
        self.number = id(known)
        try:
            self.get: Any = weakref.ref(known)
        except TypeError:
            self.get = lambda: known

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Same):
            return False
        known = self.get()
        return known is not None and known is other.get()

    def __hash__(self) -> int:
        return self.number


@torch.compiler.disable
def fingerprint(model: nn.Module) -> Hashable:
    """Equal to an earlier one while a program made then computes what the model does
    now: layers and which of them are shared, their modes, attributes, hooks and
    forwards, sizes and types of parameters, and contents of buffers. Two that differ
    may be of one program all the same. What modules keep elsewhere (globals,
    attributes of classes, a config) is not seen, nor, on a card, what is written into
    a buffer past torch (`.data`)."""
    reader = _Reader()
    modules = tuple(map(reader.of_module, model.modules()))
    hooks = torch_module._global_forward_hooks, torch_module._global_forward_pre_hooks
    return torch.get_default_dtype(), modules, *(tuple(each.values()) for each in hooks)


class _Reader:
    def __init__(self) -> None:
        """Of modules and parameters, in the order in which they are met."""
        self.numbers: dict[int, int] = {}

    def of_module(self, module: nn.Module) -> Hashable:
        """Names are told apart by their order, and by how many there are."""
        plain, of, number = _PLAIN, self.of, self.number
        attributes = vars(module)
        return (
            type(module),
            *[(name, number(each)) for name, each in attributes["_modules"].items()],
            *[
                (name, None if each is None else (number(each), each.shape, each.dtype))
                for name, each in attributes["_parameters"].items()
            ],
            *[
                value
                if type(value) in plain
                else (name, tuple(map(_Same, value.values())))
                if name in _HOOKS
                else (name, of(value))
                for name, value in attributes.items()
                if name not in _APART
                and (type(value) in plain or not isinstance(value, dict) or value)
            ],
        )

    def number(self, known: Any) -> int:
        return self.numbers.setdefault(id(known), len(self.numbers))

    def of(self, value: Any, depth: int = 0) -> Hashable:
        if type(value) in _PLAIN:
            return value
        # 1 and 1.0 are equal.
        if isinstance(value, float):
            return "float", value
        if isinstance(value, Tensor):
            return _content_of(value)
        if isinstance(value, np.ndarray):
            return value.shape, value.dtype, _digest(np.ascontiguousarray(value))
        if depth == DEEPEST or isinstance(value, nn.Module):
            return _Same(value)
        if isinstance(value, dict):
            return self._all([each for pair in value.items() for each in pair], depth)
        if isinstance(value, (list, tuple, deque)):
            return self._all(value, depth)
        if isinstance(value, (set, frozenset)):
            return frozenset(self._all(value, depth))
        is_plain = isinstance(value, SimpleNamespace) or is_dataclass(value)
        if is_plain and "Config" not in type(value).__name__:
            return type(value), self.of(getattr(value, "__dict__", None), depth + 1)
        return _Same(value)

    def _all(self, values: Iterable[Any], depth: int) -> tuple[Hashable, ...]:
        return tuple(self.of(each, depth + 1) for each in values)


def _content_of(tensor: Tensor) -> Hashable:
    """On the host, its elements; elsewhere the host would wait for them."""
    kind = tensor.shape, tensor.dtype, tensor.device
    if type(tensor) not in (Tensor, nn.Parameter) or tensor.layout != torch.strided:
        return *kind, _Same(type(tensor))
    if tensor.is_cpu and tensor.numel() <= LONGEST_CONSTANT:
        flat = tensor.detach().resolve_conj().resolve_neg().reshape(-1).contiguous()
        return *kind, _digest(flat.view(torch.uint8).numpy()) if flat.numel() else b""
    version = 0 if tensor.is_inference() else tensor._version
    return *kind, version, _Same(tensor)


def _digest(array: Any) -> bytes:
    return hashlib.blake2b(array.tobytes(), digest_size=16).digest()
