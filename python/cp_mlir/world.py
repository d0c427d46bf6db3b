"""Ranks: the processes of a torch process group, with communicators of our own."""

from __future__ import annotations

import atexit
import contextlib
import ctypes as c
import itertools
import os
import secrets
import socket
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import _native as native
from . import failures, interrupts
from ._native import CprtError
from .devices import Device, device_of

if TYPE_CHECKING:
    import torch
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


@dataclass(frozen=True)
class CollectiveRecord:
    """One collective of a rank: the `number`th of its world, of the call `id` of its
    program. `start` is in seconds of a clock that the processes of a machine share;
    `seconds` is below 0 for one that has not ended. The rest as of CollectiveCount."""

    op: str
    axes: tuple[int, ...]
    id: int
    number: int
    start: float
    seconds: float
    exposed_seconds: float
    bytes_sent: int
    is_deferred: bool


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
        device: str | torch.device | None = None,
    ) -> None:
        """`sizes`: of the mesh's axes, major first. Ranks are those of `group`; of one
        rank it may be none. `transport` carries what they exchange: "ucx" without
        it, or what CP_MLIR_TRANSPORT names. `deadline` in seconds is how long a
        collective waits; `threads` are those of this rank's kernels, 0 for a share
        of the machine's processors. `device` is where programs have their tensors:
        "cuda" for torch's current card, or "cuda:1"; the host's memory without it.

        Errors: CprtError; ValueError for a group of another size than the mesh, and
        for a device that is not there.
        """
        """Among the worlds of this process, in the order in which they are made."""
        self.number = next(_numbers)
        """In seconds: how long ranks wait for each other."""
        self.deadline = deadline
        self.sizes = tuple(sizes)
        self.size = 1
        for each in sizes:
            self.size *= each
        self.rank = 0
        # Whether it has failed, and another is to take its place.
        self._is_spent = False
        # Whether a program's call is under way, as other threads see it.
        self.is_inside = False
        # Alone, one call at a time, of whatever thread; with others the order of calls
        # would be by chance.
        self._turn: Any = contextlib.nullcontext()
        # While it is looked at from elsewhere it is not made anew.
        self._swap = threading.Lock()
        # Of a call that failed on a device, which may still use them.
        self._abandoned: list[Any] = []
        self._handle = c.c_void_p()
        self._process = os.getpid()
        if self.size > 1:
            self.rank = _rank_in(group, self.size, self.sizes)
        self.device = Device()
        if not deadline > 0:
            raise ValueError(f"deadline must be more than 0 seconds, but is {deadline}")
        options = native.sized(native.Options)
        options.num_axes = len(self.sizes)
        axis_sizes = (c.c_int64 * len(self.sizes))(*self.sizes)
        options.axis_sizes = axis_sizes
        options.deadline_ms = max(1, int(deadline * 1000))
        options.threads = threads
        if self.size == 1:
            self._turn = threading.Lock()
            self._place_on(device, options)
            self._make_alone(options, axis_sizes)
        else:
            name = transport or os.environ.get("CP_MLIR_TRANSPORT") or "ucx"
            self._join(options, group, name, device)
        self.context: int = native.runtime().cprt_world_context(self._handle, self.rank)
        if self.size > 1:
            interrupts.watch(self)
            failures.watch(self)
        # Not when it is collected: ranks end it together, and rank 0 waits for them.
        self._end = atexit.register(self.close)

    def _make_alone(self, options: native.Options, axis_sizes: Any) -> None:
        self._options = options, axis_sizes
        with self.device.entered():
            native.checked(
                lambda *text: native.runtime().cprt_threads_create(
                    c.byref(options), c.byref(self._handle), *text
                )
            )

    def _make_anew(self) -> None:
        """After a failure of this rank, which is alone: nobody waits for it, and what
        failed had no part in what comes next. What a device has found stays."""
        if not self.context:
            return
        old, self._handle = self._handle, c.c_void_p()
        try:
            self._make_alone(*self._options)
        except BaseException:
            self._handle = old
            raise
        with self._swap:
            self.context = native.runtime().cprt_world_context(self._handle, self.rank)
            native.runtime().cprt_world_destroy(old)
        self._is_spent = False

    def _place_on(
        self, device: str | torch.device | None, options: native.Options
    ) -> None:
        self.device = device_of(device)
        self.device.put_into(options)

    def _join(
        self,
        options: native.Options,
        group: ProcessGroup | None,
        name: str,
        device: str | torch.device | None,
    ) -> None:
        plug_in = _open_plug_in(name)
        place, listener = _rendezvous(group, self.rank)
        transport, job = native.sized(native.Transport), native.sized(native.Job)
        transport.rank, transport.size = self.rank, self.size
        job.address = place.address.encode()
        job.token = place.token.encode()
        job.local_ranks = place.local_ranks
        job.listener = listener.detach() + 1 if listener else 0
        try:
            self._place_on(device, options)
            native.checked(
                lambda *text: plug_in(c.byref(transport), c.byref(job), *text)
            )
        except Exception as error:
            # The others are on their way, and would wait for this rank.
            job.struct_size, job.rank = native.Job.room.offset, self.rank
            native.runtime().cprt_messages_decline(
                c.byref(job),
                self.size,
                str(error).encode(),
                min(options.deadline_ms, 10_000),
                None,
                0,
            )
            raise
        with self.device.entered():
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
            self._is_spent = self.size == 1
            raise CprtError(
                native.status_name(status),
                runtime.cprt_context_message(self.context).decode(errors="replace"),
            )

    @property
    def has_failed(self) -> bool:
        """Whether this rank has: it does nothing any more."""
        runtime = native.runtime()
        with self._swap:
            return bool(self.context) and runtime.cprt_context_status(self.context) != 0

    def fail(self, text: str) -> None:
        """Tells the other ranks that this one has failed. Alone nobody waits, and a
        process that this one forked has no part in it."""
        if self.size > 1 and self.context and os.getpid() == self._process:
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
        with self._swap:
            count = native.runtime().cprt_context_counters(
                self.context, found, capacity
            )
        return [
            CollectiveCount(
                op=each.op.decode(),
                axes=_axes(each.axes),
                calls=each.calls,
                bytes_sent=each.bytes_sent,
                exposed_seconds=each.exposed_seconds,
            )
            for each in found[: min(count, capacity)]
        ]

    def reset_counts(self) -> None:
        with self._swap:
            native.runtime().cprt_context_reset_counters(self.context)

    def history(self) -> list[CollectiveRecord]:
        """The last collectives of this rank, at most 1024, whatever became of its
        counts. From any thread, also while a call is under way. Ranks that are alone
        in their group make none."""
        if not self.context:
            return []
        capacity = native.HISTORY_LENGTH
        found = (native.Record * capacity)()
        with self._swap:
            count = native.runtime().cprt_context_history(self.context, found, capacity)
        return [
            CollectiveRecord(
                op=each.op.decode(),
                axes=_axes(each.axes),
                id=each.id,
                number=each.number,
                start=each.start,
                seconds=each.seconds,
                exposed_seconds=each.exposed_seconds,
                bytes_sent=each.bytes_sent,
                is_deferred=bool(each.is_deferred),
            )
            for each in found[: min(count, capacity)]
        ]

    def run(self, entry: Any, pointers: Any, tensors: Any) -> None:
        """Calls a program's entry with torch's `tensors`, behind what its current
        stream has been given, and before what that is given next. CprtError for what
        has gone wrong by now: on a card a kernel may say so later (synchronize)."""
        with self._turn:
            if self.device.is_card:
                self._run_on_card(entry, pointers, tensors)
            else:
                if self._is_spent:
                    self._make_anew()
                self._run_here(entry, pointers)
            self.check()

    def _run_here(self, entry: Any, pointers: Any) -> None:
        self.is_inside = True
        try:
            entry(self.context, None, pointers)
        finally:
            self.is_inside = False

    def _run_on_card(self, entry: Any, pointers: Any, tensors: Any) -> None:
        import torch

        if torch.cuda.is_current_stream_capturing():
            raise RuntimeError(
                "a program waits for other ranks, which a CUDA graph cannot; leave it "
                "out of the graph (torch.compile does, by its tag)"
            )
        runtime, stream = native.runtime(), self.device.current_stream()
        is_whole = False
        with self.device.entered():
            try:
                runtime.cprt_run_after(self.context, stream)
                self._run_here(entry, pointers)
                is_whole = runtime.cprt_context_status(self.context) == 0
            finally:
                runtime.cprt_run_before(self.context, stream)
                if not is_whole:
                    self._abandoned.append(tensors)

    def synchronize(self) -> None:
        """Waits for what this rank's programs have begun on a device. CprtError for
        what has gone wrong in it."""
        with self.device.entered():
            native.runtime().cprt_synchronize(self.context)
        self.check()

    def close(self) -> None:
        """Ends it, which all ranks do, in one order: rank 0 waits for the others. It
        is done when the process exits, if not before. Nothing can be called on it any
        more."""
        # A process that this one forked has no part in it.
        if self.context and os.getpid() == self._process:
            self.context = 0
            atexit.unregister(self._end)
            with self.device.entered():
                native.runtime().cprt_world_destroy(self._handle)
            self._abandoned.clear()


_shared: dict[tuple[Any, ...], World] = {}


def shared_world(
    sizes: Sequence[int],
    group: ProcessGroup | None = None,
    *,
    transport: str | None = None,
    deadline: float = 60.0,
    threads: int = 0,
    device: str | torch.device | None = None,
) -> World:
    """The world of a group on a mesh of these sizes, made by the first who asks. It
    lives until the process exits, or until its ranks have failed: the next who asks
    gets another one then (a rank alone goes on with the next call)."""
    # By the caller's word for the device, which is the same on all ranks.
    word = str(device or "cpu")
    key = (group, tuple(sizes), transport, deadline, threads, word)
    world = _shared.get(key)
    if world is not None and world.size > 1 and _is_over(world, group):
        world = None
    if world is None or not world.context:
        world = World(
            sizes,
            group,
            transport=transport,
            deadline=deadline,
            threads=threads,
            device=device,
        )
        _shared[key] = world
    return world


def _is_over(world: World, group: ProcessGroup | None) -> bool:
    """Whether some rank's has failed, or was closed: they decide together."""
    import torch.distributed as dist

    over: list[Any] = [None] * world.size
    mine = not world.context or world.has_failed
    dist.all_gather_object(over, mine, group=group)
    return any(over)


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


def _axes(mask: int) -> tuple[int, ...]:
    return tuple(i for i in range(64) if mask >> i & 1)


def _open_plug_in(name: str) -> Any:
    try:
        return native.plug_in(name, "cprt_transport_open", native.Transport, native.Job)
    except FileNotFoundError:
        raise ValueError(
            f"there is no transport '{name}': {native.missing(name)}. Name one by "
            "transport= or CP_MLIR_TRANSPORT, or install UCX (libucx-dev) and build "
            "again"
        ) from None


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
