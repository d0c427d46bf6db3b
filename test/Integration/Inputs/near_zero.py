"""log1p and expm1 of numbers of all sizes.

usage: near_zero.py write|check FOLDER   in.safetensors and m.mlir, out.safetensors
"""

import math
import sys

import safetensors

SIZES = [s * m * 10.0 ** e for e in range(-38, 39) for m in (1, 1.7, 6.3) for s in (1, -1)]
X = [x for x in SIZES if -0.999 < x < 3e38] + [0.0, -0.0, 88.0, 89.5, -200.0, math.inf]
folder = sys.argv[2]
if sys.argv[1] == "write":
    safetensors.write(f"{folder}/in.safetensors", {"x": ([len(X)], X)})
    t = f"tensor<{len(X)}xf32>"
    wide = f"tensor<{len(X)}xf64>"
    names = ("log1p", "expm1", "log1p of f64", "expm1 of f64")
    named = ", ".join(f'{t} {{cp.name = "{name}"}}' for name in names)
    with open(f"{folder}/m.mlir", "w") as file:
        file.write(f'func.func @main(%x: {t} {{cp.name = "x"}}) -> ({named}) {{\n')
        file.write(f"  %a = math.log1p %x : {t}\n  %b = math.expm1 %x : {t}\n")
        file.write(f"  %x64 = arith.extf %x : {t} to {wide}\n")
        for op, name in (("log1p", "c"), ("expm1", "d")):
            file.write(f"  %{name}64 = math.{op} %x64 : {wide}\n")
            file.write(f"  %{name} = arith.truncf %{name}64 : {wide} to {t}\n")
        file.write(f"  return %a, %b, %c, %d : {t}, {t}, {t}, {t}\n}}\n")
    sys.exit()
X = safetensors.read(f"{folder}/in.safetensors")["x"][1]
found = safetensors.read(f"{folder}/out.safetensors")


def expm1(x):
    try:
        return math.expm1(x)
    except OverflowError:
        return math.inf


wrong = 0
for name, (_, ys) in found.items():
    exact = math.log1p if name.startswith("log1p") else expm1
    for x, y in zip(X, ys):
        if exact is math.log1p and x <= -1:
            continue
        expected = exact(x)
        if abs(expected) > 3.4028235e38:
            expected = math.copysign(math.inf, expected)
        # Subnormal numbers may be 0.
        near = 4e-7 * abs(expected) + 1.2e-38
        if y != expected and not abs(y - expected) <= near:
            wrong += 1
            print(f"{name}({x:g}) is {y:g}, expected {expected:g}")
print(f"{len(found) * len(X)} numbers, {wrong} of them wrong")
