"""A rank of test_a_rank_that_dies: rank 1 is killed between its layers."""

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

torch.set_num_threads(1)
dist.init_process_group("gloo")
model = models.make("bamba")
cp = cp_mlir.shard(model, deadline=5.0)
batch = cp.batch(torch.ones(1, 96, dtype=torch.int64))
model(**batch).loss.backward()
if cp.rank == 1:

    def die(*_: object) -> None:
        (Path(sys.argv[1]) / "died").write_text(str(time.time()))
        os.kill(os.getpid(), signal.SIGKILL)

    list(model.get_decoder().layers)[1].register_forward_pre_hook(die)
try:
    for _ in range(100):
        model(**batch).loss.backward()
except cp_mlir.CprtError as error:
    print(error.status, time.time(), str(error).replace("\n", " "), flush=True)
    # Rank 0 hands on what is said, and os._exit would not wait for that.
    folder = Path(sys.argv[1])
    (folder / f"told{cp.rank}").touch()
    last = time.time() + 30
    while time.time() < last and len(list(folder.glob("told*"))) < 2:
        time.sleep(0.05)
    os._exit(0)
