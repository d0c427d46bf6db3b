"""Times the Triton kernels of mamba_ssm, and torch's attention, at the shapes of
cp-bench-cuda.

usage: cuda_mamba.py FOLDER, which holds the package mamba_ssm. Its compiled parts
are not needed: only the files of its kernels are read. Rows are named as those of
cp-bench-cuda, with the median of triton.testing.do_bench, autotuned and warm.
"""

import importlib
import os
import sys
import types

import torch
import triton

MODELS = {
    "granite-4.0-h-small": (128, 64, 1, 128, 256),
    "mamba2-2.7b": (80, 64, 1, 128, 256),
    "nemotron-h-8b": (128, 64, 8, 128, 128),
    "mamba2-130m": (24, 64, 1, 128, 256),
}
LENGTHS = (65536, 16384, 4096, 1024)
HEADS = {
    "h32-kv8-d128": (32, 8, 128),
    "h16-kv16-d64": (16, 16, 64),
    "h32-kv32-d160": (32, 32, 160),
}


def kernels(root):
    """The modules of the kernels, without what the package imports by itself."""
    sys.path.insert(0, root)
    for name in ("mamba_ssm", "mamba_ssm.ops", "mamba_ssm.ops.triton", "mamba_ssm.utils"):
        module = types.ModuleType(name)
        module.__path__ = [os.path.join(root, *name.split("."))]
        sys.modules[name] = module
    return (
        importlib.import_module("mamba_ssm.ops.triton.ssd_combined"),
        importlib.import_module("mamba_ssm.ops.triton.layernorm_gated"),
    )


def time(row, tokens, moved, call):
    call()
    ms = triton.testing.do_bench(call, warmup=25, rep=100, return_mode="median")
    print(f"{row},{tokens},{ms * 1000:.1f},{moved / ms / 1e6:.0f},{tokens / ms / 1000:.2f}", flush=True)


def draw(*shape, low=-1.0, high=1.0, dtype=torch.bfloat16):
    return (torch.rand(*shape, device="cuda") * (high - low) + low).to(dtype)


def norm(module, length, channels, groups):
    x, gate, weight = draw(length, channels), draw(length, channels), draw(channels)
    time(
        f"rms_norm-c{channels}-g{groups}",
        length,
        6 * x.numel(),
        lambda: module.rmsnorm_fn(
            x, weight, None, z=gate, eps=1e-5, group_size=channels // groups, norm_before_gate=False
        ),
    )


def scan_arguments(name, length):
    heads, width, groups, states, chunk = MODELS[name]
    x = draw(1, length, heads, width)
    dt = draw(1, length, heads, low=-4, high=0)
    rate = -torch.exp(draw(heads, low=0, high=2.7, dtype=torch.float32))
    B, C = draw(1, length, groups, states), draw(1, length, groups, states)
    skip, bias = draw(heads, dtype=torch.float32), draw(heads, dtype=torch.float32)
    return (x, dt, rate, B, C, chunk), {"D": skip, "dt_bias": bias}


def scan(module, name, length):
    (x, dt, rate, B, *rest), options = scan_arguments(name, length)
    time(
        f"ssd-{name}",
        length,
        2 * (2 * x.numel() + 2 * B.numel() + dt.numel()),
        lambda: module.mamba_chunk_scan_combined(x, dt, rate, B, *rest, **options, dt_softplus=True),
    )


def scan_gradient(module, name, length):
    (*inputs, chunk), options = scan_arguments(name, length)
    leaves = [tensor.requires_grad_() for tensor in (*inputs, *options.values())]
    y = module.mamba_chunk_scan_combined(*inputs, chunk, **options, dt_softplus=True)
    dy = torch.randn_like(y)
    x, dt, _, B, _ = inputs
    time(
        f"ssd_grad-{name}",
        length,
        2 * (3 * x.numel() + 4 * B.numel() + 2 * dt.numel()),
        lambda: torch.autograd.grad(y, leaves, dy, retain_graph=True),
    )


def attention(name, length):
    """The fastest of torch's forms that takes heads in groups."""
    from torch.nn.attention import SDPBackend, sdpa_kernel

    heads, groups, width = HEADS[name]
    q = draw(1, heads, length, width).requires_grad_()
    k, v = (draw(1, groups, length, width).requires_grad_() for _ in range(2))
    moved = 2 * (2 * q.numel() + 2 * k.numel())

    def forward():
        return torch.nn.functional.scaled_dot_product_attention(
            q, k, v, is_causal=True, enable_gqa=heads != groups
        )

    for form in (SDPBackend.CUDNN_ATTENTION, SDPBackend.FLASH_ATTENTION):
        with sdpa_kernel(form):
            o = forward()
            do = torch.randn_like(o)
            with torch.no_grad():
                time(f"attention-{name}/{form.name}", length, moved, forward)
            time(
                f"attention_grad-{name}/{form.name}",
                length,
                2 * moved,
                lambda o=o, do=do: torch.autograd.grad(o, (q, k, v), do, retain_graph=True),
            )


def main():
    if len(sys.argv) != 2 or not os.path.isdir(os.path.join(sys.argv[1], "mamba_ssm")):
        sys.exit("cuda_mamba.py: say the folder that holds the package mamba_ssm")
    scans, norms = kernels(sys.argv[1])
    print("row,tokens,us,GB/s,Mtokens/s")
    with torch.no_grad():
        for channels, groups in ((8192, 1), (8192, 8), (1536, 1)):
            norm(norms, 65536, channels, groups)
        for name in MODELS:
            for length in LENGTHS:
                scan(scans, name, length)
    for name in MODELS:
        for length in (16384, 4096):
            scan_gradient(scans, name, length)
    for name in HEADS:
        for length in (16384, 4096):
            attention(name, length)


if __name__ == "__main__":
    main()
