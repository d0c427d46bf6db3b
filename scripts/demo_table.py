"""Prints the table of scripts/demo.sh from the reports in a folder."""

import json
import pathlib
import sys

LAYERS = 24


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


def main():
    folder = pathlib.Path(sys.argv[1])
    rows = [
        ["strategy", "ranks", "exchanges a layer", "MB sent by a rank",
         "rel. error f32", "f64", "compile s", "run s"],
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


main()
