"""An error that nobody catches is told to the other ranks at once: they would wait
until this process has ended, and then know no more than that."""

from __future__ import annotations

import sys
import weakref
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .world import World

_worlds: weakref.WeakSet[World] = weakref.WeakSet()


def watch(world: World) -> None:
    """From now on such an error of the main thread makes the world fail, with its text,
    before what handled it so far (sys.excepthook) does so."""
    is_first = not _worlds
    _worlds.add(world)
    if not is_first:
        return
    before = sys.excepthook

    def tell(
        kind: type[BaseException], error: BaseException, trace: TracebackType | None
    ) -> None:
        # At a prompt it is nobody's end.
        for each in [] if hasattr(sys, "ps1") else list(_worlds):
            each.fail(f"its program ends with {kind.__name__}: {error}")
        before(kind, error, trace)

    sys.excepthook = tell
