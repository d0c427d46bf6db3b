"""Batches of whole rows, and the part of them that a rank gets (cprt_batch.h)."""

from __future__ import annotations

import ctypes as c
import functools
import weakref
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from . import _native as native
from .compiler import unit_of

# Of cprt_batch_order, cprt_batch_format and CPRT_BATCH_WHOLE.
_ORDERS = {"contiguous": 0, "zigzag": 1, "striped": 2}
_BSHD, _THD = 0, 1
_WHOLE = -1
_NUMBERS = {getattr(torch, name): i for i, name in enumerate(native.DTYPES)}
_DTYPES = {i: dtype for dtype, i in _NUMBERS.items()}


class Batch:
    """Rows `[B, S]` padded, packed and cut over ranks, and what they give back.

    `tensors` by the names of cprt_batch.h: input_ids or inputs_embeds, labels,
    loss_mask, position_ids, attention_mask or padding_mask (of right padding),
    seq_lens, seq_lens_padded; others are cut along dimension 1. Errors: CprtError
    with the tensor, the row, and what to do.

    `order` is that of `ranks / inner` parts, each of which `inner` ranks, one behind
    the other, cut once more. With `packed` all rows lie end to end in one; `length` and
    `documents` are capacities of a row, without them what this batch needs.
    """

    def __init__(
        self,
        tensors: Mapping[str, Tensor],
        ranks: int,
        order: str = "contiguous",
        *,
        packed: bool = False,
        length: int = 0,
        documents: int = 0,
        inner: int = 1,
        padding_id: int = 0,
        shift_labels: bool = True,
    ) -> None:
        name = order.partition(":")[0]
        if name not in _ORDERS:
            raise ValueError(
                f"order must be contiguous, zigzag, striped or striped:UNIT, but is "
                f"'{order}'"
            )
        options = native.BatchOptions()
        options.struct_size = c.sizeof(options)
        if ranks % inner:
            raise ValueError(f"inner must divide the {ranks} ranks, but is {inner}")
        options.ranks = ranks // inner
        options.pad_multiple = inner
        options.order = _ORDERS[name]
        options.unit = unit_of(order)
        options.format = _THD if packed else _BSHD
        options.length = length
        options.documents = documents
        options.padding_id = padding_id
        options.shift_labels = int(shift_labels)
        held = [
            (name, _numbers_of(tensor).detach().cpu().contiguous())
            for name, tensor in tensors.items()
        ]
        table = (native.BatchTensor * len(held))(
            *[_described(tensor, name) for name, tensor in held]
        )
        self._handle = c.c_void_p()
        native.checked(
            lambda *text: native.runtime().cprt_batch_create(
                c.byref(options), table, len(held), c.byref(self._handle), *text
            )
        )
        weakref.finalize(self, native.runtime().cprt_batch_destroy, self._handle)
        self.ranks = ranks
        self.order = order
        self.inner = inner
        self._made_of = functools.partial(
            Batch,
            dict(held),
            ranks,
            order,
            packed=packed,
            length=length,
            documents=documents,
            inner=inner,
            padding_id=padding_id,
            shift_labels=shift_labels,
        )

    def __reduce__(self) -> tuple[Any, ...]:
        """Made again where it is sent: data loaders make batches in other processes."""
        return self._made_of, ()

    @functools.cached_property
    def digest(self) -> int:
        """Of some of the ids and labels, by which rows of other contents differ; what
        is computed, as embeddings, may be rounded otherwise elsewhere."""
        tensors: Mapping[str, Tensor] = self._made_of.args[0]
        digest = 0
        for name in sorted(tensors.keys() & {"input_ids", "labels", "loss_mask"}):
            flat = tensors[name].detach().reshape(-1)
            some = flat[:: max(1, flat.numel() >> 16)].contiguous().cpu()
            content = some.view(torch.uint8).numpy().tobytes()
            digest = zlib.crc32(content, digest)
        return digest

    def names(self) -> list[str]:
        capacity = 64
        names = (c.c_char_p * capacity)()
        count = native.runtime().cprt_batch_names(self._handle, names, capacity)
        return [each.decode() for each in names[: min(count, capacity)] if each]

    def part(self, name: str, rank: int) -> Tensor:
        """Of one of names(), what a rank has."""
        if not 0 <= rank < self.ranks:
            raise ValueError(f"rank {rank} is none of the batch's {self.ranks}")
        outer, inner = divmod(rank, self.inner)
        tensor, dim = self._get(name, outer)
        if dim < 0 or self.inner == 1:
            return tensor
        return tensor.chunk(self.inner, dim)[inner].contiguous()

    def whole(self, name: str) -> Tensor:
        """The padded tensor."""
        return self._get(name, _WHOLE)[0]

    def _get(self, name: str, rank: int) -> tuple[Tensor, int]:
        """With its dimension of tokens, -1 where it has none."""
        described = native.BatchTensor()

        def get(data: int | None, count: int) -> None:
            native.checked(
                lambda *text: native.runtime().cprt_batch_get(
                    self._handle,
                    name.encode(),
                    rank,
                    c.byref(described),
                    data,
                    count,
                    *text,
                )
            )

        get(None, 0)
        tensor = _made_as(described)
        get(tensor.data_ptr(), tensor.nbytes)
        return tensor, described.sequence_dim

    def gather(
        self, parts: Sequence[Tensor], dim: int = 1, *, keep_padding: bool = False
    ) -> Tensor:
        """One tensor of the batch's rows of the parts of all ranks, in their order, of
        which `dim` is that of tokens. Where there was no token it is 0."""
        if len(parts) != self.ranks:
            raise ValueError(f"expected {self.ranks} parts, but got {len(parts)}")
        outer = [
            torch.cat(list(parts[i : i + self.inner]), dim)
            for i in range(0, self.ranks, self.inner)
        ]
        held = [part.detach().cpu().contiguous() for part in outer]
        table = (native.BatchTensor * len(held))(
            *[_described(part, "", dim) for part in held]
        )
        described = native.BatchTensor()

        def gather(data: int | None, count: int) -> None:
            native.checked(
                lambda *text: native.runtime().cprt_batch_gather(
                    self._handle,
                    table,
                    int(keep_padding),
                    c.byref(described),
                    data,
                    count,
                    *text,
                )
            )

        gather(None, 0)
        tensor = _made_as(described)
        gather(tensor.data_ptr(), tensor.nbytes)
        return tensor.to(parts[0].device)


def _numbers_of(tensor: Tensor) -> Tensor:
    """Masks may be of truths."""
    return tensor.long() if tensor.dtype is torch.bool else tensor


def _described(tensor: Tensor, name: str, dim: int = 1) -> native.BatchTensor:
    if tensor.dtype not in _NUMBERS:
        raise TypeError(
            f"'{name}' is {tensor.dtype}, expected one of "
            f"{', '.join(map(str, _NUMBERS))}"
        )
    if tensor.dim() > native.BATCH_MAX_RANK:
        raise ValueError(
            f"'{name}' has {tensor.dim()} dimensions, expected at most "
            f"{native.BATCH_MAX_RANK}"
        )
    described = native.BatchTensor()
    described.name = name.encode()
    described.dtype = _NUMBERS[tensor.dtype]
    described.rank = tensor.dim()
    described.shape[: tensor.dim()] = list(tensor.shape)
    described.data = tensor.data_ptr()
    described.sequence_dim = dim
    return described


def _made_as(described: native.BatchTensor) -> Tensor:
    return torch.empty(
        described.shape[: described.rank], dtype=_DTYPES[described.dtype]
    )
