#!/usr/bin/env python3
# Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes the golden gradients, from models that have golden logits already.

For each of those models `gradients.safetensors` beside its logits holds, in f64,
what transformers' autograd gives of the mean cross-entropy of each next token
(`model(ids, labels=ids).loss`): "loss" and the gradient of each parameter, "grad."
and its name. Weights are the f32 ones of the golden, and everything is computed
in f64: the model's module sees a torch whose float32 is float64, as transformers
rounds norms, scans and rotations to f32 else.

  python scripts/make_gradient_goldens.py

Run with Python 3.11.7, torch 2.15.0 (on CPU), transformers 5.23.0, safetensors
0.8.0, numpy 2.4.6. Another machine or version may round the last bits otherwise.

A golden is written only if a parameter of each kind has a gradient that a
finite difference of the loss confirms, and if losing the past half-way changes
each layer's A_log gradient by a rel_l2 above 1e-2.
"""

import argparse
import os
import pathlib
from typing import Dict, Tuple

os.environ.setdefault("HF_HUB_OFFLINE", "1")  # nothing here comes from a hub

import numpy as np
import torch
import transformers
from safetensors.numpy import load_file, save_file

from make_goldens import VISIBLE, rel_l2
from make_hybrid_golden import in_double

SIZE_LIMIT = 768 << 10  # of all files together, in bytes
CASES = ["goldens/transformers-g4", "goldens-hybrid/bamba-options",
         "goldens-hybrid/nemotron_h"]


def saved_name(name: str, saved: dict) -> str:
    """The name under which a parameter is saved: some modules have others."""
    if name in saved:
        return name
    rest = name.split(".", 1)[1]
    return next(other for other in saved if other.split(".", 1)[1] == rest)


def load(folder: pathlib.Path) -> Tuple[torch.nn.Module, Dict[str, str]]:
    """The model, and what each of its parameters is called in the file."""
    config = transformers.AutoConfig.from_pretrained(folder)
    model = transformers.AutoModelForCausalLM.from_config(config)
    saved = load_file(folder / "weights.safetensors")
    names = {name: saved_name(name, saved)
             for name, _ in model.named_parameters()}
    assert sorted(names.values()) == sorted(saved), folder
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(torch.from_numpy(saved[names[name]]))
    return model.eval(), names


def loss_of(model: torch.nn.Module, ids: torch.Tensor) -> torch.Tensor:
    return model(ids, labels=ids, use_cache=False).loss


def gradients(model: torch.nn.Module, ids: torch.Tensor) -> dict:
    model.zero_grad()
    loss = loss_of(model, ids)
    loss.backward()
    found = {"loss": loss.detach().numpy()}
    for name, parameter in model.named_parameters():
        found[name] = parameter.grad.numpy().copy()
    return found


def check_differences(name: str, model: torch.nn.Module, ids: torch.Tensor,
                      found: dict) -> None:
    """One element of each parameter against a difference of the loss."""
    worst = 0.0
    for parameter_name, parameter in model.named_parameters():
        gradient = found[parameter_name].ravel()
        index = int(np.argmax(np.abs(gradient)))
        flat, step = parameter.data.view(-1), 1e-5
        value = flat[index].item()
        with torch.no_grad():
            flat[index] = value + step
            above = loss_of(model, ids).item()
            flat[index] = value - step
            below = loss_of(model, ids).item()
            flat[index] = value
        difference = (above - below) / (2 * step)
        error = abs(difference - gradient[index]) / abs(gradient[index])
        assert error < 1e-5, f"{name}: {parameter_name} is off by {error:.1e}"
        worst = max(worst, error)
    print(f"{name}: differences agree to {worst:.1e}")


def check_past(name: str, model: torch.nn.Module, ids: torch.Tensor,
               found: dict) -> None:
    """Gradients of two halves on their own, where the second has no past."""
    half = ids.shape[1] // 2
    model.zero_grad()
    logits = torch.cat([model(ids[:, :half], use_cache=False).logits,
                        model(ids[:, half:], use_cache=False).logits], dim=1)
    torch.nn.functional.cross_entropy(
        logits[:, :-1].reshape(-1, logits.shape[-1]),
        ids[:, 1:].reshape(-1)).backward()
    for parameter_name, parameter in model.named_parameters():
        if parameter_name.endswith("A_log"):
            distance = rel_l2(parameter.grad.numpy(),
                              found[parameter_name])
            assert distance > VISIBLE, f"{name}: a lost past is not seen"


def make(root: pathlib.Path, case: str) -> int:
    folder = root / case
    model, names = load(folder)
    ids = torch.from_numpy(
        load_file(folder / "inputs.safetensors")["input_ids"]).long()
    with in_double(model):
        found = gradients(model, ids)
        check_differences(case, model, ids, found)
        check_past(case, model, ids, found)
    assert all(value.dtype == np.float64 for value in found.values()), case
    path = folder / "gradients.safetensors"
    save_file({"loss" if name == "loss" else "grad." + names[name]: value
               for name, value in found.items()}, path)
    path.chmod(0o644)
    return path.stat().st_size


def main() -> None:
    root = pathlib.Path(__file__).resolve().parent.parent
    parser = argparse.ArgumentParser(
        description="Makes the golden gradients; the head of this file says "
                    "more.")
    parser.add_argument("--root", type=pathlib.Path,
                        default=root / "test" / "Integration")
    folder = parser.parse_args().root
    torch.set_num_threads(1)  # one order of summation
    print(f"transformers {transformers.__version__}, torch {torch.__version__}")
    size = sum(make(folder, case) for case in CASES)
    assert size <= SIZE_LIMIT, f"they take {size} of {SIZE_LIMIT} bytes"
    print(f"{size} bytes in {folder}")


if __name__ == "__main__":
    main()
