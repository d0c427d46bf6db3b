# Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The table, and the same as CSV."""

import csv
import dataclasses


@dataclasses.dataclass
class Line:
    name: str
    ours: str
    against: str
    other: str
    value: float
    goal: float
    unit: str
    at_most: bool
    # The value when a row that was short was asked again, alone.
    alone: float = None

    def reaches(self, value):
        return value <= self.goal if self.at_most else value >= self.goal

    @property
    def passed(self):
        return self.verdict != "short"

    @property
    def verdict(self):
        if self.reaches(self.value):
            return "pass"
        return "alone" if self.alone is not None and self.reaches(self.alone) else "short"


def line_of(row, measured):
    value = row.value(measured)
    other = ", ".join(
        f"{label} {text(row, number)}"
        + (f" ({measured.labels[label]})" if measured.labels[label] else "")
        for label, number in measured.seconds.items()
        if label != row.ours
    )
    roofs = measured.roofs.get(row.ours)
    if roofs:
        roof = f"roof {min(roofs) / 1e9:.0f} to {max(roofs) / 1e9:.0f} G/s"
        other = ", ".join(filter(None, [roof, other]))
    ours = text(row, measured.seconds[row.ours])
    return Line(
        row.name, ours, row.against, other, value, row.goal, row.unit, row.at_most
    )


def text(row, number):
    return f"{number:.2e}" if row.kind == "error" else seconds_text(number)


def seconds_text(seconds):
    for unit, scale in (("s", 1), ("ms", 1e3)):
        if seconds * scale >= 1:
            return f"{seconds * scale:.3g} {unit}"
    return f"{seconds * 1e6:.3g} us"


def print_header(out):
    print(
        f"{'row':24} {'ours':>10} {'value':>8} {'alone':>8} {'goal':>8} {'':11} {'':6} against",
        file=out,
        flush=True,
    )


def print_line(line, out):
    alone = "" if line.alone is None else f"{line.alone:.3g}"
    print(
        f"{line.name:24} {line.ours:>10} {line.value:8.3g} {alone:>8} {line.goal:8.3g} "
        f"{line.unit:11} {line.verdict:6} {line.against}"
        + (f": {line.other}" if line.other else ""),
        file=out,
        flush=True,
    )


def print_peaks(peaks, cores, out):
    print(
        f"roofline, {cores} threads: FMA f32 {peaks['fma-f32'] / 1e9:.0f} GF/s, "
        f"bf16 {peaks['fma-bf16'] / 1e9:.0f} GF/s, "
        f"copy {peaks['copy'] / 1e9:.1f} GB/s read and written",
        file=out,
        flush=True,
    )


def write_csv(path, lines, peaks):
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(
            ["row", "ours", "value", "alone", "goal", "unit", "verdict", "against", "parts"]
        )
        for line in lines:
            writer.writerow(
                [line.name, line.ours, f"{line.value:.6g}"]
                + ["" if line.alone is None else f"{line.alone:.6g}"]
                + [line.goal, line.unit, line.verdict, line.against, line.other]
            )
        for name, value in peaks.items():
            writer.writerow([f"peak {name}", "", f"{value:.6g}", "", "", "a second"] + 3 * [""])
