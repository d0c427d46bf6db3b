"""Runs a command and fails when it needed more memory than so many MiB.

usage: memory.py MIB COMMAND [ARGUMENT...]
"""

import resource
import subprocess
import sys

limit = int(sys.argv[1])
status = subprocess.run(sys.argv[2:]).returncode
used = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024
if used > limit:
    sys.exit(f"expected at most {limit} MiB of memory, but {used} were used")
sys.exit(status)
