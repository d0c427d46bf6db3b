# Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows of rounding: distance from f64, ours beside PyTorch's."""

import dataclasses

from measure import Measured, say
from cases import Row

SHAPES = {
    "ssd": "length=1024 heads=8",
    "ssd_halves": "length=1024 heads=8",
    "conv1d": "length=1024 channels=512",
    "rms_norm": "length=1024 channels=1536",
    "attention": "length=512 heads=4 size=128",
    "matmul": "m=256 n=768 k=1536",
}
# Of the gradients by all inputs.
GRADIENTS = {
    "ssd": "length=1024 heads=8",
    "conv1d": "length=1024 channels=512",
    "rms_norm": "length=1024 channels=1536",
    "attention": "length=512 heads=4 size=128",
}


@dataclasses.dataclass
class Accuracy:
    """A case that is measured once: rounding does not depend on the moment."""

    name: str
    question: str
    rows: list
    # Of which words the workers' commands are.
    kind: str = ""


def all_cases():
    for kind, shapes in (("", SHAPES), ("_grad", GRADIENTS)):
        yield from cases_of(kind, shapes)


def cases_of(kind, shapes):
    for op, shape in shapes.items():
        for dtype in ("f32", "bf16"):
            # Both sides may do nothing but round the exact result, and then differ
            # by a few elements on the border: two digits are compared.
            row = Row(
                f"accuracy-{(op + kind).replace('_', '-')}-{dtype}",
                "PyTorch, relative L2 against f64", "ours",
                lambda m: round(m.seconds["torch"] / m.seconds["ours"], 2), 1,
                kind="error",
            )
            yield Accuracy(row.name, f"op={op} dtype={dtype} {shape}", [row], kind)


def measure(case, workers, folder):
    """The errors stand where other cases have seconds."""
    say(case.name)
    question = f"{case.question} dir={folder}"
    workers["accuracy"].ask(f"draw{case.kind} {question}")
    workers["ours"].ask(f"evaluate{case.kind} {question}")
    ours, rest = workers["accuracy"].ask(f"compare{case.kind} {question}")
    theirs, label = rest.split()
    errors = {"ours": ours, "torch": float(theirs)}
    return Measured(errors, {"ours": "", "torch": label}, {}, {})
