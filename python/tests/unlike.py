"""A rank of test_unlike_documents: rank 1 has a border elsewhere, and heads are cut."""

from __future__ import annotations

import sys

import models
import torch
import torch.distributed as dist

import cp_mlir

torch.set_num_threads(1)
dist.init_process_group("gloo")
model = models.make(sys.argv[2])
cp = cp_mlir.shard(model, deadline=40.0, strategy="hidden", attention="ulysses")
lengths = torch.tensor([[40, 56]], dtype=torch.int32)
batch = cp.batch(torch.ones(1, 96, dtype=torch.int64), seq_lens=lengths)
model(**batch).loss.backward()
if cp.rank == 1:
    batch["cu_seqlens"][0, 1] += 1
try:
    model(**batch)
    print("nothing", flush=True)
except cp_mlir.CprtError as error:
    print(error.status, str(error).replace("\n", " "), flush=True)
