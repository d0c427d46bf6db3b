"""Functions of aten's operators, as small models."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional


class Function(nn.Module):
    """Of x [2, 8, 6] and a weight [6, 6]."""

    def __init__(self, function: Callable[[Tensor, Tensor], Tensor]) -> None:
        super().__init__()
        self.function = function
        self.weight = nn.Parameter(torch.randn(6, 6, dtype=torch.float64))
        self.register_buffer("scale", torch.rand(6, dtype=torch.float64))

    def forward(self, x: Tensor) -> Tensor:
        return self.function(x, self.weight) * self.scale


def rotated(x: Tensor) -> Tensor:
    places = torch.arange(x.shape[1])[None, :, None].to(x.dtype)
    angle = places * torch.tensor([1.0, 0.5, 0.25], dtype=x.dtype)
    a, b = x[..., :3], x[..., 3:]
    return torch.cat([a * angle.cos() - b * angle.sin(), b + a * angle.sin()], -1)


def heads(x: Tensor) -> Tensor:
    parts = x.view(2, 8, 3, 2).transpose(1, 2).permute(0, 2, 3, 1)
    return parts.transpose(2, 3).reshape(2, 8, 6)


FUNCTIONS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "add": lambda x, w: x + 2.0 + w[0],
    "broadcast": lambda x, w: x * x.mean(-1, keepdim=True) - w[1],
    "cat": lambda x, w: torch.cat([x[..., 4:], -x[..., :4]], dim=-1),
    "cat of nothing": lambda x, w: torch.cat([x[..., :2], x[..., 6:], x[..., 2:]], -1),
    "chunk": lambda x, w: torch.cat(list(x.chunk(3, dim=-1)[::-1]), -1),
    "chunk of linear": lambda x, w: torch.cat(
        list(functional.linear(x, w).chunk(2, dim=-1)[::-1]), -1
    ),
    "div": lambda x, w: x / (w[2].exp() + 1.0) / 3.0,
    "expand": lambda x, w: x * w[:1].unsqueeze(0).expand(2, 8, 6),
    "flatten": lambda x, w: x.view(2, 8, 2, 3).flatten(2) * 2,
    "heads": lambda x, w: heads(x),
    "linear": lambda x, w: functional.linear(x, w, w[0]),
    "mean": lambda x, w: x * x.pow(2).mean(dim=-1, keepdim=True),
    "relu": lambda x, w: functional.relu(x).square(),
    "rotary": lambda x, w: rotated(x),
    "rsqrt": lambda x, w: x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 0.1),
    "scalars": lambda x, w: 2 - x * 0.5,
    "sigmoid": lambda x, w: torch.sigmoid(x) * torch.tanh(x),
    "silu of much": lambda x, w: functional.silu(x * 1000),
    "silu": lambda x, w: functional.silu(x),
    "sin": lambda x, w: torch.sin(x) + torch.cos(x),
    "split": lambda x, w: x.split([1, 5], -1)[0] * x,
    "swiglu": lambda x, w: functional.silu(functional.linear(x, w) * 9) * x,
    "silu squared": lambda x, w: functional.silu(x) * functional.silu(x),
    "swiglu of itself": lambda x, w: (lambda s: s * s)(functional.silu(x)),
    "swiglu of one": lambda x, w: x * functional.silu(x),
    "swiglu of others": lambda x, w: functional.silu(x) * w[3],
    "sqrt": lambda x, w: torch.sqrt(x * x + 1.0),
    "stop": lambda x, w: x * x.detach(),
    "squeeze": lambda x, w: x.unsqueeze(2).squeeze(2) + 1.0,
    "through f32": lambda x, w: (x.float() * 2).double(),
    "abs": lambda x, w: (x * w[0]).abs(),
    "add of a multiple": lambda x, w: (
        torch.add(x, w[0], alpha=3) - torch.sub(x, 2.0, alpha=0.5)
    ),
    "clamp": lambda x, w: x.clamp(-0.5, 0.7) + x.clamp(max=0.1) * w[0],
    "clamp of what is at a bound": lambda x, w: (
        (x - x.detach() + 0.7).clamp(max=0.7) * w[0]
        + (x - x.detach() - 0.5).clamp(min=-0.5) * w[1]
    ),
    "abs of nothing": lambda x, w: (x - x.detach()).abs() * w[0] + x,
    "max of two alike": lambda x, w: (
        torch.maximum(x, 1.0 * x + 0.0 * w[0]) * w[1]
        + torch.minimum(x * w[2], x * w[2])
    ),
    "relu of nothing": lambda x, w: (x - x.detach()).relu() * w[0] + x,
    "masks": lambda x, w: (
        x.masked_fill((torch.arange(8) < 3)[:, None], 0.5)
        + torch.where(~((x > 0) & (x < w[0])) | (x > 1), x, w[1])
        .flatten(0, 1)
        .view_as(x)
        + torch.where((x > 0) + (x > w[2]), x, w[3]).clamp(max=0.9)
        + ((x > 0.3).long().sum(-1, keepdim=True) * x)
        + x
        * (x * 3).long().bool()
        * (x > 0.5).unsqueeze(2).expand(2, 8, 1, 6).squeeze(2)
    ),
    "compare integers": lambda x, w: (
        torch.where(torch.arange(8)[None, :, None] >= 2.5, x, w[0])
        + torch.where((x > 0) > (x > w[1]), x, w[2])
        + torch.where((x > 0) == (x > w[1]), w[3], x)
    ),
    "constants": lambda x, w: x + x.new_full((6,), 1.5) + x.new_zeros(6) + w[0].t(),
    "log sigmoid": lambda x, w: (
        functional.logsigmoid(x * 30) * w[0] + torch.log(torch.sigmoid(x * 9))
    ),
    "rows of a table": lambda x, w: (
        w[torch.arange(8)[None, :, None].clamp(max=5)].squeeze(2) + x
    ),
    "sum of integers": lambda x, w: (
        x
        * (torch.arange(8)[None, :, None] * torch.ones(2, 8, 6).long()).sum(-1)[
            ..., None
        ]
        + w[0]
    ),
    "types together": lambda x, w: torch.cat(
        [x[..., :3].float(), w[:, 3:].mean(0) + x[..., 3:]], -1
    ),
    "compare places": lambda x, w: (
        torch.where(torch.arange(8)[None, :, None] <= 3, x, w[0])
        * torch.where(torch.arange(8)[None, :, None] == 5, x, w[1])
        + torch.where(torch.arange(8)[None, :, None] != 2, x, w[2])
    ),
    "compare": lambda x, w: (
        torch.where(x > w[0], x, 2.0) * torch.where(x <= 0.3, w[1], x)
    ),
    "erf": lambda x, w: torch.erf(x) * torch.reciprocal(w[0].square() + 1.0),
    "expm1": lambda x, w: torch.expm1(x) + torch.log1p(x * x) + torch.log(x * x + 1),
    "full": lambda x, w: x + torch.ones_like(x) * torch.full((6,), 2.5).double() + w[0],
    "gelu": lambda x, w: functional.gelu(2 * x) * w[0],
    "gelu by tanh": lambda x, w: functional.gelu(2 * x, approximate="tanh") * w[0],
    "interleave": lambda x, w: (
        x * x[..., :3].repeat_interleave(2, dim=-1) + x[..., ::2].repeat(1, 1, 2)
    ),
    "layer norm": lambda x, w: functional.layer_norm(x, (6,), w[0], w[1], 1e-3),
    "layer norm alone": lambda x, w: functional.layer_norm(x + 3.0, (6,)) * w[0],
    "masked fill": lambda x, w: x.masked_fill(x > 0.2, 1.5) * w[0],
    "matmul": lambda x, w: x @ w,
    "matmul turned": lambda x, w: x @ w.t(),
    "max of two": lambda x, w: torch.maximum(x, w[0]) + torch.min(x, w[1]),
    "pairs": lambda x, w: torch.stack((-x[..., 1::2], x[..., ::2]), -1).flatten(-2),
    "powers": lambda x, w: (
        x.pow(3) + (x * x + 1).pow(-0.5) + (x * x + 1).pow(0.5) + (x * x + 1).pow(-1)
    ),
    "repeat": lambda x, w: x * w[0, :2].repeat(3) + w[:1, :3].repeat(1, 2),
    "softmax": lambda x, w: (x * w[0] * 30).softmax(-1),
    "softplus": lambda x, w: functional.softplus(x * 6) * w[0],
    "softplus of nothing": lambda x, w: functional.softplus(x * 0.0) * w[0],
    "sum": lambda x, w: (
        x * x.sum(-1, keepdim=True) + (x * w[0]).sum((1, 2))[:, None, None]
    ),
    "unbind": lambda x, w: torch.cat(x.view(2, 8, 2, 3).unbind(2)[::-1], -1) * w[0],
}
