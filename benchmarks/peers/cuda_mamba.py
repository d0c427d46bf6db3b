"""Times the Triton kernels of mamba_ssm at the shapes of cp-bench-cuda.

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


def scan(module, name, length):
    heads, width, groups, states, chunk = MODELS[name]
    x = draw(1, length, heads, width)
    dt = draw(1, length, heads, low=-4, high=0)
    rate = -torch.exp(draw(heads, low=0, high=2.7, dtype=torch.float32))
    B, C = draw(1, length, groups, states), draw(1, length, groups, states)
    skip, bias = draw(heads, dtype=torch.float32), draw(heads, dtype=torch.float32)
    time(
        f"ssd-{name}",
        length,
        2 * (2 * x.numel() + 2 * B.numel() + dt.numel()),
        lambda: module.mamba_chunk_scan_combined(
            x, dt, rate, B, C, chunk, D=skip, dt_bias=bias, dt_softplus=True
        ),
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


if __name__ == "__main__":
    main()
