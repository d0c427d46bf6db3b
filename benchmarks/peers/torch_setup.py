# Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PyTorch at its best settings: all cores, no autograd, no subnormal numbers."""

import os

import torch

torch.set_num_threads(len(os.sched_getaffinity(0)))
torch.set_grad_enabled(False)
# As our kernels do; before there are threads, which take it over.
torch.set_flush_denormal(True)

TYPES = {"f32": torch.float32, "bf16": torch.bfloat16}


def draw(*shape, low=-1.0, high=1.0, dtype=torch.float32):
    """Uniform numbers of [low, high)."""
    return (torch.rand(shape) * (high - low) + low).to(dtype)


def guarded(call):
    """`call` without autograd's bookkeeping."""

    def run():
        with torch.inference_mode():
            return call()

    return run


def compiled(call):
    """What torch.compile makes of `call`."""
    return torch.compile(call, mode="max-autotune-no-cudagraphs", dynamic=False)
