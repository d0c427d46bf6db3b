"""Runs programs whose values share buffers, or would, and compares what comes out
with what they say.

usage: aliases.py FOLDER
"""

import array
import os
import subprocess
import sys

import safetensors

F3, F4, F6 = "tensor<3xf32>", "tensor<4xf32>", "tensor<6xf32>"
X32, W24, H34 = "tensor<3x2xf32>", "tensor<2x4xf32>", "tensor<3x4xf32>"

# Name, body of the function behind its arguments, inputs, and results.
PROGRAMS = [
    (
        "a kernel of an op that has a buffer twice serves one that has two",
        f"""%e = tensor.empty() : {F3}
        %0 = linalg.mul ins(%a, %a : {F3}, {F3}) outs(%e : {F3}) -> {F3}
        %1 = linalg.mul ins(%a, %b : {F3}, {F3}) outs(%e : {F3}) -> {F3}""",
        {"a": (F3, [2] * 3), "b": (F3, [5] * 3)},
        {"%0": (F3, [4] * 3), "%1": (F3, [10] * 3)},
    ),
    (
        "what a sum begins with is a result behind it",
        f"""%0 = math.absf %i : tensor<f32>
        %1 = linalg.reduce {{arith.addf}} ins(%x : {F4}) outs(%0 : tensor<f32>)
            dimensions = [0]""",
        {"x": (F4, [1, 2, 3, 4]), "i": ("tensor<f32>", [100])},
        {"%1": ("tensor<f32>", [110]), "%0": ("tensor<f32>", [100])},
    ),
    (
        "a product is added to a residual that is a result too",
        f"""%0 = math.absf %h : {H34}
        %1 = linalg.matmul ins(%x, %w : {X32}, {W24}) outs(%0 : {H34}) -> {H34}""",
        {"x": (X32, [1] * 6), "w": (W24, [2] * 8), "h": (H34, [-7] * 12)},
        {"%1": (H34, [11] * 12), "%0": (H34, [7] * 12)},
    ),
    (
        "a view of what is written over",
        f"""%0 = math.absf %h : {F6}
        %1 = tensor.expand_shape %0 [[0, 1]] output_shape [3, 2]
            : {F6} into {X32}
        %2 = tensor.insert_slice %x into %0[0] [4] [1] : {F4} into {F6}""",
        {"x": (F4, [9] * 4), "h": (F6, [-1, -2, -3, -4, -5, -6])},
        {"%2": (F6, [9, 9, 9, 9, 5, 6]), "%1": (X32, [1, 2, 3, 4, 5, 6])},
    ),
    (
        "an old value is read behind the first op of the new one",
        f"""%one = arith.constant dense<1.0> : {F6}
        %0 = math.absf %h : {F6}
        %1 = arith.addf %m, %one : {F6}
        %2 = tensor.insert_slice %x into %0[0] [4] [1] : {F4} into {F6}""",
        {"x": (F4, [9] * 4), "h": (F6, [-1, -2, -3, -4, -5, -6]), "m": (F6, [100] * 6)},
        {"%2 updates m": (F6, [9, 9, 9, 9, 5, 6]), "%1": (F6, [101] * 6)},
    ),
    (
        "a sum of more terms than f32 counts",
        """%zero = arith.constant dense<0.0> : tensor<f32>
        %0 = linalg.reduce {arith.addf} ins(%x : tensor<20000000xf32>)
            outs(%zero : tensor<f32>) dimensions = [0]""",
        {"x": ("tensor<20000000xf32>", array.array("f", [1]) * 20000000)},
        {"%0": ("tensor<f32>", [20000000])},
    ),
]


def module(body, inputs, results):
    arguments = ", ".join(
        f'%{name}: {kind} {{cp.name = "{name}"}}' for name, (kind, _) in inputs.items()
    )
    types = []
    for i, (result, (kind, _)) in enumerate(results.items()):
        updates = result.partition(" updates ")[2]
        more = f', cp.updates = "{updates}"' if updates else ""
        types.append(f'{kind} {{cp.name = "r{i}"{more}}}')
    values = ", ".join(result.split()[0] for result in results)
    kinds = ", ".join(kind for kind, _ in results.values())
    return f"""func.func @main({arguments}) -> ({", ".join(types)}) {{
        {body}
        return {values} : {kinds}
    }}"""


def shape_of(kind):
    return [int(size) for size in kind[len("tensor<") : -len(">")].split("x")[:-1]]


def run(folder, text, *flags):
    path = os.path.join(folder, "program.mlir")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return subprocess.run(
        ["cp-run", "--quiet", path, *flags], capture_output=True, text=True, check=False
    )


def expect_results(folder):
    inputs_at, outputs_at = (os.path.join(folder, f"{n}.safetensors") for n in ("in", "out"))
    for name, body, inputs, results in PROGRAMS:
        safetensors.write(
            inputs_at,
            {key: (shape_of(kind), values) for key, (kind, values) in inputs.items()},
        )
        done = run(
            folder,
            module(body, inputs, results),
            "--inputs=" + inputs_at,
            "--outputs=" + outputs_at,
        )
        if done.returncode:
            sys.exit(f"{name}: {done.stderr}")
        got = safetensors.read(outputs_at)
        for i, (_, want) in enumerate(results.values()):
            values = list(got[f"r{i}"][1])
            if values != [float(value) for value in want]:
                sys.exit(f"{name}: r{i} is {values}, expected {want}")
        print("right:", name)


def expect_refusals(folder):
    """Old values that are read where the new ones are."""
    swap = module("", {"a": (F3, 0), "b": (F3, 0)}, {"%b updates a": (F3, 0), "%a": (F3, 0)})
    norm = f"{{eps = 1.0e-5 : f64, groups = 1 : i64, gate_first = true}} : ({F3}, {F3}) -> {F3}"
    reads = [f"%h0 = cp.rms_norm %x weight(%a) {norm}", f"%n = cp.rms_norm %h0 weight(%x) {norm}"]
    reads += [f"%h{i} = cp.rms_norm %h{i - 1} weight(%a) {norm}" for i in range(1, 80)]
    many = module(
        "\n".join(reads),
        {"x": (F3, 0), "a": (F3, 0)},
        {"%n updates a": (F3, 0), "%h79": (F3, 0)},
    )
    for name, text in (("a swap", swap), ("many reads", many)):
        done = run(folder, text)
        if done.returncode != 1 or "entry_c3" not in done.stderr:
            sys.exit(f"{name}: {done.returncode} {done.stderr}")
        print("refused:", name)


expect_results(sys.argv[1])
expect_refusals(sys.argv[1])
