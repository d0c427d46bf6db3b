"""Times our passes beside upstream's canonicalize and cse on the same file.

usage: scripts/pass_time.py [BUILD_DIR]

Imports mamba2-130m with so many layers that the decomposed file has about 1e4 and
1e5 ops of the cp dialect, and prints what --mlir-timing says, verification after
each pass included on both sides, and then without it on both. A ratio is to
canonicalize and cse, "all" that of the sharding and the lowering passes. Exits
with 1 when the sharding passes take more than 4 times as long, or grow faster than
size^1.1, verification included.
"""

import json
import math
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
MOST_RATIO, MOST_SLOPE = 4.0, 1.1
LAYERS = (1667, 16667)
REPEATS = 3
UPSTREAM = {"Canonicalizer", "CSE"}
SHARDING = {"Decompose", "AssignLayouts", "SimplifyReshards", "VerifyLayouts",
            "Partition", "LowerReshards", "MergeExchanges", "ExplainCollectives"}
LOWERING = {"ConvertToCalls", "PrepareEntry", "PlanMemory", "OutlineKernels",
            "ApproximateMath", "ConvertToRuntime"}
# Upstream's bufferization, between them, takes all memory of a small machine
# with more.
MOST_LOWERED = 1667


def seconds(command, names, verify):
    """The sum over the passes of these names, each of which must be seen."""
    run = subprocess.run([*map(str, command), "--mlir-disable-threading",
                          "--mlir-timing", f"--verify-each={int(verify)}"],
                         check=True, capture_output=True, text=True)
    total, seen = 0.0, set()
    for time, name in re.findall(r"^\s*([\d.]+) \([^)]*\)\s+(\w+)$", run.stderr,
                                 re.MULTILINE):
        if name in names:
            total += float(time)
            seen.add(name)
    if seen != names:
        raise SystemExit(f"no times of {sorted(names - seen)} in the report")
    return total


def decomposed(build, folder, layers):
    config = json.loads((ROOT / "examples/mamba2-130m/config.json").read_text())
    config["num_hidden_layers"] = layers
    path = folder / f"{layers}.json"
    path.write_text(json.dumps(config))
    model, out = path.with_suffix(".mlir"), folder / f"{layers}-decomposed.mlir"
    subprocess.run([build / "bin/cp-translate", "--import-hf", path, "-o", model],
                   check=True, stderr=subprocess.DEVNULL)
    subprocess.run([build / "bin/cp-opt", "--cp-decompose", model, "-o", out],
                   check=True)
    return out


def measure(build, folder, strategy, layers, file, verify=True):
    cp_opt = build / "bin/cp-opt"
    local = folder / f"{layers}-{strategy}.mlir"
    own = upstream = lowering = math.inf
    # Alternating, so that all see the same machine; the best of each.
    for _ in range(REPEATS):
        own = min(own, seconds(
            [cp_opt, f"--cp-shard-pipeline=mesh=cp=4 mixer={strategy}", file, "-o",
             local], SHARDING, verify))
        upstream = min(upstream, seconds(
            [cp_opt, "--canonicalize", "--cse", file, "-o", "/dev/null"], UPSTREAM,
            verify))
        if layers <= MOST_LOWERED:
            lowering = min(lowering, seconds(
                [cp_opt, "--cp-lower-pipeline", local, "-o", "/dev/null"], LOWERING,
                verify))
    ops = len(re.findall(r" = cp\.\w+ ", file.read_text()))
    both = "" if math.isinf(lowering) else (
        f"{lowering:9.3f} {(own + lowering) / upstream:6.2f}")
    print(f"{strategy:10} {ops:7} {'yes' if verify else 'no':>6} {upstream:10.3f} "
          f"{own:9.3f} {own / upstream:6.2f} {both}", flush=True)
    return ops, own, own / upstream


def main():
    build = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build")
    passed = True
    print("seconds     cp ops verify  canon+cse  sharding  ratio  lowering    all")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        files = {layers: decomposed(build, folder, layers) for layers in LAYERS}
        for strategy in ("hidden", "sequence"):
            rows = [measure(build, folder, strategy, layers, files[layers])
                    for layers in LAYERS]
            (small, first, _), (large, last, _) = rows
            slope = math.log(last / first) / math.log(large / small)
            good = slope <= MOST_SLOPE and all(r <= MOST_RATIO for _, _, r in rows)
            passed &= good
            print(f"{strategy:10} slope {slope:.2f}  {'pass' if good else 'short'}")
            measure(build, folder, strategy, LAYERS[0], files[LAYERS[0]], verify=False)
    sys.exit(0 if passed else 1)


main()
