"""What of a model is in a program that was made of it, beside the values of its
parameters."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable
from typing import Any

import torch
from torch import Tensor, nn

# Longer ones are in no program.
LONGEST_CONSTANT = 1 << 16

_PLAIN = frozenset({bool, int, float, complex, str, bytes, type(None), torch.dtype})
# Of a module: what is looked at elsewhere, and what is no business of a forward pass.
_APART = frozenset(vars(nn.Module())) - {
    "training",
    "_backward_hooks",
    "_backward_pre_hooks",
    "_buffers",
    "_forward_hooks",
    "_forward_pre_hooks",
}


class _Same:
    """An object that is equal to itself alone; it lives as long as this."""

    def __init__(self, known: Any) -> None:
        self.known = known

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.known is other.known

    def __hash__(self) -> int:
        return id(self.known)


def fingerprint(model: nn.Module) -> Hashable:
    """Equal to an earlier one while a program made then computes what the model does
    now: layers, their modes, attributes, hooks and forwards, sizes and types of
    parameters, and contents of buffers. What modules keep elsewhere (globals,
    attributes of classes) is not seen, nor, on a card, what is written into a buffer
    past torch (`.data`)."""
    reader = _Reader()
    modules = tuple(reader.of_module(each) for each in model.modules())
    parameters = tuple((each.shape, each.dtype) for each in model.parameters())
    return torch.get_default_dtype(), parameters, modules


class _Reader:
    def __init__(self) -> None:
        """Configurations, which layers share."""
        self.seen: dict[int, Hashable] = {}

    def of_module(self, module: nn.Module) -> Hashable:
        """Names are told apart by their order, and by how many there are."""
        plain, of = _PLAIN, self.of
        return type(module), *[
            value if type(value) in plain else (name, of(value))
            for name, value in vars(module).items()
            if name not in _APART
            and (type(value) in plain or not isinstance(value, dict) or value)
        ]

    def of(self, value: Any) -> Hashable:
        if type(value) in _PLAIN:
            return value
        if isinstance(value, Tensor):
            return _content_of(value)
        if isinstance(value, nn.Module):
            # One of modules(), or of another model.
            return _Same(value)
        if isinstance(value, dict):
            return tuple((self.of(key), self.of(each)) for key, each in value.items())
        if isinstance(value, (list, tuple)):
            return tuple(map(self.of, value))
        if type(value).__name__.endswith("Config") and hasattr(value, "__dict__"):
            return self._of_config(value)
        return _Same(value)

    def _of_config(self, config: Any) -> Hashable:
        if id(config) not in self.seen:
            self.seen[id(config)] = _Same(config)
            self.seen[id(config)] = self.of(vars(config))
        return self.seen[id(config)]


def _content_of(tensor: Tensor) -> Hashable:
    """On the host, its elements; elsewhere the host would wait for them."""
    kind = tensor.shape, tensor.dtype, tensor.device
    if type(tensor) not in (Tensor, nn.Parameter) or tensor.layout != torch.strided:
        return *kind, _Same(type(tensor))
    if tensor.is_cpu and tensor.numel() <= LONGEST_CONSTANT:
        flat = tensor.detach().reshape(-1).contiguous()
        content = flat.view(torch.uint8).numpy().tobytes() if flat.numel() else b""
        return *kind, hashlib.blake2b(content, digest_size=16).digest()
    version = 0 if tensor.is_inference() else tensor._version
    return *kind, version, _Same(tensor)
