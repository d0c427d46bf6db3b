"""A link between two network namespaces that delays, and loses frames.

usage: slow_link.py SPACE ADDRESS SPACE ADDRESS DELAY_MS LOSS SEED

Makes a device `link1` in each namespace, of that address, and carries what one sends to
the other: each frame DELAY_MS later, but for a share of LOSS of them, drawn from SEED.
Says "ready", and goes on until it is ended; the devices go with it. Needs root. The
kernel's own netem does the same where there is one.
"""

import ctypes
import fcntl
import heapq
import os
import random
import select
import struct
import subprocess
import sys
import time

TUNSETIFF = 0x400454CA
IFF_TAP, IFF_NO_PI = 0x0002, 0x1000
CLONE_NEWNET = 0x40000000
LONGEST_FRAME = 65536

libc = ctypes.CDLL(None, use_errno=True)


def enter(space):
    """This thread's network is that of the open namespace from now on."""
    if libc.setns(space, CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "setns")


def open_tap(space, address):
    """The frames of a new device in a namespace."""
    own = os.open("/proc/self/ns/net", os.O_RDONLY)
    other = os.open(f"/run/netns/{space}", os.O_RDONLY)
    enter(other)
    try:
        tap = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        fcntl.ioctl(tap, TUNSETIFF, struct.pack("16sH22x", b"link1", IFF_TAP | IFF_NO_PI))
    finally:
        enter(own)
        os.close(own)
        os.close(other)
    for command in (["address", "add", address, "dev", "link1"], ["link", "set", "link1", "up"]):
        subprocess.run(["ip", "-n", space, *command], check=True)
    return tap


def carry(taps, delay, loss, draw):
    """For ever: what comes from either goes to the other in time."""
    waiting, num_frames = [], 0
    while True:
        wait = max(waiting[0][0] - time.monotonic(), 0) if waiting else None
        ready, _, _ = select.select(taps, [], [], wait)
        now = time.monotonic()
        for tap in ready:
            frame = os.read(tap, LONGEST_FRAME)
            num_frames += 1
            if draw() >= loss:
                to = taps[1] if tap == taps[0] else taps[0]
                heapq.heappush(waiting, (now + delay, num_frames, to, frame))
        while waiting and waiting[0][0] <= now:
            _, _, to, frame = heapq.heappop(waiting)
            try:
                os.write(to, frame)
            except OSError:
                pass  # A full queue, or an end that is down, loses frames.


if __name__ == "__main__":
    first, first_address, second, second_address, delay, loss, seed = sys.argv[1:]
    ends = [open_tap(first, first_address), open_tap(second, second_address)]
    print("ready", flush=True)
    carry(ends, float(delay) / 1000, float(loss), random.Random(int(seed)).random)
