"""Prints the table of scripts/demo.sh from the reports in a folder; exits 1 where a
sharded run in f32 is farther from f64 than 1.5 times one rank."""

import json
import pathlib
import sys

LAYERS = 24
# Of what one rank is off by in f32; below NEGLIGIBLE all is well.
LARGEST_RATIO, NEGLIGIBLE = 1.5, 2.5e-7


def load(folder, dtype, name):
    return json.loads((folder / f"{dtype}-{name}.json").read_text())


def row(folder, name, label):
    f32, f64 = load(folder, "f32", name), load(folder, "f64", name)
    sent = [0] * f32["ranks"]
    calls = 0
    for count in f32["collectives"]:
        calls += count["calls"]
        for rank, number in enumerate(count["bytes_sent_per_rank"]):
            sent[rank] += number
    errors = [r["check"]["rel_l2"] if "check" in r else None for r in (f32, f64)]
    shown = ["-" if e is None else "0 (bitwise)" if e == 0 else f"{e:.1e}"
             for e in errors]
    return [label, str(f32["ranks"]), f"{calls / LAYERS:g}", f"{max(sent) / 1e6:.2f}",
            *shown, f"{f32['compile_seconds']:.2f}", f"{min(f32['run_seconds']):.2f}"]


def error_of(folder, name):
    return load(folder, "f32", name)["check"]["rel_l2"]


def check(folder):
    allowed = max(LARGEST_RATIO * error_of(folder, "one"), NEGLIGIBLE)
    for name in ("hidden", "sequence"):
        if not error_of(folder, name) <= allowed:
            sys.exit(f"demo: in f32 {name} is {error_of(folder, name):.2e} from f64, "
                     f"expected at most {allowed:.2e}, by what one rank is off; "
                     "look for a form of a kernel that rounds more than its siblings")


def main():
    folder = pathlib.Path(sys.argv[1])
    rows = [
        ["strategy", "ranks", "exchanges a layer", "MB sent by a rank",
         "from f64: f32", "f64", "compile s", "run s"],
        row(folder, "one", "one rank"),
        row(folder, "hidden", "hidden-sharded"),
        row(folder, "sequence", "sequence-sharded"),
    ]
    widths = [max(len(r[i]) for r in rows) for i in range(len(rows[0]))]
    print()
    for line in rows:
        cells = [line[0].ljust(widths[0])]
        cells += [c.rjust(w) for c, w in zip(line[1:], widths[1:])]
        print("  ".join(cells))
    print("\nSeeded weights: this proves that the sharded programs compute what one "
          "rank\ncomputes, not that the model knows language.")
    check(folder)


main()
