"""Ranks: the processes of a torch process group, with communicators of our own."""

from __future__ import annotations

import atexit
import ctypes as c
import itertools
import os
import secrets
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import _native as native
from . import interrupts
from ._native import CprtError

if TYPE_CHECKING:
    from torch.distributed import ProcessGroup


_numbers = itertools.count()


@dataclass(frozen=True)
class CollectiveCount:
    """What one kind of collective has moved: `bytes_sent` from this rank to others,
    which did nothing else for `exposed_seconds`."""

    op: str
    axes: tuple[int, ...]
    calls: int
    bytes_sent: int
    exposed_seconds: float


class World:
    """This process's place among ranks on a mesh. Made by all of them together."""

    def __init__(
        self,
        sizes: Sequence[int],
        group: ProcessGroup | None = None,
        *,
        transport: str | None = None,
        deadline: float = 60.0,
        threads: int = 0,
    ) -> None:
        """`sizes`: of the mesh's axes, major first. Ranks are those of `group`; of one
        rank it may be none. `transport` carries what they exchange: "ucx" without
        it, or what CP_MLIR_TRANSPORT names. `deadline` in seconds is how long a
        collective waits; `threads` are those of this rank's kernels, 0 for a share
        of the machine's processors.

        Errors: CprtError; ValueError for a group of another size than the mesh.
        """
        """Among the worlds of this process, in the order in which they are made."""
        self.number = next(_numbers)
        self.sizes = tuple(sizes)
        self.size = 1
        for each in sizes:
            self.size *= each
        self.rank = 0
        # Whether a program's call is under way, as other threads see it.
        self.is_inside = False
        self._handle = c.c_void_p()
        self._process = os.getpid()
        if self.size > 1:
            self.rank = _rank_in(group, self.size, self.sizes)
        options = native.Options()
        options.struct_size = c.sizeof(options)
        options.num_axes = len(self.sizes)
        axis_sizes = (c.c_int64 * len(self.sizes))(*self.sizes)
        options.axis_sizes = axis_sizes
        options.deadline_ms = max(1, int(deadline * 1000))
        options.threads = threads
        if self.size == 1:
            native.checked(
                lambda *text: native.runtime().cprt_threads_create(
                    c.byref(options), c.byref(self._handle), *text
                )
            )
        else:
            name = transport or os.environ.get("CP_MLIR_TRANSPORT") or "ucx"
            self._join(options, group, name)
            interrupts.watch(self)
        self.context: int = native.runtime().cprt_world_context(self._handle, self.rank)
        # Not when it is collected: ranks end it together, and rank 0 waits for them.
        self._end = atexit.register(self.close)

    def _join(
        self, options: native.Options, group: ProcessGroup | None, name: str
    ) -> None:
        plug_in = _open_plug_in(name)
        place, listener = _rendezvous(group, self.rank)
        transport, job = native.Transport(), native.Job()
        transport.rank, transport.size = self.rank, self.size
        job.address = place.address.encode()
        job.token = place.token.encode()
        job.local_ranks = place.local_ranks
        job.listener = listener.detach() + 1 if listener else 0
        try:
            native.checked(
                lambda *text: plug_in(c.byref(transport), c.byref(job), *text)
            )
        except native.CprtError as error:
            # The others are on their way, and would wait for this rank.
            job.struct_size, job.rank = native.Job.room.offset, self.rank
            native.runtime().cprt_messages_decline(
                c.byref(job), self.size, str(error).encode(), 0, None, 0
            )
            raise
        for struct in (transport, job):
            assert struct.struct_size <= c.sizeof(struct), "it has written past it"
        native.checked(
            lambda *text: native.runtime().cprt_messages_create(
                c.byref(options),
                c.byref(job),
                c.byref(transport),
                c.byref(self._handle),
                *text,
            )
        )

    def check(self) -> None:
        """CprtError, with its text, once this rank has failed."""
        runtime = native.runtime()
        status = runtime.cprt_context_status(self.context)
        if status != 0:
            raise CprtError(
                native.status_name(status),
                runtime.cprt_context_message(self.context).decode(errors="replace"),
            )

    def fail(self, text: str) -> None:
        """Tells the other ranks that this one has failed. Alone nobody waits."""
        if self.size > 1 and self.context:
            native.runtime().cprt_context_fail(self.context, 1, text.encode())

    def coordinate(self, axis: int) -> int:
        """Of this rank along an axis of the mesh."""
        inner = 1
        for size in self.sizes[axis + 1 :]:
            inner *= size
        return self.rank // inner % self.sizes[axis]

    def counts(self) -> list[CollectiveCount]:
        """What travelled since the last reset_counts()."""
        capacity = 64
        found = (native.Counter * capacity)()
        count = native.runtime().cprt_context_counters(self.context, found, capacity)
        return [
            CollectiveCount(
                op=each.op.decode(),
                axes=tuple(i for i in range(64) if each.axes >> i & 1),
                calls=each.calls,
                bytes_sent=each.bytes_sent,
                exposed_seconds=each.exposed_seconds,
            )
            for each in found[: min(count, capacity)]
        ]

    def reset_counts(self) -> None:
        native.runtime().cprt_context_reset_counters(self.context)

    def close(self) -> None:
        """Ends it, which all ranks do, in one order: rank 0 waits for the others. It
        is done when the process exits, if not before. Nothing can be called on it any
        more."""
        # A process that this one forked has no part in it.
        if self.context and os.getpid() == self._process:
            self.context = 0
            atexit.unregister(self._end)
            native.runtime().cprt_world_destroy(self._handle)


_shared: dict[tuple[Any, ...], World] = {}


def shared_world(
    sizes: Sequence[int],
    group: ProcessGroup | None = None,
    *,
    transport: str | None = None,
    deadline: float = 60.0,
    threads: int = 0,
) -> World:
    """The world of a group on a mesh of these sizes, made by the first who asks. It
    lives until the process exits."""
    key = (group, tuple(sizes), transport, deadline, threads)
    world = _shared.get(key)
    if world is None or not world.context:
        world = World(
            sizes, group, transport=transport, deadline=deadline, threads=threads
        )
        _shared[key] = world
    return world


def _rank_in(group: ProcessGroup | None, size: int, sizes: tuple[int, ...]) -> int:
    import torch.distributed as dist

    if not dist.is_initialized():
        raise ValueError(
            f"the mesh {sizes} has {size} ranks, but this process is alone; start "
            f"{size} processes by torchrun and call "
            "torch.distributed.init_process_group() first"
        )
    there = dist.get_world_size(group)
    if there != size:
        raise ValueError(
            f"the mesh {sizes} has {size} ranks, but the process group has {there}; "
            "compile for as many, or give another group"
        )
    rank = dist.get_rank(group)
    if rank < 0:
        raise ValueError("this process is not in the group that it was given")
    return rank


def _open_plug_in(name: str) -> Any:
    try:
        path = native.find(f"libcprt_{name}.so")
    except FileNotFoundError:
        there = sorted(
            file.stem.removeprefix("libcprt_")
            for folder in native.folders()
            for file in folder.glob("libcprt_*.so")
        )
        raise ValueError(
            f"there is no transport '{name}'; there are {', '.join(there) or 'none'}. "
            "Name one by transport= or CP_MLIR_TRANSPORT, or install UCX "
            "(libucx-dev) and build again"
        ) from None
    function = c.CDLL(str(path)).cprt_transport_open
    function.restype = c.c_int
    function.argtypes = [
        c.POINTER(native.Transport),
        c.POINTER(native.Job),
        c.c_char_p,
        c.c_size_t,
    ]
    return function


@dataclass(frozen=True)
class _Place:
    address: str
    token: str
    local_ranks: int


def _rendezvous(
    group: ProcessGroup | None, rank: int
) -> tuple[_Place, socket.socket | None]:
    """Where rank 0 listens, told to all ranks of the group by torch."""
    import torch.distributed as dist

    size = dist.get_world_size(group)
    hosts: list[str] = [""] * size
    dist.all_gather_object(hosts, socket.gethostname(), group=group)
    listener = None
    told: list[Any] = [None]
    if rank == 0:
        is_local = len(set(hosts)) == 1
        host = "127.0.0.1" if is_local else os.environ.get("CP_MLIR_HOST", hosts[0])
        listener = socket.create_server(
            ("127.0.0.1" if is_local else "", 0), backlog=size
        )
        told = [(f"{host}:{listener.getsockname()[1]}", secrets.token_hex(16))]
    first = dist.get_global_rank(group, 0) if group is not None else 0
    dist.broadcast_object_list(told, src=first, group=group)
    address, token = told[0]
    return _Place(address, token, hosts.count(hosts[rank])), listener
