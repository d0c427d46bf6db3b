"""Where programs have their tensors: the host's memory, or a card that torch has too.

On a card a program's calls run on a stream of their own, which is put in order with
torch's current one without the host, and its memory is of torch's caching allocator.
"""

from __future__ import annotations

import _thread
import contextlib
import ctypes as c
import functools
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import _native as native

if TYPE_CHECKING:
    import torch


log = logging.getLogger("cp_mlir")


@dataclass(frozen=True)
class Device:
    """A device by its plug-in's name, `libcprt_<kind>.so`; "cpu" is the host itself.
    `index` is which of torch's cards; 0 where torch has none of them."""

    kind: str = "cpu"
    index: int = 0

    def __str__(self) -> str:
        return f"{self.kind}:{self.index}" if self.is_card else self.kind

    @property
    def is_card(self) -> bool:
        """Whether tensors are there for torch too. The emulated device has memory of
        the host."""
        return self.kind == "cuda"

    @property
    def of_torch(self) -> torch.device:
        import torch

        return torch.device("cuda", self.index) if self.is_card else torch.device("cpu")

    def put_into(self, options: native.Options) -> None:
        """What a world of this process is made with. What it points to lives as long
        as the process."""
        if self.kind == "cpu":
            return
        options.device = c.pointer(_table(self.kind))
        if self.is_card:
            options.device_number = 1 + self.index
            options.allocator = c.pointer(_allocator(self.index))

    def entered(self) -> contextlib.AbstractContextManager[Any]:
        """While the plug-in is called, which makes its card the thread's current one:
        torch's is the same again behind it."""
        if not self.is_card:
            return contextlib.nullcontext()
        import torch

        return torch.cuda.device(self.index)

    def current_stream(self) -> int | None:
        """As libraries of the device call it; None for the default one."""
        import torch

        return torch.cuda.current_stream(self.index).cuda_stream or None


def device_of(named: str | torch.device | None) -> Device:
    """The device that a caller names: "cuda", torch's current card, or one by its
    number, "cuda:1"; "cpu" or None; "emulated", a card that the processor plays, for
    tests. Errors: ValueError for any other, and for a card that torch does not have."""
    kind, _, number = str(named or "cpu").partition(":")
    if kind not in ("cpu", "cuda", "emulated") or (number and not number.isdecimal()):
        raise ValueError(
            f"device must be 'cuda', 'cuda:N', 'cpu' or 'emulated', but is '{named}'"
        )
    if kind != "cuda":
        return Device(kind)
    import torch

    cards = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if cards == 0:
        raise ValueError(
            f"device is '{named}', but torch finds no card; install a build of torch "
            "for CUDA and NVIDIA's driver, or leave device out"
        )
    index = int(number) if number else torch.cuda.current_device()
    if index >= cards:
        raise ValueError(
            f"device is '{named}', but torch finds {cards} cards; the first is 'cuda:0'"
        )
    return Device(kind, index)


@functools.cache
def _table(kind: str) -> native.DeviceTable:
    """The plug-in's, opened once."""
    try:
        plug_in = native.plug_in(kind, "cprt_device_open", native.DeviceTable)
    except FileNotFoundError:
        raise ValueError(
            f"there is no device '{kind}' in this package: {native.missing(kind)}; "
            "build with CUDA's compiler (scripts/build.sh cuda), name its folder by "
            "CP_MLIR_BUILD, and install the package again"
        ) from None
    table = native.sized(native.DeviceTable)
    native.checked(lambda *text: plug_in(c.byref(table), *text))
    return table


@functools.cache
def _allocator(index: int) -> native.Allocator:
    """Of torch's caching allocator: what it keeps serves programs and torch alike."""
    import torch

    # An error that left a callback would be printed, and its result be anything.
    def allocate(_: Any, size: int, stream: int | None) -> int | None:
        try:
            return torch.cuda.caching_allocator_alloc(max(size, 1), index, stream or 0)
        except KeyboardInterrupt:
            _thread.interrupt_main()
        except Exception:
            log.exception("no %d bytes of torch's on cuda:%d", size, index)
        return None

    def release(_: Any, pointer: int, __: Any) -> None:
        try:
            torch.cuda.caching_allocator_delete(pointer)
        except KeyboardInterrupt:
            _thread.interrupt_main()

    made = native.sized(native.Allocator)
    made.allocate = native.ALLOCATE(allocate)
    made.release = native.RELEASE(release)
    return made
