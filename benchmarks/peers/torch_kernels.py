# Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention, convolution and matrix products in PyTorch."""

import functools
import os

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from torch_setup import TYPES, compiled, draw, guarded

WINDOW = 4


def matmul(settings):
    m, n, k = (int(settings[key]) for key in "mnk")
    dtype = TYPES[settings.get("dtype", "f32")]
    a, w = draw(m, k, dtype=dtype), draw(n, k, dtype=dtype)
    turned = w.t().contiguous()
    yield "linear", lambda: guarded(lambda: F.linear(a, w))
    yield "matmul", lambda: guarded(lambda: a @ turned)


def attention(settings):
    length, heads, size = (
        int(settings.get(key, value))
        for key, value in (("length", 2048), ("heads", 16), ("size", 128))
    )
    # The layouts that F.scaled_dot_product_attention sees: heads before tokens,
    # in memory too or by strides only.
    dense = [draw(1, heads, length, size) for _ in range(3)]
    strided = [draw(1, length, heads, size).transpose(1, 2) for _ in range(3)]
    backends = {"flash": SDPBackend.FLASH_ATTENTION, "math": SDPBackend.MATH}
    for name, backend in backends.items():
        for layout, tensors in (("dense", dense), ("strided", strided)):

            def call(backend=backend, tensors=tensors):
                with sdpa_kernel(backend):
                    return F.scaled_dot_product_attention(*tensors, is_causal=True)

            yield f"{name}-{layout}", lambda call=call: guarded(call)


def convolution_forms(length, channels):
    """Label and call; x is [1, channels, length] in some layout of memory."""
    weight, bias = draw(channels, 1, WINDOW), draw(channels)
    first = draw(1, channels, length)
    last = draw(1, length, channels)

    def padded(x):
        y = F.conv1d(x, weight, bias, padding=WINDOW - 1, groups=channels)
        return F.silu(y[..., :length], inplace=True)

    def planes():
        x = first.unsqueeze(2).contiguous(memory_format=torch.channels_last)
        x = F.pad(x, (WINDOW - 1, 0))
        y = F.conv2d(x, weight.unsqueeze(2), bias, groups=channels)
        return F.silu(y, inplace=True)

    taps = weight[:, 0].t().contiguous()

    def shifted():
        x = F.pad(last, (0, 0, WINDOW - 1, 0))
        y = torch.addcmul(bias, x[:, :length], taps[0])
        for tap in range(1, WINDOW):
            y = torch.addcmul(y, x[:, tap : tap + length], taps[tap])
        return F.silu(y, inplace=True)

    return {
        "channels-first": lambda: padded(first),
        "channels-last": lambda: padded(last.transpose(1, 2)),
        "channels-last-2d": planes,
        "shifted": shifted,
    }


def conv1d(settings):
    length, channels = int(settings["length"]), int(settings["channels"])
    for label, call in convolution_forms(length, channels).items():
        yield label, lambda: guarded(call)
        if os.environ.get("CP_BENCH_COMPILE", "1") != "0":
            yield f"{label}-compiled", lambda: guarded(compiled(call))


ROWS = {"matmul": matmul, "attention": attention, "conv1d": conv1d}
