#!/usr/bin/env python3
# Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How far a kernel and PyTorch are from f64, on the same numbers.

Speaks the workers' language:

    draw op=ssd dtype=bf16 dir=DIR ...     writes inputs to DIR/in0, DIR/in1, ...
    compare op=ssd dtype=bf16 dir=DIR ...  reads outputs from DIR/out0: answers
                                           their relative L2 distance from an
                                           oracle in f64, and PyTorch's
    draw_grad, compare_grad                the same of the gradients by all inputs,
                                           for a cotangent that is the last input:
                                           of the one that compares worst

Files hold f32 in C order. The oracle sees the inputs as the type holds them.
"""

import pathlib
import sys

import numpy as np
import torch
import torch.nn.functional as F

import ssd_forms
from torch_setup import TYPES, draw

F64 = torch.float64


def ssd_inputs(s):
    length, heads = int(s["length"]), int(s["heads"])
    return [
        draw(1, length, heads, 64),
        draw(1, length, heads, low=-4),
        draw(heads, low=0, high=2.7),
        draw(1, length, 1, 128),
        draw(1, length, 1, 128),
        draw(heads),
        draw(heads),
    ]


def ssd_oracle(x, dt, A_log, B, C, D, bias):
    """Token by token."""
    delta = F.softplus(dt + bias)
    state = torch.zeros(*x.shape[:1], *x.shape[2:], B.shape[-1], dtype=x.dtype)
    y = torch.empty_like(x)
    for t in range(x.shape[1]):
        decay = (-A_log.exp() * delta[:, t])[..., None, None].exp()
        step = (delta[:, t, :, None] * x[:, t])[..., None] * B[:, t, :, None]
        state = state * decay + step
        y[:, t] = (state * C[:, t, :, None]).sum(-1) + D[:, None] * x[:, t]
    return y


def ssd_peers(x, dt, A_log, B, C, D, bias):
    delta = F.softplus(dt + bias)
    for name, form in ssd_forms.FORMS.items():
        for chunk in (64, 128, 256):
            yield f"{name}-{chunk}", form(x, delta, -A_log.exp(), B, C, D, chunk)[0]


def conv1d_inputs(s):
    channels = int(s["channels"])
    return [draw(1, int(s["length"]), channels), draw(channels, 4), draw(channels)]


def conv1d(x, weight, bias):
    y = F.conv1d(x.transpose(1, 2), weight[:, None], bias, padding=3, groups=x.size(2))
    return F.silu(y[..., : x.size(1)]).transpose(1, 2)


def rms_norm_inputs(s):
    rows, width = int(s["length"]), int(s["channels"])
    return [draw(rows, width), draw(width), draw(rows, width)]


def rms_norm(x, weight, gate):
    """As transformers computes it: in f32 where x is bf16."""
    wide = torch.promote_types(x.dtype, torch.float32)
    y = x.to(wide) * F.silu(gate.to(wide))
    y = y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + 1e-5)
    return weight * y.to(x.dtype)


def attention_inputs(s):
    return [draw(1, int(s["length"]), int(s["heads"]), int(s["size"])) for _ in range(3)]


def attention(q, k, v):
    q, k, v = (t.transpose(1, 2) for t in (q, k, v))
    return F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2)


def attention_oracle(q, k, v):
    scores = torch.einsum("blhd,bshd->bhls", q, k) / q.size(-1) ** 0.5
    later = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
    return torch.einsum("bhls,bshd->blhd", scores.masked_fill(later, -torch.inf).softmax(-1), v)


def matmul_inputs(s):
    m, n, k = (int(s[key]) for key in "mnk")
    return [draw(m, k), draw(n, k)]


def only(call):
    return lambda *tensors: [("torch", call(*tensors))]


# Inputs, oracle, and PyTorch's results by label.
OPS = {
    "ssd": (ssd_inputs, ssd_oracle, ssd_peers),
    # As two ranks compute it; PyTorch has one form for both.
    "ssd_halves": (ssd_inputs, ssd_oracle, ssd_peers),
    "conv1d": (conv1d_inputs, conv1d, only(conv1d)),
    "rms_norm": (rms_norm_inputs, rms_norm, only(rms_norm)),
    "attention": (attention_inputs, attention_oracle, only(attention)),
    "matmul": (matmul_inputs, F.linear, only(F.linear)),
}


def distance(result, oracle):
    return float((result.to(F64) - oracle).norm() / oracle.norm())


def read(folder, number, like):
    numbers = np.fromfile(folder / f"out{number}", np.float32)
    return torch.from_numpy(numbers).view(like.shape)


def gradients(result, tensors, dy):
    # Forms may share what they begin with.
    return torch.autograd.grad(result, tensors, dy.to(result.dtype), retain_graph=True)


@torch.enable_grad()
def compare_gradients(folder, oracle, peers, tensors, dy):
    """The least of PyTorch's distance over ours: of all gradients, each beside the
    form that comes closest."""
    wide = [tensor.to(F64).requires_grad_(True) for tensor in tensors]
    expected = gradients(oracle(*wide), wide, dy)
    own = [tensor.requires_grad_(True) for tensor in tensors]
    found = [
        (label, gradients(result, own, dy)) for label, result in peers(*own)
    ]
    # Behind the result itself, where that is written too.
    first = len(list(folder.glob("out*"))) - len(expected)
    compared = []
    for number, exact in enumerate(expected):
        ours = distance(read(folder, first + number, exact), exact)
        best, label = min((distance(grads[number], exact), label) for label, grads in found)
        compared.append((best / ours, ours, best, f"{number}:{label}"))
    _, ours, best, label = min(compared)
    return f"{ours:.9g} {best:.9g} {label}"


def answer(line):
    name, *words = line.split()
    settings = dict(word.split("=") for word in words)
    folder = pathlib.Path(settings["dir"])
    inputs, oracle, peers = OPS[settings["op"]]
    torch.manual_seed(1)
    tensors = [tensor.to(TYPES[settings["dtype"]]) for tensor in inputs(settings)]
    is_gradient = name.endswith("_grad")
    if is_gradient:
        dy = draw(*tensors[0].shape).to(tensors[0].dtype)
    if name.startswith("draw"):
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.glob("out*"):
            old.unlink()
        for number, tensor in enumerate([*tensors, dy] if is_gradient else tensors):
            tensor.float().numpy().tofile(folder / f"in{number}")
        return f"{len(tensors)}"
    if is_gradient:
        return compare_gradients(folder, oracle, peers, tensors, dy)
    expected = oracle(*(tensor.to(F64) for tensor in tensors))
    ours = read(folder, 0, expected)
    found = [(distance(result, expected), label) for label, result in peers(*tensors)]
    best, label = min(found)
    return f"{distance(ours, expected):.9g} {best:.9g} {label}"


def main():
    for line in sys.stdin:
        try:
            print(answer(line), flush=True)
        except Exception as error:
            print("error: " + " ".join(str(error).split()), flush=True)


if __name__ == "__main__":
    main()
