"""Compares the losses and norms of two curves that cp-train has written.

usage: same_curve.py A B TOLERANCE
Of steps that both have; there must be one.
"""

import csv
import sys


def read(path):
    with open(path, encoding="utf-8") as file:
        return {row["step"]: row for row in csv.DictReader(file)}


a, b = read(sys.argv[1]), read(sys.argv[2])
steps = [step for step in b if step in a]
if not steps:
    sys.exit("the curves have no step in common")
worst = max(
    abs(float(a[step][name]) - float(b[step][name])) / abs(float(b[step][name]))
    for step in steps
    for name in ("loss", "grad_norm")
)
print(f"{len(steps)} steps, at most {worst:.1e} apart")
if not worst <= float(sys.argv[3]):
    sys.exit("too far apart")
