# Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gradients in PyTorch: of the scan, of attention, of a projection's weight, and a
step of training of a Mamba-2 model of transformers."""

import functools
import os

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel
from transformers import AutoConfig, Mamba2ForCausalLM
from transformers.models.mamba2 import modeling_mamba2

from ssd_forms import FORMS, batched
from torch_model import CHUNKS, RELEASED, scan_with
from torch_setup import compiled, draw
from torch_ssd import whole


def with_compiled(label, call, make):
    """`call` as it is and, where that is asked for, through torch.compile."""
    yield label, lambda: make(call)
    if os.environ.get("CP_BENCH_COMPILE", "1") != "0":
        yield f"{label}-compiled", lambda: make(compiled(call))


def backward_of(call, tensors, dy):
    """The result, and the gradients by all tensors."""

    def run():
        with torch.enable_grad():
            return torch.autograd.grad(call(*tensors), tensors, dy)

    return run


def ssd_step(settings):
    length, heads = int(settings["length"]), int(settings["heads"])
    tensors = [
        draw(1, length, heads, 64),
        draw(1, length, heads, low=-4),
        draw(heads),
        draw(heads, low=0, high=2.7),
        draw(1, length, 1, 128),
        draw(1, length, 1, 128),
        draw(heads),
    ]
    for tensor in tensors:
        tensor.requires_grad_(True)
    dy = draw(1, length, heads, 64)
    for name, form in FORMS.items():
        for chunk in CHUNKS:
            def call(*given, form=form, chunk=chunk):
                return whole(form, chunk, *given)[0]

            yield from with_compiled(
                f"{name}-{chunk}", call, lambda call: backward_of(call, tensors, dy)
            )


def attention_step(settings):
    length, heads, size = (int(settings[key]) for key in ("length", "heads", "size"))
    dy = draw(1, heads, length, size)
    dense = [draw(1, heads, length, size).requires_grad_(True) for _ in range(3)]
    strided = [
        draw(1, length, heads, size).transpose(1, 2).requires_grad_(True)
        for _ in range(3)
    ]
    backends = {"flash": SDPBackend.FLASH_ATTENTION, "math": SDPBackend.MATH}
    for name, backend in backends.items():
        for layout, tensors in (("dense", dense), ("strided", strided)):

            def call(*given, backend=backend):
                with sdpa_kernel(backend):
                    return F.scaled_dot_product_attention(*given, is_causal=True)

            yield f"{name}-{layout}", functools.partial(backward_of, call, tensors, dy)


def weight_grad(settings):
    m, n, k = (int(settings[key]) for key in "mnk")
    x, dy = draw(m, k), draw(m, n)
    yield "transposed", lambda: lambda: dy.t() @ x
    yield "other", lambda: lambda: (x.t() @ dy).t()


def step(settings):
    """Forward, loss, backward and AdamW, fused where torch has that."""
    config = AutoConfig.from_pretrained(settings["config"])
    torch.manual_seed(1)
    network = Mamba2ForCausalLM(config).train()
    for parameter in network.parameters():
        parameter.requires_grad_(True)
    ids = torch.randint(config.vocab_size, (1, int(settings["tokens"])))
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-3, fused=True)

    def call(scan):
        modeling_mamba2.mamba2_chunk_scan = scan
        with torch.enable_grad():
            loss = network(ids, labels=ids, use_cache=False).loss
            loss.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss

    if settings["scan"] == "released":
        torch.set_flush_denormal(False)
        yield "released", lambda: functools.partial(call, RELEASED)
        return
    for chunk in CHUNKS:
        yield from with_compiled(
            f"batched-{chunk}", batched,
            lambda form, chunk=chunk: functools.partial(call, scan_with(form, chunk)),
        )


ROWS = {
    "ssd_step": ssd_step,
    "attention_step": attention_step,
    "weight_grad": weight_grad,
    "step": step,
}
