#!/usr/bin/env python3
# Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes the golden files that the compiled models are tested against.

Each folder of test/Integration/goldens holds config.json, weights.safetensors
(f32, by transformers' names), inputs.safetensors ("input_ids", i32 [batch, seq])
and logits.safetensors ("logits", f32 [batch, seq, vocab]):

  transformers-g1             transformers' Mamba2ForCausalLM, one group
  transformers-g4             four groups, the gated norm over each group
  transformers-g4-whole-norm  four groups, the gated norm over all channels
  transformers-options        biases in and out, none in the convolution, a
                              finite time_step_limit, untied embeddings, and a
                              chunk that does not divide the sequence
  mamba_ssm-g4                state-spaces' form, from mamba_ssm_reference.py
  mamba_ssm-g4-norm-before-gate

transformers 5.23.0 was the first to norm over groups; up to 5.22.2 it took all
channels. A run makes the folders that the installed version can make and names
the others, so two runs make them all:

  python scripts/make_goldens.py                # with transformers 5.23.0
  pip install --no-deps --target DIR transformers==5.22.2
  PYTHONPATH=DIR python scripts/make_goldens.py # with transformers 5.22.2

Run with Python 3.11.7, torch 2.15.0 (on CPU), safetensors 0.8.0, numpy 2.4.6.
The seeds are fixed; another machine or version may round the last bits
otherwise.

Random weights can hide a lost state, so the weights are changed after
transformers' own initialisation, and a golden is written only if

  * at least half of the heads of each layer keep 0.3 of their state over the
    whole sequence,
  * zeroing the state half-way changes the logits by a rel_l2 above 1e-2,
  * so do the other norm (over groups or all channels) and the other gate order,
    where the architecture lets them differ,
  * a finite time_step_limit cuts at both ends,
  * transformers and the reference agree to a rel_l2 of 1e-5.
"""

import argparse
import dataclasses
import json
import math
import os
import pathlib
import shutil
import tempfile
from typing import Callable, Dict, List

os.environ.setdefault("HF_HUB_OFFLINE", "1")  # nothing here comes from a hub

import numpy as np
import torch
import transformers
from safetensors.numpy import load_file, save_file

import mamba_ssm_reference as reference

BATCH, SEQ = 2, 64
KEPT_STATE = 0.3  # what a slow head keeps of its state over the sequence
VISIBLE = 1e-2  # the rel_l2 that a change must exceed to count as seen
AGREEMENT = 1e-5  # the rel_l2 within which two implementations must agree
SIZE_LIMIT = 1 << 20  # of all files together, in bytes

# time_step_limit is left at its default where a case does not set it, so that
# the saved config shows how transformers writes an infinity.
SMALL = dict(hidden_size=32, expand=2, num_heads=8, head_dim=8, conv_kernel=4,
             vocab_size=64, chunk_size=16, rms_norm=True, residual_in_fp32=True,
             tie_word_embeddings=True, pad_token_id=0, bos_token_id=0,
             eos_token_id=0)


@dataclasses.dataclass(frozen=True)
class TransformersCase:
    name: str
    seed: int
    fields: dict  # of Mamba2Config, on top of SMALL
    norm_over_groups: bool = True


@dataclasses.dataclass(frozen=True)
class StateSpacesCase:
    name: str
    seed: int
    ssm_cfg: dict


TRANSFORMERS_CASES = [
    TransformersCase("transformers-g1", 11,
                     dict(n_groups=1, state_size=16, num_hidden_layers=3)),
    TransformersCase("transformers-g4", 12,
                     dict(n_groups=4, state_size=8, num_hidden_layers=3)),
    TransformersCase("transformers-g4-whole-norm", 13,
                     dict(n_groups=4, state_size=8, num_hidden_layers=3),
                     norm_over_groups=False),
    TransformersCase("transformers-options", 14,
                     dict(n_groups=1, state_size=16, num_hidden_layers=2,
                          use_bias=True, use_conv_bias=False, chunk_size=24,
                          time_step_limit=[0.05, 0.4],
                          tie_word_embeddings=False)),
]

STATE_SPACES_CASES = [
    StateSpacesCase("mamba_ssm-g4", 21, {}),
    StateSpacesCase("mamba_ssm-g4-norm-before-gate", 22,
                    dict(norm_before_gate=True)),
]


def rel_l2(got: np.ndarray, want: np.ndarray) -> float:
    return float(np.linalg.norm(got - want) / np.linalg.norm(want))


def show_the_state(weights: reference.Weights, rng: np.random.Generator) -> None:
    """Changes weights in place: slow decay in every second head, state inputs
    that weigh as much as the skip D, and no parameter left at 0 or 1, where a
    wrong slice would not be seen. Every second: so that each rank, however the
    heads are cut, holds slow ones and quick ones."""
    changes: Dict[str, Callable[[np.ndarray], np.ndarray]] = {
        "dt_bias": lambda w: w + 2.0,
        "D": lambda w: rng.uniform(0.2, 0.8, w.shape),
        "conv1d.weight": lambda w: 2.0 * w,
        "conv1d.bias": lambda w: rng.normal(0.0, 0.2, w.shape),
        "proj.bias": lambda w: rng.normal(0.0, 0.1, w.shape),
        "norm.weight": lambda w: w * rng.uniform(0.6, 1.4, w.shape),
        "norm_f.weight": lambda w: w * rng.uniform(0.6, 1.4, w.shape),
    }
    for name in sorted(weights):
        for ending, change in changes.items():
            if name.endswith(ending):
                weights[name] = change(weights[name]).astype(np.float32)
        if name.endswith("A_log"):
            slow = rng.uniform(0.002, 0.015, weights[name][::2].shape)
            weights[name][::2] = np.log(slow).astype(np.float32)


def check_slow_decay(name: str, weights: reference.Weights,
                     steps: List[np.ndarray]) -> float:
    """Returns the least that a slow head keeps; `steps` has one entry a layer."""
    least = 1.0
    for layer, step in enumerate(steps):
        rate = np.exp(weights[f"backbone.layers.{layer}.mixer.A_log"])
        kept = np.exp(-rate * step.sum(axis=1)).min(axis=0)
        median = np.sort(kept)[::-1][(kept.size + 1) // 2 - 1]
        assert median >= KEPT_STATE, f"{name}: layer {layer} keeps only {kept}"
        least = min(least, median)
    return least


def check_limit_cuts(name: str, config: reference.Config,
                     steps: List[np.ndarray]) -> None:
    low, high = config.dt_limit
    if math.isinf(high):
        return
    every = np.concatenate([step.ravel() for step in steps])
    for bound in (low, high):
        assert np.any(every == bound), f"{name}: no step is cut at {bound}"
    assert np.any((low < every) & (every < high)), f"{name}: every step is cut"


def other_semantics(config: reference.Config) -> Dict[str, reference.Config]:
    """The ways to read this architecture that a golden must tell apart."""
    others = {"gate order": dataclasses.replace(
        config, norm_before_gate=not config.norm_before_gate)}
    if config.ngroups > 1:
        over_groups = config.d_inner // config.ngroups
        other = (config.d_inner if config.gate_group_size == over_groups
                 else over_groups)
        others["norm groups"] = dataclasses.replace(config, norm_group_size=other)
    return others


def checked_logits(name: str, config: reference.Config,
                   weights: reference.Weights, ids: np.ndarray) -> np.ndarray:
    """The reference's logits, f64, once all that this golden must show holds."""
    steps: List[np.ndarray] = []
    want = reference.logits(config, weights, ids, steps_seen=steps)
    kept = check_slow_decay(name, weights, steps)
    check_limit_cuts(name, config, steps)
    seen = {"lost state": reference.logits(config, weights, ids, SEQ // 2)}
    for what, other in other_semantics(config).items():
        seen[what] = reference.logits(other, weights, ids)
    for what, got in seen.items():
        assert rel_l2(got, want) > VISIBLE, f"{name}: {what} would not be seen"
    shown = ", ".join(f"{w} {rel_l2(got, want):.2g}" for w, got in seen.items())
    print(f"{name}: slow heads keep {kept:.2f}; rel_l2 of {shown}")
    return want


def draw_ids(rng: np.random.Generator, vocab_size: int) -> np.ndarray:
    return rng.integers(0, vocab_size, (BATCH, SEQ)).astype(np.int32)


def write_tensors(folder: pathlib.Path, ids: np.ndarray,
                  logits: np.ndarray) -> None:
    save_file({"input_ids": ids}, folder / "inputs.safetensors")
    save_file({"logits": logits.astype(np.float32)}, folder / "logits.safetensors")


def reference_config(case: TransformersCase,
                     config: transformers.Mamba2Config) -> reference.Config:
    inner = config.hidden_size * config.expand
    return reference.Config(
        d_model=config.hidden_size, n_layer=config.num_hidden_layers,
        vocab_size=config.vocab_size, d_state=config.state_size,
        d_conv=config.conv_kernel, expand=config.expand,
        headdim=config.head_dim, ngroups=config.n_groups,
        norm_group_size=inner // (config.n_groups if case.norm_over_groups else 1),
        norm_epsilon=config.layer_norm_epsilon,
        dt_limit=tuple(config.time_step_limit),
        tie_embeddings=config.tie_word_embeddings)


def save_as_transformers(model: transformers.Mamba2ForCausalLM,
                         folder: pathlib.Path) -> None:
    """config.json byte for byte; the weights without the tied head, as saved."""
    with tempfile.TemporaryDirectory() as scratch:
        model.save_pretrained(scratch)
        shutil.copyfile(pathlib.Path(scratch, "config.json"),
                        folder / "config.json")
        shutil.copyfile(pathlib.Path(scratch, "model.safetensors"),
                        folder / "weights.safetensors")


def make_transformers(case: TransformersCase, out: pathlib.Path) -> None:
    torch.manual_seed(case.seed)
    rng = np.random.default_rng(case.seed)
    config = transformers.Mamba2Config(**(SMALL | case.fields))
    model = transformers.Mamba2ForCausalLM(config).eval()
    weights = {name: w.numpy().copy() for name, w in model.state_dict().items()
               if name != "lm_head.weight" or not config.tie_word_embeddings}
    show_the_state(weights, rng)
    model.load_state_dict({n: torch.from_numpy(w) for n, w in weights.items()},
                          strict=False)  # a tied head has no entry of its own
    ids = draw_ids(rng, config.vocab_size)
    with torch.no_grad():
        got = model(torch.from_numpy(ids).long(), use_cache=False).logits.numpy()

    folder = out / case.name
    folder.mkdir(parents=True, exist_ok=True)
    save_as_transformers(model, folder)
    saved = load_file(folder / "weights.safetensors")
    want = checked_logits(case.name, reference_config(case, config), saved, ids)
    assert rel_l2(got, want) < AGREEMENT, f"{case.name}: {rel_l2(got, want)}"
    print(f"  transformers agrees with the reference to {rel_l2(got, want):.1e}")
    write_tensors(folder, ids, got)


def draw_weights(config: reference.Config,
                 rng: np.random.Generator) -> reference.Weights:
    """Weights of the published initialisation, without biases of projections."""
    inner, heads = config.d_inner, config.nheads
    channels = inner + 2 * config.ngroups * config.d_state
    weights = {"backbone.embeddings.weight":
               rng.normal(0.0, 0.1, (config.vocab_size, config.d_model)),
               "backbone.norm_f.weight": np.ones(config.d_model)}
    for layer in range(config.n_layer):
        prefix = f"backbone.layers.{layer}."
        step = np.exp(rng.uniform(math.log(1e-3), math.log(0.1), heads))
        weights |= {
            prefix + "norm.weight": np.ones(config.d_model),
            prefix + "mixer.in_proj.weight":
                rng.normal(0.0, 0.1, (inner + channels + heads, config.d_model)),
            prefix + "mixer.conv1d.weight":
                rng.uniform(-0.5, 0.5, (channels, 1, config.d_conv)),
            prefix + "mixer.conv1d.bias": np.zeros(channels),
            prefix + "mixer.dt_bias": step + np.log(-np.expm1(-step)),
            prefix + "mixer.A_log": np.log(np.arange(1.0, heads + 1.0)),
            prefix + "mixer.D": np.ones(heads),
            prefix + "mixer.norm.weight": np.ones(inner),
            prefix + "mixer.out_proj.weight":
                rng.normal(0.0, 0.1, (config.d_model, inner)),
        }
    return {name: w.astype(np.float32) for name, w in weights.items()}


def make_state_spaces(case: StateSpacesCase, out: pathlib.Path) -> None:
    # 61 words are padded to 64 rows, as state-spaces pads its vocabulary.
    form = dict(d_model=32, d_intermediate=0, n_layer=3, vocab_size=61,
                ssm_cfg=dict(layer="Mamba2", d_state=8, headdim=8, ngroups=4,
                             chunk_size=16) | case.ssm_cfg,
                attn_layer_idx=[], attn_cfg={}, rms_norm=True,
                residual_in_fp32=True, fused_add_norm=True,
                pad_vocab_size_multiple=16, tie_embeddings=True)
    config = reference.config_from_state_spaces(form)
    rng = np.random.default_rng(case.seed)
    weights = draw_weights(config, rng)
    show_the_state(weights, rng)
    ids = draw_ids(rng, form["vocab_size"])
    logits = checked_logits(case.name, config, weights, ids)

    folder = out / case.name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(form, indent=2) + "\n")
    save_file(weights, folder / "weights.safetensors")
    write_tensors(folder, ids, logits)


def installed_norms_over_groups() -> bool:
    config = transformers.Mamba2Config(**(SMALL | dict(
        n_groups=4, state_size=8, num_hidden_layers=1)))
    with torch.device("meta"):
        mixer = transformers.Mamba2ForCausalLM(config).backbone.layers[0].mixer
    return getattr(mixer.norm, "group_size", None) == 16  # 64 channels / 4


def main() -> None:
    root = pathlib.Path(__file__).resolve().parent.parent
    parser = argparse.ArgumentParser(
        description="Makes the golden files; the head of this file says more.")
    parser.add_argument("--out", type=pathlib.Path,
                        default=root / "test" / "Integration" / "goldens")
    out = parser.parse_args().out
    torch.set_num_threads(1)  # one order of summation
    print(f"transformers {transformers.__version__}, torch {torch.__version__}")

    over_groups = installed_norms_over_groups()
    for case in TRANSFORMERS_CASES:
        if case.norm_over_groups == over_groups:
            make_transformers(case, out)
        else:
            print(f"{case.name}: left alone, it needs another transformers")
    for case in STATE_SPACES_CASES:
        make_state_spaces(case, out)
    size = sum(file.stat().st_size for file in out.rglob("*")
               if file.is_file() and file.name != "gradients.safetensors")
    assert size <= SIZE_LIMIT, f"the goldens take {size} of {SIZE_LIMIT} bytes"
    print(f"{size} bytes in {out}")


if __name__ == "__main__":
    main()
