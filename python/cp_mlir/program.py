"""A compiled program as a file: what it takes and gives."""

from __future__ import annotations

import ctypes as c
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from . import _native as native
from ._native import CprtError


@dataclass(frozen=True)
class Cut:
    """Of a dimension over an axis of the mesh; `order` and `unit` as of cprt_cut."""

    dim: int
    axis: int
    order: int
    unit: int


@dataclass(frozen=True)
class TensorSpec:
    """An argument or a result of an entry: of the whole, and of a rank's part."""

    name: str
    """As of torch: "float32", "bfloat16", "int64"."""
    dtype: str
    shape: tuple[int, ...]
    local_shape: tuple[int, ...]
    is_parameter: bool
    is_residual: bool
    """Axes of the mesh along which each rank has a term of the sum that this is."""
    terms: frozenset[int]
    """By dimension, and for one major to minor."""
    cuts: tuple[Cut, ...]


@dataclass(frozen=True)
class Entry:
    name: str
    arguments: tuple[TensorSpec, ...]
    results: tuple[TensorSpec, ...]
    arena_bytes: int


def _spec(tensor: native.Tensor) -> TensorSpec:
    cuts = [tensor.cuts[i] for i in range(tensor.num_cuts)]
    return TensorSpec(
        name=tensor.name.decode(),
        dtype=native.DTYPES[tensor.dtype],
        shape=tuple(tensor.sizes[i] for i in range(tensor.rank)),
        local_shape=tuple(tensor.local_sizes[i] for i in range(tensor.rank)),
        is_parameter=tensor.role == native.ROLE_PARAMETER,
        is_residual=tensor.role == native.ROLE_RESIDUAL,
        terms=frozenset(cut.axis for cut in cuts if cut.dim == native.CUT_TERMS),
        cuts=tuple(
            Cut(cut.dim, cut.axis, cut.order, cut.unit)
            for cut in cuts
            if cut.dim != native.CUT_TERMS
        ),
    )


class Program:
    """What `cp-compile` wrote. It stays loaded as long as the process, as
    all shared libraries with code do.

    Errors: OSError for a file that is no library, ValueError for one that is no
    program, or that updates its arguments in place, as steps of an optimizer do;
    CprtError for one of an interface that this runtime does not have.
    """

    def __init__(self, path: str | Path) -> None:
        runtime = native.runtime()
        self.path = Path(path).resolve()
        library = c.CDLL(str(self.path))
        try:
            get = library.cp_program
        except AttributeError:
            raise ValueError(
                f"{path} is a shared library, but no program of cp-mlir: it has no "
                "function cp_program; give a file that cp-compile wrote"
            ) from None
        get.restype = c.POINTER(native.Program)
        self.table = get()
        native.checked(lambda *text: runtime.cprt_program_check(self.table, *text))
        table = self.table.contents
        self.axes: dict[str, int] = {
            table.axis_names[i].decode(): table.axis_sizes[i]
            for i in range(table.num_axes)
        }
        self.hash: int = table.hash
        self.entries = tuple(
            Entry(
                name=entry.name.decode(),
                arguments=tuple(
                    _spec(entry.arguments[i]) for i in range(entry.num_arguments)
                ),
                results=tuple(
                    _spec(entry.results[i]) for i in range(entry.num_results)
                ),
                arena_bytes=entry.arena_bytes,
            )
            for entry in (table.entries[i] for i in range(table.num_entries))
        )
        for i, entry in enumerate(self.entries):
            raw = table.entries[i]
            for j in range(raw.num_results):
                if raw.results[j].updates:
                    raise ValueError(
                        f"{path}: '{entry.name}' is a step of training, which updates "
                        f"'{raw.results[j].updates.decode()}' in place; run it by "
                        "cp-train, or compile the model without an optimizer"
                    )

    @property
    def size(self) -> int:
        """How many ranks."""
        ranks = 1
        for size in self.axes.values():
            ranks *= size
        return ranks

    @cached_property
    def has_backward(self) -> bool:
        """Whether forward and backward are two entries (`cp-compile --vjp`)."""
        return len(self.entries) == 2 and self.entries[1].name.endswith("_backward")

    def split(
        self, entry: int, argument: int, rank: int, whole: int, part: int
    ) -> None:
        """Copies what `rank` has of an argument, from an address to another."""
        tensor = self.table.contents.entries[entry].arguments[argument]
        self._copied(
            native.runtime().cprt_tensor_split(
                self.table, c.byref(tensor), rank, whole, part
            ),
            tensor,
        )

    def join(self, entry: int, result: int, rank: int, part: int, whole: int) -> None:
        """Copies the part of a result that `rank` has to its place in the whole."""
        tensor = self.table.contents.entries[entry].results[result]
        self._copied(
            native.runtime().cprt_tensor_join(
                self.table, c.byref(tensor), rank, part, whole
            ),
            tensor,
        )

    def _copied(self, status: int, tensor: native.Tensor) -> None:
        if status != 0:
            raise CprtError(
                native.status_name(status),
                f"'{tensor.name.decode()}' cannot be cut or joined",
            )
