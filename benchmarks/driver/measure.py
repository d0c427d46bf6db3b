# Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Asks all parts of a case in turn."""

import dataclasses
import statistics
import sys
import time

# Threads of OpenMP may spin for 0.2 s after their work.
PAUSE = 0.3
# A part that takes longer than SLOW seconds is asked so often only.
SLOW, SLOW_ROUNDS = 8, 3


@dataclasses.dataclass
class Measured:
    """Medians by part, what the parts say of themselves, and the peaks."""

    seconds: dict
    labels: dict
    peaks: dict
    all_seconds: dict
    # The roof of the case's buffers, in each round.
    roofs: list


def say(text):
    print(f"bench: {text}", file=sys.stderr, flush=True)


def measure(case, workers, rounds, peaks):
    """Raises processes.Failure when a part does not answer."""
    seconds = {label: [] for label in case.parts}
    labels, roofs = {}, []
    for number in range(rounds):
        for label, (worker, question) in case.parts.items():
            taken = seconds[label]
            if len(taken) >= SLOW_ROUNDS and taken[0] > SLOW:
                continue
            if number == 0:
                # Buffers are made, variants tried and programs compiled.
                say(f"{case.name}: {label}")
                workers[worker].ask(question)
                time.sleep(PAUSE)
            value, labels[label] = workers[worker].ask(question)
            taken.append(value)
            time.sleep(PAUSE)
        if case.roof:
            worker, question = case.roof
            roofs.append(workers[worker].ask(question)[0])
    if roofs:
        labels["roof"] = f"{min(roofs) / 1e9:.0f} to {max(roofs) / 1e9:.0f} GB/s"
    medians = {label: statistics.median(taken) for label, taken in seconds.items()}
    return Measured(medians, labels, peaks, seconds, roofs)


def ask_peaks(ours, cores, peaks):
    """Peaks of this moment; the best of all moments is kept in `peaks`."""
    for row in ("fma-f32", "fma-bf16", "copy"):
        try:
            value, _ = ours.ask(f"{row} threads={cores}")
        except Exception as error:
            if row != "fma-bf16":
                raise
            # A processor without products of bf16 works in f32.
            value = peaks["fma-f32"]
        peaks[row] = max(value, peaks.get(row, 0))
    return peaks
