#!/usr/bin/env python3
# Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures how far torch's gradients in bf16 are from f64.

unittests/Execution/BF16GradientTest.cpp asks that those of cp-mlir are not much
farther. For each model with golden gradients, `bf16.safetensors` beside its logits
holds

  input_ids             i32 [draws, batch, seq]
  distance.<parameter>  f64 []: rel_l2 of the gradient of the mean cross-entropy
                        of each next token that torch computes in bf16, from the
                        one in f64, on the golden's weights rounded to bf16; over
                        all draws together, since that of one is chance

  python scripts/make_bf16_gradient_goldens.py

Run with Python 3.11.7, torch 2.15.0 (on CPU), transformers 5.24.0, safetensors
0.8.0, numpy 2.4.6. Another machine or version may round otherwise.
"""

import argparse
import pathlib
from collections import defaultdict

import numpy as np
import torch
import transformers
from safetensors.numpy import save_file

from make_gradient_goldens import CASES, gradients, load
from make_hybrid_golden import in_double, modules

DRAWS, BATCH, SEQ = 64, 2, 64


def rounded(model: torch.nn.Module) -> torch.nn.Module:
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(parameter.to(torch.bfloat16))
    return model


def in_bf16(model: torch.nn.Module) -> torch.nn.Module:
    """As a checkpoint is read in bf16: what rotates stays f32."""
    model.to(torch.bfloat16)
    for rotary in modules(model, "RotaryEmbedding"):
        rotary.inv_freq, _ = rotary.compute_default_rope_parameters(model.config)
    return model


def narrow_gradients(model: torch.nn.Module, ids: torch.Tensor) -> dict:
    model.zero_grad()
    model(ids, labels=ids, use_cache=False).loss.backward()
    return {name: parameter.grad.double().numpy()
            for name, parameter in model.named_parameters()}


def make(root: pathlib.Path, case: str) -> None:
    folder = root / case
    wide, names = load(folder)
    narrow, _ = load(folder)
    rounded(wide), rounded(narrow)
    generator = torch.Generator().manual_seed(7)
    ids = torch.randint(0, wide.config.vocab_size, (DRAWS, BATCH, SEQ),
                        dtype=torch.int32, generator=generator)
    in_bf16(narrow)
    error, norm = defaultdict(float), defaultdict(float)
    found = [narrow_gradients(narrow, draw.long()) for draw in ids]
    with in_double(wide):
        for draw, theirs in zip(ids, found):
            exact = gradients(wide, draw.long())
            for name in names:
                error[name] += np.sum((theirs[name] - exact[name]) ** 2)
                norm[name] += np.sum(exact[name] ** 2)
    distances = {name: float(np.sqrt(error[name] / norm[name]))
                 for name in names}
    print(f"{case}: {min(distances.values()):.1e} to "
          f"{max(distances.values()):.1e}")
    golden = {"distance." + names[name]: np.array(distance)
              for name, distance in distances.items()}
    path = folder / "bf16.safetensors"
    save_file({"input_ids": ids.numpy(), **golden}, path)
    path.chmod(0o644)


def main() -> None:
    root = pathlib.Path(__file__).resolve().parent.parent
    parser = argparse.ArgumentParser(
        description="Measures torch's gradients in bf16; the head of this file "
                    "says more.")
    parser.add_argument("--root", type=pathlib.Path,
                        default=root / "test" / "Integration")
    folder = parser.parse_args().root
    torch.set_num_threads(1)  # one order of summation
    print(f"transformers {transformers.__version__}, torch {torch.__version__}")
    for case in CASES:
        make(folder, case)


if __name__ == "__main__":
    main()
