"""Checks the sums of a report's memory.

usage: memory_told.py REPORT
"""

import json
import sys

report = json.load(open(sys.argv[1], encoding="utf-8"))
memory = report["memory"]
for use in (memory["rank"], memory["process"]):
    parts = sum(bytes for kind, bytes in use.items() if kind != "total")
    if use["total"] != parts:
        sys.exit(f"a total of {use['total']}, but its parts are {parts}")
if memory["rank"]["program"] != report["peak_bytes_per_rank"]:
    sys.exit("the program's bytes are not those that the run measured")
if memory["process"]["program"] != report["ranks"] * memory["rank"]["program"]:
    sys.exit("the process's program is not that of all ranks")
if memory["peak_resident"] <= memory["process"]["total"]:
    sys.exit("less was resident than the run held")
