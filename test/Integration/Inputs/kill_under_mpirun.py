"""kill_under_mpirun.py LAUNCHER... -- COMMAND...: four ranks for ever, of which one is
killed: the job ends within 5 seconds. With --enable-recovery the launcher leaves the
survivors alone (Open MPI 4.1), and each says within as long which rank has gone."""

import glob
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

RANKS, VICTIM, LONGEST = 4, 2, 5

# Notes which process is which rank.
NOTED = 'echo $$ > "$0.${OMPI_COMM_WORLD_RANK:-$PMI_RANK}"; exec "$@"'

split = sys.argv.index("--")
launcher, command = sys.argv[1:split], sys.argv[split + 1 :]
with tempfile.TemporaryDirectory() as folder:
    process = subprocess.Popen(
        [*launcher, "-n", str(RANKS), "sh", "-c", NOTED, f"{folder}/rank", *command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    # It is under way once every rank runs; this is by far enough.
    time.sleep(4)
    assert process.poll() is None, process.communicate()
    assert len(glob.glob(f"{folder}/rank.*")) == RANKS
    begin = time.monotonic()
    with open(f"{folder}/rank.{VICTIM}") as file:
        os.kill(int(file.read()), signal.SIGKILL)
    try:
        text, _ = process.communicate(timeout=LONGEST)
    finally:
        process.kill()
    print(f"ended after {time.monotonic() - begin:.2f} s")
if "--enable-recovery" in launcher:
    told = re.findall(rf"rank (\d): CPRT_PEER_FAILED: rank {VICTIM} has gone", text)
    assert sorted(told) == ["0", "1", "3"], text
