"""Runs a command that cannot write files beyond some bytes, as on a full disk.

usage: small_disk.py BYTES COMMAND...
"""

import os
import resource
import signal
import sys

limit = int(sys.argv[1])
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # the write fails instead
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
os.execvp(sys.argv[2], sys.argv[2:])
