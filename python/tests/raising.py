"""A rank of test_an_error_of_a_models_own: rank 1's model raises between its layers."""

from __future__ import annotations

import atexit
import sys
import time
from pathlib import Path

import models
import torch
import torch.distributed as dist

import cp_mlir

folder = Path(sys.argv[1])


def wait_for_others() -> None:
    last = time.time() + 30
    while time.time() < last and len(list(folder.glob("told*"))) < 2:
        time.sleep(0.05)


torch.set_num_threads(1)
dist.init_process_group("gloo")
model = models.make("bamba")
cp = cp_mlir.shard(model, deadline=40.0)
batch = cp.batch(torch.ones(1, 96, dtype=torch.int64))
model(**batch).loss.backward()
if cp.rank == 1:
    # Its process does not end before the others have heard of it.
    atexit.register(wait_for_others)

    def fail(*_: object) -> None:
        (folder / "raised").write_text(str(time.time()))
        raise LookupError("a table of the model's own has no such entry")

    list(model.get_decoder().layers)[1].register_forward_pre_hook(fail)
    model(**batch)
try:
    for _ in range(100):
        model(**batch).loss.backward()
except cp_mlir.CprtError as error:
    print(error.status, time.time(), str(error).replace("\n", " "), flush=True)
    (folder / f"told{cp.rank}").touch()
    wait_for_others()
