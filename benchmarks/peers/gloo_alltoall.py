# Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""gloo's all-to-all over TCP, timed as benchmarks/transport_exchange.cpp times ours:
rank 0 prints the median of the rounds' seconds. In the environment of torchrun.
usage: gloo_alltoall.py BYTES ROUNDS ITERATIONS"""

import statistics
import sys
import time

import torch
import torch.distributed as dist


def seconds_of(out, given, iterations):
    start = time.perf_counter()
    for _ in range(iterations):
        dist.all_to_all_single(out, given)
    return (time.perf_counter() - start) / iterations


def main(size, rounds, iterations):
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, ranks = dist.get_rank(), dist.get_world_size()
    count = (size + 3) // 4
    given = torch.full((ranks * count,), float(rank + 1))
    out = torch.zeros(ranks * count)
    seconds_of(out, given, iterations)
    seconds = [seconds_of(out, given, iterations) for _ in range(rounds)]
    expected = torch.arange(1.0, ranks + 1).repeat_interleave(count)
    if not torch.equal(out, expected):
        raise SystemExit("a block came from another rank")
    if rank == 0:
        print(statistics.median(seconds))
    dist.barrier()
    dist.destroy_process_group()


main(*map(int, sys.argv[1:]))
