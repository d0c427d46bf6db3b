# Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The Mamba-2 scan in PyTorch: every form, chunk size and compilation."""

import functools
import os

import torch.nn.functional as F

from ssd_forms import FORMS
from torch_setup import TYPES, compiled, draw, guarded

CHUNKS = [32, 64, 128, 256]


def whole(form, chunk, x, dt, dt_bias, A_log, B, C, D):
    """From dt as the kernel takes it."""
    delta = F.softplus(dt + dt_bias)
    return form(x, delta, -A_log.exp(), B, C, D, chunk)


def ssd(settings):
    length, heads = int(settings["length"]), int(settings["heads"])
    dtype = TYPES[settings.get("dtype", "f32")]
    tensors = (
        draw(1, length, heads, 64, dtype=dtype),
        draw(1, length, heads, low=-4, dtype=dtype),
        draw(heads, dtype=dtype),
        draw(heads, low=0, high=2.7, dtype=dtype),
        draw(1, length, 1, 128, dtype=dtype),
        draw(1, length, 1, 128, dtype=dtype),
        draw(heads, dtype=dtype),
    )
    for name, form in FORMS.items():
        for chunk in CHUNKS:
            call = functools.partial(whole, form, chunk)
            yield f"{name}-{chunk}", lambda: guarded(
                functools.partial(call, *tensors)
            )
            if os.environ.get("CP_BENCH_COMPILE", "1") != "0":
                yield f"{name}-{chunk}-compiled", lambda: guarded(
                    functools.partial(compiled(call), *tensors)
                )


ROWS = {"ssd": ssd}
