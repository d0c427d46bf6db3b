"""Runs a command that is to fail within so many seconds: ends_within.py SECONDS COMMAND..."""

import subprocess
import sys

sys.exit(subprocess.run(sys.argv[2:], timeout=float(sys.argv[1])).returncode == 0)
