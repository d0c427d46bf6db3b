"""A rank of test_ctrl_c_ends_a_wait: rank 1 waits for a file in place of a step."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import models
import torch
import torch.distributed as dist

import cp_mlir

folder = Path(sys.argv[1])


def wait_for(file: str) -> None:
    last = time.time() + 60
    while not (folder / file).exists() and time.time() < last:
        time.sleep(0.05)


# A shell's background processes are born with it ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
torch.set_num_threads(1)
dist.init_process_group("gloo")
model = models.make("bamba")
cp = cp_mlir.shard(model, deadline=60.0)
batch = cp.batch(torch.ones(1, 96, dtype=torch.int64))
model(**batch).loss.backward()
if cp.rank == 0:
    start = time.time()
    (folder / "waits").touch()
    try:
        model(**batch)
    except KeyboardInterrupt:
        print("KeyboardInterrupt", time.time() - start, flush=True)
        (folder / "ended").touch()
        # What it has to say is on its way, and os._exit would not wait for that.
        wait_for("told")
        os._exit(0)
wait_for("ended")
try:
    model(**batch)
except cp_mlir.CprtError as error:
    print(str(error).replace("\n", " "), flush=True)
    (folder / "told").touch()
    os._exit(0)
