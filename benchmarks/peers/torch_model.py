# Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A Mamba-2 model of transformers: as released, and with its scan replaced."""

import functools
import os

import torch
import torch.nn.functional as F
from transformers import AutoConfig, Mamba2ForCausalLM
from transformers.models.mamba2 import modeling_mamba2

from ssd_forms import batched
from torch_setup import compiled, guarded

CHUNKS = [32, 64, 128, 256]
RELEASED = modeling_mamba2.mamba2_chunk_scan


def scan_with(form, chunk):
    """What the model calls for its scan, in another form."""

    def scan(x, dt, A, B, C, D=None, dt_bias=None, dt_limit=(0, float("inf")), **kwargs):
        wanted = kwargs.get("initial_states") is None and not kwargs["return_final_states"]
        if not wanted or x.size(1) % chunk:
            raise NotImplementedError("only whole sequences without a cache are measured")
        delta = F.softplus(dt + dt_bias).clamp(*dt_limit)
        return form(x, delta, A, B, C, D, chunk)[0]

    return scan


def model(settings):
    """Logits of all tokens."""
    config = AutoConfig.from_pretrained(settings["config"])
    torch.manual_seed(1)
    network = Mamba2ForCausalLM(config).eval()
    ids = torch.randint(config.vocab_size, (1, int(settings["tokens"])))

    def call(scan):
        modeling_mamba2.mamba2_chunk_scan = scan
        return network(ids, use_cache=False).logits

    if settings["scan"] == "released":
        torch.set_flush_denormal(False)
        yield "released", lambda: guarded(lambda: call(RELEASED))
        return
    for chunk in CHUNKS:
        scan = scan_with(batched, chunk)
        yield f"batched-{chunk}", lambda: guarded(functools.partial(call, scan))
        if os.environ.get("CP_BENCH_COMPILE", "1") != "0":
            fast = scan_with(compiled(batched), chunk)
            yield f"batched-{chunk}-compiled", lambda: guarded(
                functools.partial(call, fast)
            )


ROWS = {"model": model}
