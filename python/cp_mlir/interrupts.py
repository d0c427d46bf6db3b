"""Ctrl-C ends a wait for another rank. Python's handlers run when a call returns, and
what a rank waits for may never come."""

from __future__ import annotations

import os
import signal
import socket
import threading
import weakref
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .world import World

_worlds: weakref.WeakSet[World] = weakref.WeakSet()
_process: int | None = None


def watch(world: World) -> None:
    """From now on a SIGINT while a call of the world is under way makes it fail, and
    Python's own handler, KeyboardInterrupt, comes next. Does nothing where something
    else is told of signals (signal.set_wakeup_fd), and outside of the main thread."""
    global _process
    _worlds.add(world)
    if _process == os.getpid():
        return
    heard, told = socket.socketpair()
    told.setblocking(False)
    try:
        before = signal.set_wakeup_fd(told.fileno(), warn_on_full_buffer=False)
    except ValueError:
        return
    if before != -1:
        signal.set_wakeup_fd(before)
        return
    _process = os.getpid()
    told.detach()
    threading.Thread(target=_listen, args=(heard,), daemon=True).start()


def _listen(heard: socket.socket) -> None:
    while numbers := heard.recv(64):
        if signal.SIGINT in numbers:
            for world in list(_worlds):
                if world.is_inside:
                    world.fail("interrupted by a signal while it waited")
