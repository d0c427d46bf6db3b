"""kill_rank.py COMMAND...: runs it as four ranks for ever, kills one after another in
jobs of their own, and expects of each survivor an error that names the rank, within a
second. With SIGSTOP in place of SIGKILL: within the deadline that --deadline-ms gives,
and a second."""

import os
import signal
import subprocess
import sys
import tempfile
import time

RANKS = 4


def start(command, folder):
    common = dict(os.environ, WORLD_SIZE=str(RANKS), LOCAL_WORLD_SIZE=str(RANKS))
    common["CPRT_ADDRESS"] = f"unix:{folder}/job"
    return [
        subprocess.Popen(
            command, env=dict(common, RANK=str(rank)), stderr=subprocess.PIPE, text=True
        )
        for rank in range(RANKS)
    ]


def deadline_of(command):
    flags = [flag for flag in command if flag.startswith("--deadline-ms=")]
    return float(flags[-1].split("=")[1]) / 1000 if flags else 60


def wait_for(processes, victim, seconds):
    """The survivors' texts; they end in time."""
    end = time.monotonic() + seconds
    texts = []
    for rank, process in enumerate(processes):
        if rank != victim:
            _, text = process.communicate(timeout=max(end - time.monotonic(), 0.01))
            assert process.returncode == 1, (rank, process.returncode, text)
            texts.append(text)
    return texts


def attempt(command, victim, number):
    with tempfile.TemporaryDirectory() as folder:
        processes = start(command, folder)
        # It is under way once every rank says so; this is by far enough.
        time.sleep(3)
        assert all(process.poll() is None for process in processes)
        begin = time.monotonic()
        os.kill(processes[victim].pid, number)
        isKilled = number == signal.SIGKILL
        try:
            texts = wait_for(processes, victim, 1 if isKilled else deadline_of(command) + 1)
            taken = time.monotonic() - begin
        finally:
            for process in processes:
                process.kill()
        status = "CPRT_PEER_FAILED" if isKilled else "CPRT_TIMEOUT"
        for text in texts:
            assert status in text, text
        said = f"rank {victim} has gone" if isKilled else f"for ranks [{victim}]"
        assert any(said in text for text in texts), texts
        print(number.name, "of rank", victim, f"told after {taken:.2f} s")


for rank in (2, 0):
    attempt(sys.argv[1:], rank, signal.SIGKILL)
attempt(sys.argv[1:], 1, signal.SIGSTOP)
