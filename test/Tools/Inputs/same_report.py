"""same_report.py A B: the reports of two runs must say the same of what was run."""

import json
import sys

KEYS = ("ranks", "mesh", "backend", "stage", "strategy", "sharding", "types",
        "peak_bytes_per_rank", "collectives", "allocations_per_step", "not_finite")
a, b = (json.load(open(path, encoding="utf-8")) for path in sys.argv[1:])
for report in (a, b):
    for count in report["collectives"]:
        del count["exposed_seconds_per_rank"]  # A time.
for key in KEYS:
    assert a[key] == b[key], (key, a[key], b[key])
for part in ("rank", "process"):
    assert a["memory"][part] == b["memory"][part], part
