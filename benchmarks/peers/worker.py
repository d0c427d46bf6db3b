#!/usr/bin/env python3
# Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Answers the benchmarks' questions with what a peer needs for the same work.

usage: worker.py torch|onnxruntime

Reads questions from standard input, one a line, as cp-bench-worker does, and
answers each by one line: seconds of one call and the variant that gave them, or
"error: " and why there are none. The first time that a question comes, all
variants of the peer are tried and the fastest is kept.
"""

import importlib
import os
import sys
import time

from timing import seconds_of

ROWS = {
    "torch": ["torch_kernels", "torch_ssd", "torch_model", "torch_gradients"],
    "onnxruntime": ["onnx_kernels"],
}

# Questions whose buffers stay; a case has fewer of one peer.
MOST_KEPT = 4


class Chosen:
    """The fastest variant of each question."""

    def __init__(self, rows):
        self.rows = rows
        self.kept = {}

    def ask(self, line):
        name, *words = line.split()
        if name not in self.rows:
            raise ValueError(
                f"there is no row '{name}'; there are: {', '.join(sorted(self.rows))}"
            )
        if line not in self.kept:
            if len(self.kept) == MOST_KEPT:
                del self.kept[next(iter(self.kept))]
            self.kept[line] = self.choose(name, dict(w.split("=") for w in words))
        label, call, once = self.kept[line]
        return seconds_of(call, once), label

    def choose(self, name, settings):
        best, failures = None, []
        for label, make in self.rows[name](settings):
            try:
                call = make()
                call()
                start = time.perf_counter()
                call()
                first = time.perf_counter() - start
                once = first > 5
                seconds = first if once else seconds_of(call, False)
            except Exception as error:  # a variant that this release lacks
                failures.append(f"{label}: {error}".splitlines()[0])
                continue
            print(f"{name}: {label} {seconds:.6g} s", file=sys.stderr, flush=True)
            if best is None or seconds < best[0]:
                best = (seconds, label, call, once)
        for failure in failures:
            print(f"{name}: left out: {failure}", file=sys.stderr, flush=True)
        if best is None:
            raise RuntimeError("no variant runs: " + "; ".join(failures))
        return best[1:]


def main():
    # Whatever else the libraries print goes to standard error.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    rows = {}
    for module in ROWS[sys.argv[1]]:
        rows.update(importlib.import_module(module).ROWS)
    chosen = Chosen(rows)
    for line in sys.stdin:
        try:
            seconds, label = chosen.ask(line.strip())
            print(f"{seconds:.9g} {label}", file=answers, flush=True)
        except Exception as error:
            print("error: " + " ".join(str(error).split()), file=answers, flush=True)


if __name__ == "__main__":
    main()
