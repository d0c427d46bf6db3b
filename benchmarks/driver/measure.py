# Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Asks all parts of a case in turn."""

import dataclasses
import statistics
import sys
import time

import processes

# Threads of OpenMP may spin for 0.2 s after their work.
PAUSE = 0.3
# A part that takes longer than SLOW seconds is asked so often only.
SLOW, SLOW_ROUNDS = 8, 3


@dataclasses.dataclass
class Measured:
    """Medians by part, and what the parts say of themselves."""

    seconds: dict
    labels: dict
    all_seconds: dict
    # The roofs of parts that have one, in each round.
    roofs: dict


def say(text):
    print(f"bench: {text}", file=sys.stderr, flush=True)


def ask_roof(workers, roof):
    """The first answer."""
    worker, questions = roof
    for question in questions[:-1]:
        try:
            return workers[worker].ask(question)[0]
        except processes.Failure:
            pass
    return workers[worker].ask(questions[-1])[0]


def ask_part(case, label, workers):
    """Seconds, what the part says of itself, and its roof, of which the higher of
    those before and behind it counts; None without one."""
    worker, question = case.parts[label]
    roof = case.roofs.get(label)
    before = roof and ask_roof(workers, roof)
    value, text = workers[worker].ask(question)
    return value, text, roof and max(before, ask_roof(workers, roof))


def measure(case, workers, rounds):
    """Raises processes.Failure when a part does not answer."""
    seconds = {label: [] for label in case.parts}
    labels, roofs = {}, {label: [] for label in case.roofs}
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
            value, labels[label], roof = ask_part(case, label, workers)
            taken.append(value)
            if roof:
                roofs[label].append(roof)
            time.sleep(PAUSE)
    medians = {label: statistics.median(taken) for label, taken in seconds.items()}
    return Measured(medians, labels, seconds, roofs)


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
