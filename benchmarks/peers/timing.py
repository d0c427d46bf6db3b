# Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Seconds of one call, measured as benchmarks/worker/Timing.h does."""

import statistics
import time


def seconds_of(call, once=False):
    """Warms up by one call, then calls for a twentieth of a second: the median.

    once: of calls that take many seconds, that are warm from the last time and
    do not gain from a call just before.
    """
    if not once:
        call()
    seconds, start = [], time.perf_counter()
    last = start
    while not seconds or last - start < 0.05:
        call()
        now = time.perf_counter()
        seconds.append(now - last)
        last = now
    return statistics.median(seconds)
