"""within_plan.py SMALL.json LARGE.json: the process of a run must have had at most 10 %
more than its rank's plan, beside what that of the small run had."""

import json
import pathlib
import sys

small, large = (json.loads(pathlib.Path(path).read_text())["memory"] for path in sys.argv[1:])
base, found, plan = small["peak_resident"], large["peak_resident"], large["rank"]["total"]
print(f"plan {plan / 1e6:.1f} MB, base {base / 1e6:.1f} MB, had {found / 1e6:.1f} MB")
assert plan > 3 * base, "the model is too small for this test"
assert found <= base + 1.1 * plan
