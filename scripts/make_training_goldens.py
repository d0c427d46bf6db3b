#!/usr/bin/env python3
# Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes the golden of a training run, from a model that has golden logits already.

`trained.safetensors` beside the logits holds the weights, in f64, after 20 steps
of torch's SGD with clipped gradients on windows of `training.ids`, which it makes
too. All is computed in f64, as in make_gradient_goldens.py.

  python scripts/make_training_goldens.py

Run with Python 3.11.7, torch 2.15.0 (on CPU), transformers 5.23.0, safetensors
0.8.0, numpy 2.4.6.
"""

import pathlib

import numpy as np
import torch
from safetensors.numpy import save_file

from make_goldens import rel_l2
from make_gradient_goldens import load
from make_hybrid_golden import in_double

CASE = "goldens-hybrid/bamba-options"
STEPS, BATCH, LENGTH, RATE, CLIP = 20, 2, 32, 0.1, 1.0


def batch_of(tokens: np.ndarray, step: int) -> torch.Tensor:
    """Windows one behind the other, each with the token behind it."""
    windows = (len(tokens) - 1) // LENGTH
    rows = [(step * BATCH + row) % windows * LENGTH for row in range(BATCH)]
    return torch.from_numpy(
        np.stack([tokens[row:row + LENGTH + 1] for row in rows]))


def train(model: torch.nn.Module, tokens: np.ndarray) -> None:
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
    for step in range(STEPS):
        batch = batch_of(tokens, step)
        logits = model(batch[:, :-1], use_cache=False).logits
        loss = torch.nn.functional.cross_entropy(
            logits.reshape(-1, logits.shape[-1]), batch[:, 1:].reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        optimizer.step()
        print(f"step {step + 1}  loss {loss.item():.4f}  norm {norm.item():.4f}")


def main() -> None:
    torch.set_num_threads(1)  # one order of summation
    root = pathlib.Path(__file__).resolve().parent.parent
    folder = root / "test" / "Integration" / CASE
    model, names = load(folder)
    tokens = np.random.default_rng(1).integers(0, model.config.vocab_size, 1000)
    (folder / "training.ids").write_text(
        "\n".join(" ".join(map(str, row)) for row in tokens.reshape(-1, 20)) + "\n",
        encoding="utf-8")
    before = {name: parameter.detach().double().numpy().copy()
              for name, parameter in model.named_parameters()}
    with in_double(model):
        train(model, tokens)
    after = {name: parameter.detach().numpy()
             for name, parameter in model.named_parameters()}
    for name, value in after.items():
        assert value.dtype == np.float64, name
        moved = rel_l2(value, before[name])
        assert moved > 1e-5, f"{name} moved by {moved:.1e}, which no test would see"
    path = folder / "trained.safetensors"
    save_file({names[name]: value for name, value in after.items()}, path)
    path.chmod(0o644)


if __name__ == "__main__":
    main()
