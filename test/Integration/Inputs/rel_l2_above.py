"""rel_l2_above.py REPORT BOUND: fails unless the check's rel_l2 is above it."""

import json
import sys

with open(sys.argv[1]) as file:
    found = json.load(file)["check"]["rel_l2"]
print("rel_l2", found)
sys.exit(not found > float(sys.argv[2]))
