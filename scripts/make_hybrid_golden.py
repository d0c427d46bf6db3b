#!/usr/bin/env python3
# Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes the golden files of the hybrids: Mamba-2, attention and MLP layers.

Each folder of test/Integration/goldens-hybrid holds config.json,
weights.safetensors (f32, as transformers saves them), inputs.safetensors
("input_ids", i32 [batch, seq]) and logits.safetensors ("logits", f32
[batch, seq, vocab]):

  bamba               Mamba, attention, Mamba; two groups, eight query heads
                      on four key heads, half of a head's channels rotated
  bamba-options       all biases but the convolution's, tied embeddings, a
                      finite time_step_limit, other rotary settings
  nemotron_h          "M-*M": four groups, heads wider than hidden / heads
  nemotron_h-options  the biases that it has, a time_step_min that cuts
  granite             Granite 4.0 H: no positions, four multipliers, tied
                      embeddings
  granite-options     rotated heads of another size, all biases that it has, a
                      head of its own

The logits of granite are f64, from the f32 weights: transformers rounds norms,
scans and rotations to f32 whatever the model's type is, so for them its module
sees a torch whose float32 is float64.

  python scripts/make_hybrid_golden.py

Run with Python 3.11.7, torch 2.15.0 (on CPU), transformers 5.23.0, safetensors
0.8.0, numpy 2.4.6. The seeds are fixed; another machine or version may round
the last bits otherwise.

As in make_goldens.py the weights are changed after their initialisation, so
that nothing hides, and a golden is written only if each of these changes to the
model moves the logits by a rel_l2 above 1e-2: forgetting everything half-way, no
rotation of queries and keys or another theta (where it matters), uniform
attention, one group in the gated norm, no MLP, no time step limit (where one is
set), each multiplier left out.
"""

import argparse
import contextlib
import dataclasses
import os
import pathlib
import sys
from typing import Callable, Dict, Iterator

os.environ.setdefault("HF_HUB_OFFLINE", "1")  # nothing here comes from a hub

import numpy as np
import torch
import transformers
from safetensors.numpy import save_file

from make_goldens import VISIBLE, draw_ids, rel_l2, save_as_transformers

SIZE_LIMIT = 704 << 10  # of all files together, in bytes

# Sizes of both; Bamba's Mamba layers take theirs from mamba_expand.
SMALL = dict(hidden_size=32, vocab_size=48, num_attention_heads=8,
             num_key_value_heads=4, pad_token_id=0, bos_token_id=0,
             eos_token_id=0)
BAMBA = SMALL | dict(intermediate_size=24, num_hidden_layers=3,
                     attn_layer_indices=[1], mamba_expand=1, mamba_n_heads=8,
                     mamba_d_head=4, mamba_n_groups=2, mamba_d_state=4,
                     mamba_chunk_size=16)
NEMOTRON = SMALL | dict(intermediate_size=40, hybrid_override_pattern="M-*M",
                        head_dim=8, mamba_num_heads=8, mamba_head_dim=4,
                        n_groups=4, ssm_state_size=4, chunk_size=16)
GRANITE = SMALL | dict(intermediate_size=9, shared_intermediate_size=24,
                       num_hidden_layers=3, num_local_experts=0,
                       num_experts_per_tok=0,
                       layer_types=["mamba", "attention", "mamba"],
                       position_embedding_type="nope", mamba_expand=1,
                       mamba_n_heads=8, mamba_d_head=4, mamba_n_groups=2,
                       mamba_d_state=4, mamba_chunk_size=16,
                       tie_word_embeddings=True, embedding_multiplier=3.0,
                       attention_multiplier=0.2, residual_multiplier=0.6,
                       logits_scaling=7.0)


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    seed: int
    fields: dict

    @property
    def family(self) -> str:
        return dict(bamba="Bamba", nemotron_h="NemotronH",
                    granite="GraniteMoeHybrid")[self.name.split("-")[0]]

    @property
    def is_wide(self) -> bool:
        return self.family == "GraniteMoeHybrid"


CASES = [
    Case("bamba", 41, BAMBA),
    Case("bamba-options", 42, BAMBA | dict(
        num_hidden_layers=2, attn_layer_indices=[0], attention_bias=True,
        mlp_bias=True, mamba_proj_bias=True, mamba_conv_bias=False,
        mamba_chunk_size=24, time_step_limit=[0.05, 0.4],
        tie_word_embeddings=True,
        rope_parameters=dict(rope_type="default", rope_theta=100.0,
                             partial_rotary_factor=1.0))),
    Case("nemotron_h", 43, NEMOTRON),
    Case("nemotron_h-options", 44, NEMOTRON | dict(
        hybrid_override_pattern="*-M", use_bias=True, mlp_bias=True,
        use_conv_bias=False, chunk_size=24, time_step_min=0.3,
        time_step_max=0.5, num_key_value_heads=8)),
    Case("granite", 45, GRANITE),
    Case("granite-options", 46, GRANITE | dict(
        num_hidden_layers=2, layer_types=["attention", "mamba"],
        position_embedding_type="rope", attention_bias=True,
        mamba_proj_bias=True, mamba_conv_bias=False, mamba_chunk_size=24,
        time_step_limit=[0.05, 0.4], tie_word_embeddings=False, head_dim=8,
        rope_parameters=dict(rope_type="default", rope_theta=100.0))),
]


def make_model(case: Case):
    config = getattr(transformers, case.family + "Config")(**case.fields)
    return getattr(transformers, case.family + "ForCausalLM")(config).eval()


class WideTorch:
    """torch, whose float32 is float64."""

    def __getattr__(self, name: str):
        return getattr(torch, {"float32": "float64", "float": "float64"}.get(name, name))


@contextlib.contextmanager
def in_double(model: torch.nn.Module) -> Iterator[None]:
    """The model in f64 for good, and its module too as long as it lasts."""
    module = sys.modules[type(model).__module__]
    narrow = torch.Tensor.float
    model.double()
    module.torch, torch.Tensor.float = WideTorch(), torch.Tensor.double
    try:
        for rotary in modules(model, "RotaryEmbedding"):
            rotary.inv_freq, _ = rotary.compute_default_rope_parameters(
                model.config)
        yield
    finally:
        module.torch, torch.Tensor.float = torch, narrow


def show_everything(model: torch.nn.Module, rng: np.random.Generator) -> None:
    """Changes weights in place: slow decay in every second head, projections
    that matter beside the residual, and nothing left at 0 or 1, where a wrong
    slice would not be seen."""
    changes: Dict[str, Callable[[np.ndarray], np.ndarray]] = {
        "dt_bias": lambda w: rng.uniform(-2.0, 0.5, w.shape),
        ".D": lambda w: rng.uniform(0.2, 0.8, w.shape),
        "conv1d.weight": lambda w: rng.uniform(-0.6, 0.6, w.shape),
        "bias": lambda w: rng.normal(0.0, 0.1, w.shape),
        # Large scores, so that attention has something to choose between.
        "q_proj.weight": lambda w: rng.normal(0.0, 0.5, w.shape),
        "k_proj.weight": lambda w: rng.normal(0.0, 0.5, w.shape),
        "proj.weight": lambda w: rng.normal(0.0, 0.2, w.shape),
        "linear.weight": lambda w: rng.normal(0.0, 0.2, w.shape),
        "embeddings.weight": lambda w: rng.normal(0.0, 0.5, w.shape),
        "embed_tokens.weight": lambda w: rng.normal(0.0, 0.5, w.shape),
        "lm_head.weight": lambda w: rng.normal(0.0, 0.2, w.shape),
        "weight": lambda w: rng.uniform(0.6, 1.4, w.shape),  # of norms
    }
    with torch.no_grad():
        for name, weight in sorted(model.named_parameters()):
            old = weight.numpy()
            if name.endswith("A_log"):
                slow = rng.uniform(0.002, 0.015, old[::2].shape)
                new = old.copy()
                new[::2] = np.log(slow)
            else:
                change = next(c for e, c in changes.items() if name.endswith(e))
                new = change(old)
            weight.copy_(torch.from_numpy(np.asarray(new, dtype=np.float32)))


def run(model: torch.nn.Module, ids: np.ndarray) -> np.ndarray:
    with torch.no_grad():
        output = model(torch.from_numpy(ids).long(), use_cache=False)
        return output.logits.numpy()


@contextlib.contextmanager
def changed(module: object, **values) -> Iterator[None]:
    """The module with other values of attributes, for as long as it lasts."""
    old = {name: getattr(module, name) for name in values}
    for name, value in values.items():
        setattr(module, name, value)
    try:
        yield
    finally:
        for name, value in old.items():
            setattr(module, name, value)


def modules(model: torch.nn.Module, ending: str):
    return [m for m in model.modules() if type(m).__name__.endswith(ending)]


def other_models(model: torch.nn.Module,
                 ids: np.ndarray) -> Dict[str, np.ndarray]:
    """The logits of the models that a golden must tell apart from its own."""
    def with_changes(found, **values) -> np.ndarray:
        with contextlib.ExitStack() as stack:
            for module in found:
                stack.enter_context(changed(module, **values))
            return run(model, ids)

    half = ids.shape[1] // 2
    seen = {"a lost past": np.concatenate(
        [run(model, ids[:, :half]), run(model, ids[:, half:])], axis=1)}
    seen["uniform attention"] = with_changes(modules(model, "Attention"),
                                             scaling=1e-6)
    gated = modules(model, "RMSNormGated")
    seen["one norm group"] = with_changes(gated,
                                          group_size=gated[0].weight.numel())
    seen["no MLP"] = with_changes(modules(model, "MLP"),
                                  forward=lambda x: torch.zeros_like(x))
    for rotary in modules(model, "RotaryEmbedding"):
        frequencies = rotary.inv_freq
        seen["no rotation"] = with_changes([rotary], inv_freq=0 * frequencies)
        if len(frequencies) > 1:  # theta^0 is 1, whatever theta is
            seen["another theta"] = with_changes(
                [rotary], inv_freq=frequencies ** 1.2)
    if isinstance(model, transformers.GraniteMoeHybridForCausalLM):
        seen["no embedding multiplier"] = with_changes(
            [model.model], embedding_multiplier=1.0)
        seen["no residual multiplier"] = with_changes(
            modules(model, "DecoderLayer"), residual_multiplier=1.0)
        seen["the usual attention scale"] = with_changes(
            modules(model, "Attention"),
            scaling=modules(model, "Attention")[0].head_dim ** -0.5)
        seen["no logits scaling"] = with_changes([model.config],
                                                 logits_scaling=1.0)
    mixers = modules(model, "Mixer") or modules(model, "MambaLayer")
    if mixers[0].time_step_limit[0] > 0.01:
        seen["no time step limit"] = with_changes(
            mixers, time_step_limit=(0.0, float("inf")))
    return seen


def make(case: Case, out: pathlib.Path) -> None:
    torch.manual_seed(case.seed)
    rng = np.random.default_rng(case.seed)
    model = make_model(case)
    show_everything(model, rng)
    ids = draw_ids(rng, case.fields["vocab_size"])
    logits = run(model, ids)
    seen = {what: rel_l2(got, logits)
            for what, got in other_models(model, ids).items()}
    for what, distance in seen.items():
        assert distance > VISIBLE, f"{case.name}: {what} would not be seen"
    shown = ", ".join(f"{what} {value:.2g}" for what, value in seen.items())
    print(f"{case.name}: rel_l2 of {shown}")

    folder = out / case.name
    folder.mkdir(parents=True, exist_ok=True)
    save_as_transformers(model, folder)
    if case.is_wide:
        with in_double(model):
            wide = run(model, ids)
        assert rel_l2(logits, wide) < 1e-5, f"{case.name} in f64 is another"
        logits = wide
    save_file({"input_ids": ids}, folder / "inputs.safetensors")
    save_file({"logits": logits}, folder / "logits.safetensors")


def main() -> None:
    root = pathlib.Path(__file__).resolve().parent.parent
    parser = argparse.ArgumentParser(
        description="Makes the hybrids' golden files; the head of this file "
                    "says more.")
    parser.add_argument(
        "--out", type=pathlib.Path,
        default=root / "test" / "Integration" / "goldens-hybrid")
    out = parser.parse_args().out
    torch.set_num_threads(1)  # one order of summation
    print(f"transformers {transformers.__version__}, torch {torch.__version__}")
    for case in CASES:
        make(case, out)
    size = sum(file.stat().st_size for file in out.rglob("*")
               if file.is_file() and file.name != "gradients.safetensors")
    assert size <= SIZE_LIMIT, f"the goldens take {size} of {SIZE_LIMIT} bytes"
    print(f"{size} bytes in {out}")


if __name__ == "__main__":
    main()
