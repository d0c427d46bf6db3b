#!/usr/bin/env python3
# Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""That cp-bench-worker answers every row, and names what it has when asked for
what it has not. usage: test_worker.py WORKER CONFIG"""

import math
import pathlib
import random
import struct
import subprocess
import sys
import tempfile

import cases

# Small shapes: what is asked is that there is an answer.
ROWS = [
    "matmul m=33 n=48 k=20 threads=2",
    "matmul m=33 n=48 k=20 dtype=bf16",
    "conv1d length=50 channels=40",
    "rms_norm length=20 channels=64 threads=2",
    "ssd length=70 heads=3 dtype=bf16 threads=2",
    "ssd_halves length=70 heads=3 threads=2",
    "attention length=40 heads=2 size=16",
    "conv1d length=50 channels=40 documents=5",
    "ssd length=70 heads=3 documents=200",
    "attention length=40 heads=2 size=16 batch=2 documents=3",
    "all_to_all bytes=4096 ranks=3 rounds=2 iterations=3",
    "mixer tokens=64 hidden=16 head_size=8 state=8 layers=2 ranks=2 threads=1",
    "mixer tokens=64 hidden=16 head_size=8 state=8 ranks=2 strategy=hidden",
    "ssd_step length=70 heads=3 threads=2",
    "attention_step length=40 heads=2 size=16",
    "weight_grad m=33 n=48 k=20",
    "conv1d_grad length=50 channels=40",
    "ssd_step length=70 heads=3 dtype=bf16",
    "rms_norm_grad length=20 channels=64 threads=2",
    "copy threads=2 megabytes=1",
    "fma-f32",
]
ERRORS = {
    "nope": "there are: all_to_all, attention, attention_step, conv1d",
    "": "a question starts with the name of a row",
    "ssd length=0": "length must be a whole number from 1 on, but is '0'",
    "ssd length=8 tokens=8": "ssd has no setting 'tokens'; it has: documents, dtype, heads",
    "ssd length": "KEY=VALUE",
    "conv1d dtype=f16": "dtype must be f32 or bf16, but is 'f16'",
    "evaluate op=sort": "op must be the row of a kernel or ssd_halves, but is 'sort'",
    "evaluate_grad op=sort": "op must be attention, conv1d, rms_norm or ssd, but is 'sort'",
}


def ask(worker, questions):
    done = subprocess.run(
        [worker], input="\n".join(questions) + "\n", stdout=subprocess.PIPE, text=True
    )
    answers = done.stdout.splitlines()
    assert len(answers) == len(questions), f"{len(answers)} answers to {len(questions)}"
    return dict(zip(questions, answers))


def check_rows(worker, config):
    rows = [*ROWS, f"step config={config} tokens=8 ranks=2 threads=1"]
    for question, answer in ask(worker, rows).items():
        number = float(answer.split()[0])
        assert 0 < number < math.inf, f"{question}: {answer}"


def check_errors(worker):
    for question, answer in ask(worker, list(ERRORS)).items():
        wanted = ERRORS[question]
        assert answer.startswith("error: ") and wanted in answer, f"{question}: {answer}"


def check_evaluate(worker):
    """[1, 2; 3, 4] times the transpose of [5, 6; 7, 8]."""
    with tempfile.TemporaryDirectory() as folder:
        for number, values in enumerate(((1, 2, 3, 4), (5, 6, 7, 8))):
            pathlib.Path(folder, f"in{number}").write_bytes(struct.pack("4f", *values))
        question = f"evaluate op=matmul m=2 n=2 k=2 dir={folder}"
        assert ask(worker, [question])[question] == "4"
        found = struct.unpack("4f", pathlib.Path(folder, "out0").read_bytes())
    assert found == (17, 23, 39, 53), found


def check_gradients(worker):
    """Silu has slope 1/2 at 0: of dy = (1, 3), by a last tap of 2, x gets itself, and
    the bias half its sum."""
    inputs = ((0, 0), (0, 0, 0, 2), (0,), (1, 3))
    for dtype in ("f32", "bf16"):
        with tempfile.TemporaryDirectory() as folder:
            for number, values in enumerate(inputs):
                data = struct.pack(f"{len(values)}f", *values)
                pathlib.Path(folder, f"in{number}").write_bytes(data)
            question = f"evaluate_grad op=conv1d length=2 channels=1 dtype={dtype} dir={folder}"
            assert ask(worker, [question])[question] == "7"
            data = b"".join(pathlib.Path(folder, f"out{i}").read_bytes() for i in range(3))
        found = struct.unpack("7f", data)
        worst = max(abs(a - b) for a, b in zip(found, (1, 3, 0, 0, 0, 0, 2)))
        assert worst < 1e-6, found


def check_halves(worker):
    """A scan in two parts gives what it gives in one."""
    length, heads, size, state = 70, 2, 64, 128
    random.seed(1)
    counts = [length * heads * size, length * heads, heads,
              length * state, length * state, heads, heads]
    results = []
    with tempfile.TemporaryDirectory() as folder:
        for number, count in enumerate(counts):
            values = [random.uniform(-1, 1) for _ in range(count)]
            pathlib.Path(folder, f"in{number}").write_bytes(struct.pack(f"{count}f", *values))
        for op in ("ssd", "ssd_halves"):
            question = f"evaluate op={op} length={length} heads={heads} dir={folder}"
            assert float(ask(worker, [question])[question]) > 0
            data = pathlib.Path(folder, "out0").read_bytes()
            results.append(struct.unpack(f"{len(data) // 4}f", data))
    whole, halves = results
    worst = max(abs(a - b) for a, b in zip(whole, halves))
    assert worst < 1e-5 * max(map(abs, whole)), worst


def check_cases(worker, config):
    """The driver asks for no row that the worker does not have."""
    rows = ask(worker, ["nope"])["nope"].partition("there are: ")[2].split(", ")
    for case in cases.all_cases(2, config):
        for label, (process, question) in case.parts.items():
            assert process != "ours" or question.split()[0] in rows, question
        for row in case.rows:
            assert row.ours in case.parts, row


def main():
    worker, config = sys.argv[1:]
    check_rows(worker, config)
    check_errors(worker)
    check_evaluate(worker)
    check_gradients(worker)
    check_halves(worker)
    check_cases(worker, config)


if __name__ == "__main__":
    main()
