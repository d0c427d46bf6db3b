# Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The Mamba-2 scan in PyTorch: the published minimal form, and one in batched
matrix products.

Both take x [b, l, h, p], delta [b, l, h] (after softplus), A [h] (negative),
B and C [b, l, g, n], and D [h]; l is a multiple of the chunk. Both return y and
the final state [b, h, p, n].
"""

import torch
import torch.nn.functional as F


def segment_sums(a):
    """[..., l] to [..., l, l]: sum of a over (j, i], -inf above the diagonal."""
    length = a.size(-1)
    a = a.unsqueeze(-1).expand(*a.shape, length)
    below = torch.ones(length, length, dtype=torch.bool, device=a.device).tril(-1)
    sums = a.masked_fill(~below, 0).cumsum(-2)
    return sums.masked_fill(~below.logical_or(torch.eye(length, dtype=torch.bool)), -torch.inf)


def minimal(x, delta, A, B, C, D, chunk):
    """The listing of the Mamba-2 paper (ssd_minimal_discrete): four einsums."""
    b, l, h, p = x.shape
    skip = D[:, None] * x
    repeat = h // B.size(2)
    B, C = (t.repeat_interleave(repeat, 2) if repeat > 1 else t for t in (B, C))
    cut = lambda t: t.reshape(b, l // chunk, chunk, *t.shape[2:])
    X, B, C = cut(x * delta[..., None]), cut(B), cut(C)
    a = cut(delta * A).permute(0, 3, 1, 2)
    sums = a.cumsum(-1)
    decays = segment_sums(a).exp()
    y = torch.einsum("bclhn,bcshn,bhcls,bcshp->bclhp", C, B, decays, X)
    to_end = (sums[..., -1:] - sums).exp()
    states = torch.einsum("bclhn,bhcl,bclhp->bchpn", B, to_end, X)
    states = torch.cat([torch.zeros_like(states[:, :1]), states], 1)
    between = segment_sums(F.pad(sums[..., -1], (1, 0))).exp()
    states = torch.einsum("bhzc,bchpn->bzhpn", between, states)
    states, final = states[:, :-1], states[:, -1]
    y = y + torch.einsum("bclhn,bchpn,bhcl->bclhp", C, states, sums.exp())
    return y.reshape(b, l, h, p) + skip, final


def batched(x, delta, A, B, C, D, chunk):
    """C B^T once a group, everything else a batched product; states one chunk
    after another in f32 or wider."""
    b, l, h, p = x.shape
    g, n = B.shape[2:]
    c, r, dtype = l // chunk, h // g, x.dtype
    wide = torch.promote_types(dtype, torch.float32)
    # [b, c, h, q, ...]
    X = x.reshape(b, c, chunk, h, p).transpose(2, 3)
    step = delta.reshape(b, c, chunk, h).transpose(2, 3).to(wide)
    B, C = (t.reshape(b, c, chunk, g, n).transpose(2, 3) for t in (B, C))
    sums = (step * A.to(wide)[:, None]).cumsum(-1)
    products = C @ B.transpose(-1, -2)
    # Autograd needs what was there before; without it nothing is made anew.
    tril, exp, mul = (
        getattr(torch.Tensor, name + ("" if torch.is_grad_enabled() else "_"))
        for name in ("tril", "exp", "mul")
    )
    weights = tril(exp(tril(sums[..., :, None] - sums[..., None, :])))
    weights = weights.reshape(b, c, g, r, chunk, chunk)
    weights = mul(weights, products[:, :, :, None])
    weights = mul(weights, step.reshape(b, c, g, r, 1, chunk))
    y = weights.to(dtype).reshape(b, c, h, chunk, chunk) @ X
    to_end = mul(exp(sums[..., -1:] - sums), step)
    decayed = (X * to_end[..., None].to(dtype)).reshape(b, c, g, r, chunk, p)
    # [b, c, g, n, q] times [b, c, g, q, r p].
    side = decayed.permute(0, 1, 2, 4, 3, 5).reshape(b, c, g, chunk, r * p)
    own = (B.transpose(-1, -2) @ side).to(wide)
    through = sums[..., -1].exp().reshape(b, c, g, 1, r, 1)
    state = torch.zeros(b, g, n, r * p, dtype=wide)
    before = torch.empty(b, c, g, n, r * p, dtype=dtype)
    for i in range(c):
        before[:, i] = state
        state = (state.view(b, g, n, r, p) * through[:, i]).view_as(state) + own[:, i]
    entering = (C @ before).reshape(b, c, g, chunk, r, p).transpose(3, 4)
    y = y.view(b, c, g, r, chunk, p) + entering * sums.exp().reshape(
        b, c, g, r, chunk, 1
    ).to(dtype)
    y = y.reshape(b, c, h, chunk, p).transpose(2, 3).reshape(b, l, h, p)
    final = state.view(b, g, n, r, p).permute(0, 1, 3, 4, 2).reshape(b, h, p, n)
    return y + D[:, None].to(dtype) * x, final.to(dtype)


FORMS = {"minimal": minimal, "batched": batched}
