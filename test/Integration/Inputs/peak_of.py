"""peak_of.py FILE COMMAND...: runs it, and notes in FILE.RANK the most bytes that it had
in memory."""

import os
import resource
import subprocess
import sys

code = subprocess.run(sys.argv[2:]).returncode
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
with open(f"{sys.argv[1]}.{os.environ['RANK']}", "w", encoding="utf-8") as file:
    file.write(str(peak))
sys.exit(code)
