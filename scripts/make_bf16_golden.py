#!/usr/bin/env python3
# Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes test/Integration/goldens-bf16: what transformers computes in bf16.

unittests/Execution/BF16Test.cpp asks that cp-mlir in bf16 is no farther from f64
than transformers in bf16 is, on the same weights. The folder holds

  config.json           four layers of the published head size (64) and state
                        (128), d_model 256
  golden.safetensors    input_ids i32 [batch, seq], and the logits of transformers
                        on weights that bf16 holds exactly: logits_bf16 computed
                        in bf16, logits_f32 computed in f32

The weights are too large to keep: cp-run draws them from a seed in bf16, and
they are then changed by constants that bf16 holds, so that a test draws the same
numbers (logits_f32 tell it if it did not):

    cp-translate --import-hf --dtype=bf16 --seq=64 config.json -o model.mlir
    cp-run model.mlir --seed=31 --save-weights=weights.safetensors
    python scripts/make_bf16_golden.py weights.safetensors

The changes keep the state visible: every second head forgets slowly, and the
skip D weighs half. Run with Python 3.11.7, torch 2.15.0 (on CPU), transformers
5.23.0, safetensors 0.8.0. Another machine or version may round the last bits
otherwise.
"""

import argparse
import json
import os
import pathlib

os.environ.setdefault("HF_HUB_OFFLINE", "1")  # nothing here comes from a hub

import torch
import transformers
from safetensors.torch import load_file, save_file

SLOW_A_LOG = -5.0  # a head that keeps 0.7 of its state over 64 tokens
SEQ = 64


def show_the_state(weights: dict) -> None:
    """Changes weights in place, by constants that bf16 holds exactly."""
    for name, weight in weights.items():
        if name.endswith("A_log"):
            weight[::2] = SLOW_A_LOG
        elif name.endswith("dt_bias"):
            weight[:] = 0.0
        elif name.endswith(".D"):
            weight[:] = 0.5


def logits(config: transformers.Mamba2Config, weights: dict, ids: torch.Tensor,
           dtype: torch.dtype) -> torch.Tensor:
    model = transformers.Mamba2ForCausalLM(config).to(dtype).eval()
    missing = model.load_state_dict(
        {name: w.to(dtype) for name, w in weights.items()}, strict=False)
    assert not missing.unexpected_keys, missing
    assert set(missing.missing_keys) <= {"lm_head.weight"}, missing
    with torch.no_grad():
        return model(ids.long(), use_cache=False).logits


def main() -> None:
    root = pathlib.Path(__file__).resolve().parent.parent
    parser = argparse.ArgumentParser(
        description="Makes the bf16 golden; the head of this file says more.")
    parser.add_argument("weights", type=pathlib.Path,
                        help="the bf16 weights that cp-run --save-weights wrote")
    parser.add_argument(
        "--out", type=pathlib.Path,
        default=root / "test" / "Integration" / "goldens-bf16")
    args = parser.parse_args()
    torch.set_num_threads(1)  # one order of summation
    form = json.loads((args.out / "config.json").read_text())
    config = transformers.Mamba2Config(**form)
    weights = load_file(args.weights)
    assert all(w.dtype == torch.bfloat16 for w in weights.values())
    show_the_state(weights)
    ids = torch.randint(0, config.vocab_size, (1, SEQ), dtype=torch.int32,
                        generator=torch.Generator().manual_seed(31))
    narrow = logits(config, weights, ids, torch.bfloat16)
    wide = logits(config, weights, ids, torch.float32)
    distance = torch.linalg.norm(narrow.double() - wide.double())
    print(f"transformers {transformers.__version__}, torch {torch.__version__}: "
          f"rel_l2 of bf16 {distance / torch.linalg.norm(wide.double()):.3e}")
    save_file({"input_ids": ids, "logits_bf16": narrow.to(torch.bfloat16),
               "logits_f32": wide}, args.out / "golden.safetensors")


if __name__ == "__main__":
    main()
