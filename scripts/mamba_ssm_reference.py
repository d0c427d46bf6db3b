#!/usr/bin/env python3
# Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A Mamba-2 language model in plain numpy, f64, one token after the other.

It follows the semantics of mamba_ssm (github.com/state-spaces/mamba:
modules/mamba2.py, ops/triton/layernorm_gated.py, models/mixer_seq_simple.py)
and was written from the equations of the Mamba-2 paper (arXiv 2405.21060), so
it shares no code with the compiler, with mamba_ssm or with transformers:

    z, x, B, C, dt = split(W_in u)           x, B, C = silu(conv(x, B, C))
    d_t = clamp(softplus(dt_t + dt_bias))    S_t = exp(d_t A) S_{t-1} + d_t x_t B_t^T
    y_t = S_t C_t + D x_t                    out = W_out norm(y, z)

The scan is a loop over tokens, not the chunked form, so that `chunk_size`
cannot matter. Needs numpy only (run with 2.4.6).

    mamba_ssm_reference.py CONFIG.json    prints what a state-spaces config means
"""

import json
import math
import sys
from dataclasses import dataclass
from typing import Dict, Optional, Tuple

import numpy as np

Weights = Dict[str, np.ndarray]

# The keys of a state-spaces config that do not change a single number of an
# inference in f64: kernels, numerics of lower precision, and initialisation.
_WITHOUT_EFFECT = {
    "chunk_size", "use_mem_eff_path", "conv_init", "A_init_range", "dt_min",
    "dt_max", "dt_init_floor",
}


@dataclass(frozen=True)
class Config:
    """The architecture. `norm_group_size` counts channels of the inner width."""

    d_model: int
    n_layer: int
    vocab_size: int  # after padding: the rows of the embedding
    d_state: int = 128
    d_conv: int = 4
    expand: int = 2
    headdim: int = 64
    ngroups: int = 1
    norm_before_gate: bool = False
    norm_group_size: Optional[int] = None  # None: d_inner / ngroups
    norm_epsilon: float = 1e-5
    dt_limit: Tuple[float, float] = (0.0, math.inf)
    tie_embeddings: bool = True

    @property
    def d_inner(self) -> int:
        return self.expand * self.d_model

    @property
    def nheads(self) -> int:
        return self.d_inner // self.headdim

    @property
    def gate_group_size(self) -> int:
        return self.norm_group_size or self.d_inner // self.ngroups


def config_from_state_spaces(form: dict) -> Config:
    """Reads the form of state-spaces' published files.

    Raises ValueError on a key or a value that this reference does not compute.
    """
    ssm = dict(form["ssm_cfg"])
    if ssm.pop("layer", "Mamba1") != "Mamba2":
        raise ValueError("ssm_cfg.layer: expected 'Mamba2' (absent means Mamba1)")
    if form.get("d_intermediate") or form.get("attn_layer_idx"):
        raise ValueError("d_intermediate and attn_layer_idx: expected 0 and []")
    if not form.get("rms_norm", True) or not ssm.pop("rmsnorm", True):
        raise ValueError("rms_norm, ssm_cfg.rmsnorm: expected true")
    for key in _WITHOUT_EFFECT | {"bias", "conv_bias"}:
        ssm.pop(key, None)  # a bias is used where the weights hold one
    if "dt_limit" in ssm:
        ssm["dt_limit"] = tuple(float(bound) for bound in ssm["dt_limit"])
    known = {"d_state", "d_conv", "expand", "headdim", "ngroups",
             "norm_before_gate", "dt_limit"}
    if set(ssm) - known:
        raise ValueError(f"ssm_cfg: unknown keys {sorted(set(ssm) - known)}")
    multiple = form.get("pad_vocab_size_multiple", 8)
    padded = -(-form["vocab_size"] // multiple) * multiple
    return Config(d_model=form["d_model"], n_layer=form["n_layer"],
                  vocab_size=padded,
                  tie_embeddings=form.get("tie_embeddings", True), **ssm)


def silu(x: np.ndarray) -> np.ndarray:
    return x / (1.0 + np.exp(-x))


def rms_norm(x: np.ndarray, weight: np.ndarray, epsilon: float,
             group_size: int) -> np.ndarray:
    """RMS norm of each run of `group_size` channels of the last dimension."""
    groups = x.reshape(*x.shape[:-1], -1, group_size)
    mean_square = np.mean(groups * groups, axis=-1, keepdims=True)
    return (groups / np.sqrt(mean_square + epsilon)).reshape(x.shape) * weight


def gated_rms_norm(y: np.ndarray, z: np.ndarray, weight: np.ndarray,
                   config: Config) -> np.ndarray:
    """norm(y) * silu(z) if `norm_before_gate`, else norm(y * silu(z))."""
    size, epsilon = config.gate_group_size, config.norm_epsilon
    if config.norm_before_gate:
        return rms_norm(y, weight, epsilon, size) * silu(z)
    return rms_norm(y * silu(z), weight, epsilon, size)


def causal_conv(x: np.ndarray, weight: np.ndarray,
                bias: Optional[np.ndarray]) -> np.ndarray:
    """Depthwise convolution; x [batch, seq, channels], weight [channels, 1, w].

    The last tap meets the token itself, the one before it the token before.
    """
    taps = weight.shape[-1]
    out = np.zeros_like(x)
    for tap in range(taps):
        delay = taps - 1 - tap
        out[:, delay:] += x[:, :x.shape[1] - delay] * weight[:, 0, tap]
    return out if bias is None else out + bias


def step_sizes(dt: np.ndarray, dt_bias: np.ndarray, config: Config) -> np.ndarray:
    """clamp(softplus(dt + dt_bias)): softplus first, then the limit."""
    return np.clip(np.logaddexp(0.0, dt + dt_bias), *config.dt_limit)


def selective_scan(x: np.ndarray, step: np.ndarray, a: np.ndarray,
                   b: np.ndarray, c: np.ndarray, d: np.ndarray,
                   forget_at: Optional[int] = None) -> np.ndarray:
    """The recurrence. x [batch, seq, heads, p], step [batch, seq, heads],
    a and d [heads], b and c [batch, seq, groups, n]; returns the shape of x.

    Head h reads group h // (heads / groups). `forget_at` zeroes the state
    before that token: what a lost state would do.
    """
    batch, seq, heads, p = x.shape
    per_group = heads // b.shape[2]
    b = np.repeat(b, per_group, axis=2)
    c = np.repeat(c, per_group, axis=2)
    state = np.zeros((batch, heads, p, b.shape[-1]))
    y = np.empty_like(x)
    for t in range(seq):
        if t == forget_at:
            state[:] = 0.0
        decay = np.exp(step[:, t] * a)[..., None, None]
        pushed = (step[:, t, :, None] * x[:, t])[..., None] * b[:, t, :, None, :]
        state = decay * state + pushed
        y[:, t] = np.einsum("bhpn,bhn->bhp", state, c[:, t])
    return y + d[:, None] * x


def _linear(x: np.ndarray, weights: Weights, name: str) -> np.ndarray:
    out = x @ weights[name + ".weight"].T
    bias = weights.get(name + ".bias")
    return out if bias is None else out + bias


def mixer(u: np.ndarray, weights: Weights, prefix: str, config: Config,
          forget_at: Optional[int] = None,
          steps_seen: Optional[list] = None) -> np.ndarray:
    """One Mamba-2 mixer, u [batch, seq, d_model]. Appends its step sizes
    [batch, seq, heads] to `steps_seen`."""
    batch, seq, _ = u.shape
    inner, state = config.d_inner, config.ngroups * config.d_state
    projected = _linear(u, weights, prefix + "in_proj")
    z, xbc, dt = np.split(projected, [inner, 2 * inner + 2 * state], axis=-1)
    xbc = silu(causal_conv(xbc, weights[prefix + "conv1d.weight"],
                           weights.get(prefix + "conv1d.bias")))
    x, b, c = np.split(xbc, [inner, inner + state], axis=-1)
    step = step_sizes(dt, weights[prefix + "dt_bias"], config)
    if steps_seen is not None:
        steps_seen.append(step)
    grouped = (batch, seq, config.ngroups, config.d_state)
    y = selective_scan(x.reshape(batch, seq, config.nheads, config.headdim), step,
                       -np.exp(weights[prefix + "A_log"]), b.reshape(grouped),
                       c.reshape(grouped), weights[prefix + "D"], forget_at)
    y = gated_rms_norm(y.reshape(batch, seq, inner), z,
                       weights[prefix + "norm.weight"], config)
    return _linear(y, weights, prefix + "out_proj")


def logits(config: Config, weights: Weights, input_ids: np.ndarray,
           forget_at: Optional[int] = None,
           steps_seen: Optional[list] = None) -> np.ndarray:
    """The whole model: f64 [batch, seq, vocab]. Weights carry the names that
    transformers gives them; every layer forgets its state at `forget_at`."""
    weights = {name: w.astype(np.float64) for name, w in weights.items()}
    embedding = weights["backbone.embeddings.weight"]
    hidden = embedding[input_ids]
    epsilon, width = config.norm_epsilon, config.d_model
    for layer in range(config.n_layer):
        prefix = f"backbone.layers.{layer}."
        normed = rms_norm(hidden, weights[prefix + "norm.weight"], epsilon, width)
        hidden = hidden + mixer(normed, weights, prefix + "mixer.", config,
                                forget_at, steps_seen)
    hidden = rms_norm(hidden, weights["backbone.norm_f.weight"], epsilon, width)
    head = embedding if config.tie_embeddings else weights["lm_head.weight"]
    return hidden @ head.T


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with open(sys.argv[1], encoding="utf-8") as file:
        print(config_from_state_spaces(json.load(file)))
