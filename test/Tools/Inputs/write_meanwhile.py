"""Runs a command, and writes to a file once another one has some lines.

write_meanwhile.py FILE GROWING COMMAND...
"""

import os
import subprocess
import sys
import time

path, growing = sys.argv[1:3]
run = subprocess.Popen(sys.argv[3:])
until = time.monotonic() + 60
while run.poll() is None and time.monotonic() < until:
    if os.path.exists(growing) and len(open(growing).readlines()) > 3:
        break
    time.sleep(0.05)
with open(path, "r+b") as file:
    first = file.read(1)
    file.seek(0)
    file.write(first)
os.utime(path, (1, 1))
try:
    print("status", run.wait(60), flush=True)
finally:
    run.kill()
