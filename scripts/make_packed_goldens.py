#!/usr/bin/env python3
# Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes the goldens of packed rows, from models that have golden logits already.

For each of those models `packed.safetensors` beside its logits holds "logits", in
f32, of a batch whose rows are several documents behind each other: transformers runs
each document alone, in f64, as in make_gradient_goldens.py (its own packed path wants
kernels of a GPU). `packed_inputs.safetensors` holds "input_ids" and "cu_seqlens".

  python scripts/make_packed_goldens.py

Run with Python 3.11.7, torch 2.15.0 (on CPU), transformers 5.23.0, safetensors
0.8.0, numpy 2.4.6.

A golden is written only if the rows as one document each differ from it visibly.
"""

import pathlib

import numpy as np
import torch
from safetensors.numpy import load_file, save_file

from make_goldens import VISIBLE, rel_l2
from make_gradient_goldens import load
from make_hybrid_golden import in_double

CASES = ["goldens/transformers-g4", "goldens-hybrid/bamba",
         "goldens-hybrid/granite", "goldens-hybrid/nemotron_h"]
# One of a token and an empty one; borders at ranks' borders and beside them; and a
# list with room to spare.
CU_SEQLENS = np.array([[0, 24, 25, 25, 64], [0, 16, 63, 64, 64]], dtype=np.int32)


def packed(model: torch.nn.Module, ids: torch.Tensor) -> np.ndarray:
    rows = []
    for row, ends in zip(ids, CU_SEQLENS):
        documents = [row[first:end] for first, end in zip(ends, ends[1:]) if first < end]
        rows.append(torch.cat([model(document[None], use_cache=False).logits
                               for document in documents], dim=1))
    return torch.cat(rows).numpy()


def make(folder: pathlib.Path) -> None:
    model, _ = load(folder)
    ids = load_file(folder / "inputs.safetensors")["input_ids"]
    with in_double(model), torch.no_grad():
        tokens = torch.from_numpy(ids.astype(np.int64))
        logits = packed(model, tokens)
        whole = model(tokens, use_cache=False).logits.numpy()
    distance = rel_l2(whole, logits)
    assert distance > VISIBLE, f"{folder.name}: documents are not seen"
    print(f"{folder.name}: rows as one document are {distance:.2f} away")
    save_file({"logits": logits.astype(np.float32)}, folder / "packed.safetensors")
    save_file({"input_ids": ids.astype(np.int32), "cu_seqlens": CU_SEQLENS},
              folder / "packed_inputs.safetensors")


def main() -> None:
    torch.set_num_threads(1)  # one order of summation
    root = pathlib.Path(__file__).resolve().parent.parent / "test" / "Integration"
    for case in CASES:
        make(root / case)


if __name__ == "__main__":
    main()
