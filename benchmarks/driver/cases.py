# Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What is measured together, and what is asked of it."""

import dataclasses
import json
import statistics
from typing import Callable


@dataclasses.dataclass
class Row:
    """One line of the table: a number made of medians, and its goal."""

    name: str
    against: str
    # The label of the part whose seconds are "ours".
    ours: str
    # From Measured to a number; higher is better unless at_most.
    value: Callable
    goal: float
    unit: str = "x"
    at_most: bool = False
    # What the parts were measured in: seconds, or a relative error.
    kind: str = "seconds"


@dataclasses.dataclass
class Case:
    """Parts are timed alternately, each a label with a worker and a question."""

    name: str
    parts: dict
    rows: list
    # What parts can reach at most, by label: a worker and questions, of which the
    # first that is answered counts. Asked before and behind the part in each round.
    roofs: dict = dataclasses.field(default_factory=dict)


def share(label, work):
    """How much of its roof (operations or bytes a second) a part reaches. How fast
    a shared machine is changes within seconds, so each round counts with the roof
    of that round."""
    return lambda m: statistics.median(
        work / seconds / roof * 100
        for seconds, roof in zip(m.all_seconds[label], m.roofs[label])
    )


def fma(dtype, cores):
    """A processor without products of bf16 works in f32."""
    kinds = ("f32",) if dtype == "f32" else ("bf16", "f32")
    return "ours", [f"fma-{kind} threads={cores}" for kind in kinds]


def ratio(label, *others):
    """How many times faster than the fastest of the others."""
    return lambda m: min(m.seconds[other] for other in others) / m.seconds[label]


# The scan is counted in its chunked form with tiles of so many tokens, without
# the pairs that the mask drops.
TILE = 64


def ssd_operations(length, heads, size=64, state=128, groups=1):
    by_head = 4 * size * state + size * (TILE + 1)
    return length * (heads * by_head + groups * state * (TILE + 1))


def ssd(cores):
    heads = 128
    for length in (2048, 8192):
        shape = f"heads={heads} length={length}"
        name = f"ssd-{length}"
        yield Case(
            name,
            {
                "f32": ("ours", f"ssd {shape} threads={cores}"),
                "bf16": ("ours", f"ssd {shape} dtype=bf16 threads={cores}"),
                "halves": ("ours", f"ssd_halves {shape} threads={cores}"),
                "torch": ("torch", f"ssd {shape}"),
            },
            [
                Row(
                    f"{name}-f32-peak", "FMA peak", "f32",
                    share("f32", ssd_operations(length, heads)), 70, "%",
                ),
                Row(f"{name}-f32-torch", "torch", "f32", ratio("f32", "torch"), 4),
                Row(f"{name}-bf16", "f32", "bf16", ratio("bf16", "f32"), 1.5),
                Row(f"{name}-halves", "f32", "halves", ratio("halves", "f32"), 0.6),
            ],
            {"f32": fma("f32", cores)},
        )


def gemm(cores):
    for label, n, k in (
        ("130m-in", 3352, 768),
        ("130m-out", 768, 1536),
        ("2.7b-in", 10576, 2560),
        ("2.7b-out", 2560, 5120),
    ):
        shape, work = f"m=2048 n={n} k={k}", 2 * 2048 * n * k
        parts, rows = {}, []
        for dtype in ("f32", "bf16"):
            parts[dtype] = ("ours", f"matmul {shape} dtype={dtype} threads={cores}")
            parts[f"torch {dtype}"] = ("torch", f"matmul {shape} dtype={dtype}")
            name = f"gemm-{label}-{dtype}"
            rows += [
                Row(name, f"FMA peak {dtype}", dtype, share(dtype, work), 80, "%"),
                Row(f"{name}-torch", "torch", dtype, ratio(dtype, f"torch {dtype}"), 1),
            ]
        roofs = {dtype: fma(dtype, cores) for dtype in ("f32", "bf16")}
        yield Case(f"gemm-{label}", parts, rows, roofs)


def attention(cores):
    heads, size = 16, 128
    for length in (2048, 4096):
        shape = f"heads={heads} length={length} size={size}"
        work = 4 * size * heads * length * (length + 1) / 2
        peak = share("ours", work)
        best = ratio("ours", "torch", "onnxruntime")

        # Either goal will do, each as a share of itself.
        def either(m, peak=peak, best=best):
            return max(best(m) / 1.3, peak(m) / 75)

        name = f"attention-{length}"
        yield Case(
            name,
            {
                "ours": ("ours", f"attention {shape} threads={cores}"),
                "torch": ("torch", f"attention {shape}"),
                "onnxruntime": ("onnxruntime", f"attention {shape}"),
            },
            [
                Row(
                    name, "1.3 x best peer, or 75 % of FMA peak", "ours",
                    either, 1, "of goal",
                )
            ],
            {"ours": fma("f32", cores)},
        )


def conv1d(cores):
    length, channels = 8192, 5376
    shape = f"length={length} channels={channels}"
    yield Case(
        "conv1d",
        {
            "ours": ("ours", f"conv1d {shape} threads={cores}"),
            "torch": ("torch", f"conv1d {shape}"),
            "onnxruntime": ("onnxruntime", f"conv1d {shape}"),
        },
        [
            Row(
                "conv1d-copy", "copy bandwidth", "ours",
                share("ours", 2 * 4 * length * channels), 85, "%",
            ),
            Row(
                "conv1d-peers", "best peer", "ours",
                ratio("ours", "torch", "onnxruntime"), 2,
            ),
        ],
        {"ours": ("ours", [f"conv1d {shape} threads={cores} measure=copy"])},
    )


def rms_norm(cores):
    length, channels = 8192, 5120
    question = f"rms_norm length={length} channels={channels} threads={cores}"
    yield Case(
        "rms_norm",
        {"ours": ("ours", question)},
        [
            Row(
                "rms_norm-copy", "copy bandwidth", "ours",
                share("ours", 3 * 4 * length * channels), 80, "%",
            )
        ],
        {"ours": ("ours", [f"{question} measure=copy"])},
    )


def ssd_step(cores):
    """Forward and backward: of each head and token 4NP + QP and 10NP + 2QP."""
    length, heads, size, state = 2048, 128, 64, 128
    shape = f"heads={heads} length={length}"
    work = ssd_operations(length, heads) + 2 * length * heads * (
        5 * size * state + size * (TILE + 1)
    )
    best, peak = ratio("ours", "torch"), share("ours", work)
    yield Case(
        "ssd-step",
        {
            "ours": ("ours", f"ssd_step {shape} threads={cores}"),
            "torch": ("torch", f"ssd_step {shape}"),
        },
        [
            Row(
                "ssd-step", "2.8 x torch, or 60 % of FMA peak", "ours",
                lambda m: max(best(m) / 2.8, peak(m) / 60), 1, "of goal",
            )
        ],
        {"ours": fma("f32", cores)},
    )


def attention_step(cores):
    heads, size, length = 16, 128, 2048
    shape = f"heads={heads} length={length} size={size}"
    # Two products forward and five backward.
    work = 14 * size * heads * length * (length + 1) / 2
    best, peak = ratio("ours", "torch"), share("ours", work)
    yield Case(
        "attention-step",
        {
            "ours": ("ours", f"attention_step {shape} threads={cores}"),
            "torch": ("torch", f"attention_step {shape}"),
        },
        [
            Row(
                "attention-step", "1.3 x torch, or 65 % of FMA peak", "ours",
                lambda m: max(best(m) / 1.3, peak(m) / 65), 1, "of goal",
            )
        ],
        {"ours": fma("f32", cores)},
    )


def packed(cores):
    """What documents cost: one beside a row without places, and many beside as many
    elements of the batch, which see as many pairs."""
    for op, shape in (
        ("conv1d", "length=8192 channels=5376"),
        ("ssd", "length=8192 heads=24"),
        ("attention", "length=8192 heads=4 size=64"),
    ):
        question = f"{op} {shape} threads={cores}"
        yield Case(
            f"packed-{op}",
            {
                "one document": ("ours", f"{question} documents=1"),
                "without": ("ours", question),
            },
            [
                Row(
                    f"packed-{op}-one", "the same without places", "one document",
                    lambda m: m.seconds["one document"] / m.seconds["without"],
                    1.02, "x time", at_most=True,
                )
            ],
        )
    heads = f"heads=4 size=64 threads={cores}"
    yield Case(
        "packed-documents",
        {
            "64 documents": ("ours", f"attention length=131072 documents=64 {heads}"),
            "batch of 64": ("ours", f"attention length=2048 batch=64 {heads}"),
        },
        [
            Row(
                "packed-attention-64", "64 elements of the batch", "64 documents",
                lambda m: m.seconds["64 documents"] / m.seconds["batch of 64"],
                1.2, "x time", at_most=True,
            )
        ],
    )


def gradients(cores):
    for label, n, k in (("130m-in", 3352, 768), ("130m-out", 768, 1536)):
        shape = f"m=2048 n={n} k={k}"
        yield Case(
            f"weight-grad-{label}",
            {
                "ours": ("ours", f"weight_grad {shape} threads={cores}"),
                "torch": ("torch", f"weight_grad {shape}"),
            },
            [Row(f"weight-grad-{label}", "torch", "ours", ratio("ours", "torch"), 1)],
        )
    # What is read and written: x and dy, and dx; and the gate and its gradient.
    for op, channels, tensors in (("conv1d", 5376, 3), ("rms_norm", 5120, 5)):
        shape = f"length=8192 channels={channels}"
        yield Case(
            f"{op}-grad",
            {"ours": ("ours", f"{op}_grad {shape} threads={cores}")},
            [
                Row(
                    f"{op}-grad-copy", "copy bandwidth", "ours",
                    share("ours", tensors * 4 * 8192 * channels), 75, "%",
                )
            ],
            {"ours": ("ours", [f"{op} {shape} threads={cores} measure=copy"])},
        )


def step(cores, config):
    question = f"step config={config} tokens=1024"
    yield Case(
        "mamba2-130m-step",
        {
            "ours": ("ours", f"{question} threads={cores}"),
            "ranks": ("ours", f"{question} ranks={cores} threads=1"),
            "scan replaced": ("torch", f"{question} scan=batched"),
            "released": ("released", f"{question} scan=released"),
        },
        [
            Row(
                "mamba2-130m-step-released", "transformers as released", "ours",
                ratio("ours", "released"), 4,
            ),
            Row(
                "mamba2-130m-step-batched", "transformers, batched scan", "ours",
                ratio("ours", "scan replaced"), 1.2,
            ),
            Row(
                "mamba2-130m-step-ranks", f"1 rank of {cores} threads", "ranks",
                lambda m: ratio("ranks", "ours")(m) * 100, 93, "%",
            ),
        ],
    )


def exchange(cores):
    for name, size, goal, iterations in (
        ("64KiB", 65536, 2.5, 500),
        ("1MiB", 1 << 20, 2, 100),
    ):
        question = f"all_to_all bytes={size} ranks=2 rounds=11 iterations={iterations}"
        yield Case(
            f"exchange-{name}",
            {"ours": ("ours", question), "Open MPI": ("mpi", question)},
            [
                Row(
                    f"exchange-{name}", "Open MPI, shared memory", "ours",
                    ratio("ours", "Open MPI"), goal,
                )
            ],
        )


def transports(cores):
    """Between processes of one machine: what the runtime adds to the library that
    carries its messages, and to what a job without MPI would take."""
    for label, ours, peer, other, goal in (
        ("openmpi", "ours over Open MPI", "mpi", "MPI_Alltoall", 1.25),
        ("ucx", "ours over UCX", "gloo", "gloo", 1.5),
    ):
        for name, size, iterations in (("64KiB", 65536, 200), ("1MiB", 1 << 20, 50)):
            question = f"all_to_all bytes={size} ranks=2 rounds=11 iterations={iterations}"
            yield Case(
                f"{label}-{name}",
                {"ours": (ours, question), other: (peer, question)},
                [
                    Row(
                        f"{label}-{name}", other, "ours",
                        lambda m, other=other: m.seconds["ours"] / m.seconds[other],
                        goal, "x time", at_most=True,
                    )
                ],
            )


MIXER = "mixer tokens=65536 hidden=768 steps=3"


def threads(cores):
    yield Case(
        "threads",
        {
            "1 thread": ("ours", f"{MIXER} threads=1"),
            f"{cores} threads": ("ours", f"{MIXER} threads={cores}"),
        },
        [
            Row(
                "mixer-threads", "1 rank of 1 thread", f"{cores} threads",
                ratio(f"{cores} threads", "1 thread"), 1.85 * cores / 2,
            )
        ],
    )


def ranks(cores):
    yield Case(
        "ranks",
        {
            "1 rank": ("ours", f"{MIXER} threads={cores}"),
            "ranks": ("ours", f"{MIXER} ranks={cores} threads=1"),
        },
        [
            Row(
                "mixer-ranks", f"1 rank of {cores} threads", "ranks",
                lambda m: ratio("ranks", "1 rank")(m) * 100, 93, "%",
            )
        ],
    )
    yield Case(
        "many-ranks",
        {
            "few": ("ours", f"{MIXER} ranks={cores} threads=1"),
            "many": ("ours", f"{MIXER} ranks={4 * cores} threads=1"),
        },
        [
            Row(
                "mixer-many-ranks", f"{cores} ranks, same work", "many",
                lambda m: m.seconds["many"] / m.seconds["few"], 1.25, "x time",
                at_most=True,
            )
        ],
    )


def dispatch(cores):
    layers = 64
    tiny = f"mixer tokens=1 hidden=8 head_size=8 heads=2 state=4 layers={layers} steps=300"
    yield Case(
        "dispatch",
        {"ours": ("ours", tiny)},
        [
            Row(
                "dispatch", "-", "ours",
                lambda m: m.seconds["ours"] / layers * 1e6, 10, "us a layer",
                at_most=True,
            )
        ],
    )


def model_operations(config, length):
    """Of mamba2-130m's kind: what is multiplied by weights, the logits included.
    Scans do not count, of which each library does another amount of work."""
    with open(config) as file:
        c = json.load(file)
    width, heads, size = c["hidden_size"], c["num_heads"], c["head_dim"]
    state, groups = c["state_size"], c["n_groups"]
    inner = heads * size
    columns = 2 * inner + 2 * groups * state + heads
    columns = c["num_hidden_layers"] * (columns + inner) + c["vocab_size"]
    return 2 * length * width * columns


def model(cores, config):
    length = 2048
    question = f"model config={config} tokens={length}"
    yield Case(
        "mamba2-130m",
        {
            "ours": ("ours", f"{question} threads={cores}"),
            "scan replaced": ("torch", f"{question} scan=batched"),
            "released": ("released", f"{question} scan=released"),
        },
        [
            Row(
                "mamba2-130m-peak", "FMA peak", "ours",
                share("ours", model_operations(config, length)), 78, "%",
            ),
            Row(
                "mamba2-130m-released", "transformers as released", "ours",
                ratio("ours", "released"), 20,
            ),
            Row(
                "mamba2-130m-batched", "transformers, batched scan", "ours",
                ratio("ours", "scan replaced"), 2,
            ),
        ],
        {"ours": fma("f32", cores)},
    )


def all_cases(cores, config):
    for make in (
        ssd, gemm, attention, conv1d, rms_norm, packed, ssd_step, attention_step,
        gradients, exchange, transports, threads, ranks, dispatch,
    ):
        yield from make(cores)
    yield from model(cores, config)
    yield from step(cores, config)
