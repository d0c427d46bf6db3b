"""kill_under_mpirun.py LAUNCHER... -- COMMAND...: four ranks for ever, of which one is
killed: the job ends within 5 seconds. With --enable-recovery the launcher leaves the
survivors alone (Open MPI 4.1), and each says within as long which rank has gone."""

import contextlib
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

RANKS, VICTIM, LONGEST, STARTING = 4, 2, 5, 60

# Notes which process is which rank.
NOTED = 'echo $$ > "$0.${OMPI_COMM_WORLD_RANK:-$PMI_RANK}"; exec "$@"'


def await_start(process, said):
    """Rank 0 says that it runs, which takes all ranks."""
    end = time.monotonic() + STARTING
    while "running on" not in said.read_text():
        assert process.poll() is None and time.monotonic() < end, said.read_text()
        time.sleep(0.05)
    time.sleep(0.5)


def run(launcher, command, folder):
    said = folder / "said"
    pids = [folder / f"rank.{rank}" for rank in range(RANKS)]
    with open(said, "w") as output:
        process = subprocess.Popen(
            [*launcher, "-n", str(RANKS), "sh", "-c", NOTED, str(folder / "rank"), *command],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        await_start(process, said)
        begin = time.monotonic()
        os.kill(int(pids[VICTIM].read_text()), signal.SIGKILL)
        process.wait(timeout=LONGEST)
        print(f"ended after {time.monotonic() - begin:.2f} s")
    finally:
        process.kill()
        for pid in pids:
            # Most are gone, or never came.
            with contextlib.suppress(OSError, ValueError):
                os.kill(int(pid.read_text()), signal.SIGKILL)
    return said.read_text()


split = sys.argv.index("--")
with tempfile.TemporaryDirectory() as name:
    text = run(sys.argv[1:split], sys.argv[split + 1 :], pathlib.Path(name))
if "--enable-recovery" in sys.argv[:split]:
    told = re.findall(rf"rank (\d): CPRT_PEER_FAILED: rank {VICTIM} has gone", text)
    assert sorted(told) == ["0", "1", "3"], text
