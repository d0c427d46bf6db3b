"""The C interface by ctypes: structures of cprt.h and of the headers beside it, and
where the libraries are."""

from __future__ import annotations

import ctypes as c
import functools
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar


class CprtError(RuntimeError):
    """What the runtime says has gone wrong. `status` is a name of cprt_status, such
    as "CPRT_PEER_FAILED"; ranks that were not the cause get the text of the one
    that was."""

    def __init__(self, status: str, message: str) -> None:
        super().__init__(f"{status}: {message}")
        self.status = status


class DeviceTable(c.Structure):
    """A plug-in fills it in, and the runtime reads it: functions are theirs alone, and
    there is room for those that later plug-ins have."""

    _fields_ = (
        ("struct_size", c.c_size_t),
        ("state", c.c_void_p),
        ("name", c.c_char_p),
        ("is_host_memory", c.c_int32),
        ("functions", c.c_void_p * 64),
    )


# Memory of the caller's: (state, bytes, stream) -> block, (state, block, stream).
ALLOCATE = c.CFUNCTYPE(c.c_void_p, c.c_void_p, c.c_int64, c.c_void_p)
RELEASE = c.CFUNCTYPE(None, c.c_void_p, c.c_void_p, c.c_void_p)


class Allocator(c.Structure):
    _fields_ = (
        ("struct_size", c.c_size_t),
        ("state", c.c_void_p),
        ("allocate", ALLOCATE),
        ("release", RELEASE),
    )


class Options(c.Structure):
    _fields_ = (
        ("struct_size", c.c_size_t),
        ("num_axes", c.c_int32),
        ("axis_sizes", c.POINTER(c.c_int64)),
        ("deadline_ms", c.c_int64),
        ("kernels", c.c_int),
        ("threads", c.c_int64),
        ("device", c.POINTER(DeviceTable)),
        ("device_fallback", c.c_int32),
        ("device_number", c.c_int64),
        ("allocator", c.POINTER(Allocator)),
    )


class Cut(c.Structure):
    _fields_ = (
        ("dim", c.c_int32),
        ("axis", c.c_int32),
        ("order", c.c_int64),
        ("unit", c.c_int64),
    )


class Tensor(c.Structure):
    _fields_ = (
        ("name", c.c_char_p),
        ("dtype", c.c_int),
        ("role", c.c_int),
        ("rank", c.c_int32),
        ("num_cuts", c.c_int32),
        ("sizes", c.POINTER(c.c_int64)),
        ("local_sizes", c.POINTER(c.c_int64)),
        ("cuts", c.POINTER(Cut)),
        ("updates", c.c_char_p),
    )


class Entry(c.Structure):
    _fields_ = (
        ("name", c.c_char_p),
        ("run", c.CFUNCTYPE(None, c.c_void_p, c.c_void_p, c.POINTER(c.c_void_p))),
        ("num_arguments", c.c_int64),
        ("arguments", c.POINTER(Tensor)),
        ("num_results", c.c_int64),
        ("results", c.POINTER(Tensor)),
        ("arena_bytes", c.c_int64),
    )


class Program(c.Structure):
    _fields_ = (
        ("abi_major", c.c_uint16),
        ("abi_minor", c.c_uint16),
        ("num_axes", c.c_int32),
        ("axis_names", c.POINTER(c.c_char_p)),
        ("axis_sizes", c.POINTER(c.c_int64)),
        ("hash", c.c_uint64),
        ("num_entries", c.c_int64),
        ("entries", c.POINTER(Entry)),
    )


class Transport(c.Structure):
    """As of DeviceTable."""

    _fields_ = (
        ("struct_size", c.c_size_t),
        ("state", c.c_void_p),
        ("name", c.c_char_p),
        ("rank", c.c_int64),
        ("size", c.c_int64),
        ("functions", c.c_void_p * 64),
    )


class Job(c.Structure):
    _fields_ = (
        ("struct_size", c.c_size_t),
        ("rank", c.c_int64),
        ("address", c.c_char_p),
        ("token", c.c_char_p),
        ("program", c.c_uint64),
        ("local_ranks", c.c_int64),
        ("listener", c.c_int32),
        # As of DeviceTable.
        ("room", c.c_int64 * 32),
    )


class Counter(c.Structure):
    _fields_ = (
        ("op", c.c_char_p),
        ("axes", c.c_uint64),
        ("calls", c.c_int64),
        ("bytes_sent", c.c_int64),
        ("exposed_seconds", c.c_double),
    )


class Record(c.Structure):
    _fields_ = (
        ("op", c.c_char_p),
        ("axes", c.c_uint64),
        ("id", c.c_int64),
        ("number", c.c_int64),
        ("start", c.c_double),
        ("seconds", c.c_double),
        ("exposed_seconds", c.c_double),
        ("bytes_sent", c.c_int64),
        ("is_deferred", c.c_int32),
    )


HISTORY_LENGTH = 1024


class BatchOptions(c.Structure):
    _fields_ = (
        ("struct_size", c.c_size_t),
        ("ranks", c.c_int64),
        ("order", c.c_int),
        ("format", c.c_int),
        ("unit", c.c_int64),
        ("per_document", c.c_int32),
        ("pad_multiple", c.c_int64),
        ("length", c.c_int64),
        ("chunks", c.c_int64),
        ("documents", c.c_int64),
        ("padding_id", c.c_int64),
        ("sentinel", c.c_int64),
        ("shift_labels", c.c_int32),
    )


BATCH_MAX_RANK = 8


class BatchTensor(c.Structure):
    _fields_ = (
        ("name", c.c_char_p),
        ("dtype", c.c_int),
        ("rank", c.c_int32),
        ("shape", c.c_int64 * BATCH_MAX_RANK),
        ("data", c.c_void_p),
        ("sequence_dim", c.c_int32),
        ("fill", c.c_void_p),
    )


DTYPES = ("float32", "float64", "bfloat16", "int32", "int64")
CUT_TERMS = -1
ROLE_PARAMETER, ROLE_RESIDUAL = 1, 4
MESSAGE_BYTES = 1024


_Sized = TypeVar("_Sized", bound=c.Structure)


def sized(kind: type[_Sized]) -> _Sized:
    """One that says how large it is, and is zero otherwise."""
    made = kind()
    made.struct_size = c.sizeof(kind)  # type: ignore[attr-defined]
    return made


def folders() -> list[Path]:
    """Where libraries and tools may be: CP_MLIR_BUILD, a build's folder; what was
    installed with the package; the build beside the package's sources."""
    here = Path(__file__).resolve().parent
    named = os.environ.get("CP_MLIR_BUILD")
    builds = [Path(named)] if named else []
    candidates = [here / "native"]
    for build in [*builds, here.parent.parent / "build"]:
        candidates += [build / "lib", build / "bin"]
    if named:
        candidates = [*candidates[1:3], candidates[0]]
    return [folder for folder in candidates if folder.is_dir()]


def find(name: str) -> Path:
    """A library or tool by its file's name. FileNotFoundError, with where it was
    looked for."""
    for folder in folders():
        if (folder / name).exists():
            return folder / name
    looked = ", ".join(map(str, folders())) or "no folder at all"
    raise FileNotFoundError(
        f"cp_mlir: there is no {name} in {looked}; install the package from a build "
        "(scripts/build.sh, pip install ./python), or name the build's folder by "
        "CP_MLIR_BUILD"
    )


def plug_in(name: str, function: str, *structures: type[c.Structure]) -> Any:
    """What `libcprt_<name>.so` exports: a function of these structures, which it fills
    in, and of a message and its room. FileNotFoundError where there is no such file."""
    found = getattr(c.CDLL(str(find(f"libcprt_{name}.so"))), function)
    found.restype = c.c_int
    found.argtypes = [*map(c.POINTER, structures), c.c_char_p, c.c_size_t]
    return found


def missing(name: str) -> str:
    """Says that there is no such plug-in, and which ones there are."""
    there = sorted(
        file.stem.removeprefix("libcprt_")
        for folder in folders()
        for file in folder.glob("libcprt_*.so")
    )
    return f"no libcprt_{name}.so is there, but {', '.join(there) or 'none'}"


# Result and arguments of what is called.
_SIGNATURES: dict[str, tuple[Any, list[Any]]] = {
    "cprt_api_version": (c.c_uint32, []),
    "cprt_status_name": (c.c_char_p, [c.c_int]),
    "cprt_threads_create": (
        c.c_int,
        [c.POINTER(Options), c.POINTER(c.c_void_p), c.c_char_p, c.c_size_t],
    ),
    "cprt_messages_decline": (
        c.c_int,
        [c.POINTER(Job), c.c_int64, c.c_char_p, c.c_int64, c.c_char_p, c.c_size_t],
    ),
    "cprt_messages_create": (
        c.c_int,
        [
            c.POINTER(Options),
            c.POINTER(Job),
            c.POINTER(Transport),
            c.POINTER(c.c_void_p),
            c.c_char_p,
            c.c_size_t,
        ],
    ),
    "cprt_world_destroy": (None, [c.c_void_p]),
    "cprt_world_context": (c.c_void_p, [c.c_void_p, c.c_int64]),
    "cprt_context_status": (c.c_int, [c.c_void_p]),
    "cprt_context_message": (c.c_char_p, [c.c_void_p]),
    "cprt_context_fail": (None, [c.c_void_p, c.c_int, c.c_char_p]),
    "cprt_context_counters": (
        c.c_size_t,
        [c.c_void_p, c.POINTER(Counter), c.c_size_t],
    ),
    "cprt_context_reset_counters": (None, [c.c_void_p]),
    "cprt_context_history": (
        c.c_size_t,
        [c.c_void_p, c.POINTER(Record), c.c_size_t],
    ),
    "cprt_synchronize": (None, [c.c_void_p]),
    "cprt_run_after": (None, [c.c_void_p, c.c_void_p]),
    "cprt_run_before": (None, [c.c_void_p, c.c_void_p]),
    "cprt_program_check": (c.c_int, [c.POINTER(Program), c.c_char_p, c.c_size_t]),
    "cprt_tensor_split": (
        c.c_int,
        [
            c.POINTER(Program),
            c.POINTER(Tensor),
            c.c_int64,
            c.c_void_p,
            c.c_void_p,
        ],
    ),
    "cprt_tensor_join": (
        c.c_int,
        [
            c.POINTER(Program),
            c.POINTER(Tensor),
            c.c_int64,
            c.c_void_p,
            c.c_void_p,
        ],
    ),
    "cprt_batch_create": (
        c.c_int,
        [
            c.POINTER(BatchOptions),
            c.POINTER(BatchTensor),
            c.c_size_t,
            c.POINTER(c.c_void_p),
            c.c_char_p,
            c.c_size_t,
        ],
    ),
    "cprt_batch_destroy": (None, [c.c_void_p]),
    "cprt_batch_names": (
        c.c_size_t,
        [c.c_void_p, c.POINTER(c.c_char_p), c.c_size_t],
    ),
    "cprt_batch_get": (
        c.c_int,
        [
            c.c_void_p,
            c.c_char_p,
            c.c_int64,
            c.POINTER(BatchTensor),
            c.c_void_p,
            c.c_size_t,
            c.c_char_p,
            c.c_size_t,
        ],
    ),
    "cprt_batch_gather": (
        c.c_int,
        [
            c.c_void_p,
            c.POINTER(BatchTensor),
            c.c_int32,
            c.POINTER(BatchTensor),
            c.c_void_p,
            c.c_size_t,
            c.c_char_p,
            c.c_size_t,
        ],
    ),
}


@functools.cache
def runtime() -> c.CDLL:
    """libcprt. Its symbols are there for programs that are loaded later."""
    library = c.CDLL(str(find("libcprt.so")), mode=c.RTLD_GLOBAL)
    for name, (result, arguments) in _SIGNATURES.items():
        function = getattr(library, name)
        function.restype = result
        function.argtypes = arguments
    return library


def status_name(status: int) -> str:
    return runtime().cprt_status_name(status).decode()


def checked(call: Callable[[Any, int], int]) -> None:
    """call(message, capacity), which gives a status. CprtError with its text."""
    message = c.create_string_buffer(MESSAGE_BYTES)
    status = call(message, MESSAGE_BYTES)
    if status != 0:
        raise CprtError(status_name(status), message.value.decode(errors="replace"))
