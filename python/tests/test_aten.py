"""Operators of aten as IR, each beside torch."""

from __future__ import annotations

import subprocess
from collections.abc import Callable

import models
import pytest
import torch
from functions import FUNCTIONS, Function
from torch import Tensor, nn
from torch.nn import functional

import cp_mlir


@pytest.mark.parametrize("name", FUNCTIONS)
def test_operators(name: str) -> None:
    torch.manual_seed(5)
    model = Function(FUNCTIONS[name])
    x = torch.randn(2, 8, 6, dtype=torch.float64, requires_grad=True)
    expected = model(x)
    weight = torch.randn(expected.shape, dtype=torch.float64)
    (expected * weight).sum().backward()
    text = cp_mlir.export(model, x=x.detach())
    operator = cp_mlir.load(cp_mlir.compile_ir(text, wrt=["x"]))
    mine = x.detach().clone().requires_grad_()
    parameter = model.weight.detach().clone().requires_grad_()
    rest = [parameter for spec in operator.parameters if spec.is_parameter]
    found = operator(mine, *rest)
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)
    (found * weight).sum().backward()
    assert mine.grad is not None
    near = 1e-6 if name == "through f32" else 1e-11
    torch.testing.assert_close(mine.grad, x.grad, rtol=near, atol=near)
    if rest:
        torch.testing.assert_close(
            parameter.grad, model.weight.grad, rtol=1e-11, atol=1e-11
        )


NARROW: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "gelu": lambda x, w: functional.gelu(x),
    "gelu by tanh": lambda x, w: functional.gelu(x, approximate="tanh"),
    "layer norm": lambda x, w: functional.layer_norm(x + 2, (6,), w[0], w[1]),
    "mean": lambda x, w: x.mean(-1, keepdim=True) + 0 * x,
    "softmax": lambda x, w: x.softmax(-1),
    "sum": lambda x, w: x.sum(-1, keepdim=True) + 0 * x,
    "wide mean": lambda x, w: (
        x.mean(1, keepdim=True, dtype=torch.float32).bfloat16() * w[0] + 0 * x
    ),
    "sigmoid": lambda x, w: torch.sigmoid(4 * x),
    "silu": lambda x, w: functional.silu(3 * x),
    "softplus": lambda x, w: functional.softplus(x),
}


@pytest.mark.parametrize("name", NARROW)
def test_bf16(name: str) -> None:
    """No farther from f64 than torch's own is, but for how ties round."""
    torch.manual_seed(6)
    wide = Function(NARROW[name])
    narrow = models.copied(wide).bfloat16()
    wide.load_state_dict(narrow.state_dict())
    x = (3 * torch.randn(2, 64, 6)).bfloat16()
    expected = wide(x.double()).detach()
    operator = cp_mlir.load(cp_mlir.compile_ir(cp_mlir.export(narrow, x=x)))
    rest = [narrow.weight.detach() for s in operator.parameters if s.is_parameter]
    mine, theirs = operator(x, *rest), narrow(x).detach()
    assert mine.dtype is torch.bfloat16
    distance = models.rel_l2(mine.double(), expected)
    assert 0 < distance <= 1.02 * models.rel_l2(theirs.double(), expected)


def test_small_values() -> None:
    """Are as exact as others."""
    x = torch.linspace(-40.0, -5.0, 48).view(1, 8, 6)
    for function in (torch.sigmoid, functional.silu, functional.logsigmoid):
        model = Function(lambda x, w, function=function: function(x))
        model.scale = torch.ones(6)
        whole = cp_mlir.compile_model(model, x=x)
        torch.testing.assert_close(
            whole(x), function(x.double()).float(), rtol=1e-6, atol=0.0
        )


class Convolved(nn.Module):
    """Causal, as a model writes it: padded on both sides, and cut."""

    def __init__(self, padding: int = 3, groups: int = 6) -> None:
        super().__init__()
        self.conv = nn.Conv1d(6, 6, 4, padding=padding, groups=groups)

    def forward(self, x: Tensor) -> Tensor:
        turned = x.transpose(1, 2)
        return self.conv(turned)[..., : x.shape[1]].transpose(1, 2)


def test_convolutions() -> None:
    x = torch.randn(2, 8, 6)
    model = Convolved()
    # Nothing is turned for it that anybody reads.
    text = subprocess.run(
        [models.TOOLS / "cp-opt", "--canonicalize"],
        input=cp_mlir.export(model, x=x),
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    assert "cp.conv1d" in text
    assert "linalg.generic" not in text
    whole = cp_mlir.compile_model(model, x=x)
    torch.testing.assert_close(whole(x), model(x))
    # Rows that come later, and channels together, are others.
    for other in (Convolved(padding=4), Convolved(groups=3)):
        with pytest.raises(cp_mlir.ExportError, match=r"aten\.conv1d\.\w+ has no rule"):
            cp_mlir.export(other, x=x)


REFUSED: dict[str, tuple[Callable[[Tensor, Tensor], Tensor], str]] = {
    "clamp to a tensor": (lambda x, w: torch.clamp(x, w[0], w[1]), "only to a number"),
    "layer norm": (
        lambda x, w: functional.layer_norm(x, (8, 6)),
        "over 2 dimensions has no rule",
    ),
    "several indices": (lambda x, w: x[:, torch.arange(3)], "but of rows of a table"),
    "indices by a mask": (lambda x, w: w[w[:, 0] > 0].sum() * x, "no rule"),
    "largest": (lambda x, w: x / x.max(), "of one tensor has no rule"),
    "matmul": (lambda x, w: x @ x.transpose(1, 2) @ x, "but of a matrix on the right"),
    "mask": (lambda x, w: x * (x[0] > 0)[None][(x > 0).any(0)[None]], "no rule"),
    "power": (lambda x, w: x.pow(5), "only to 1, 2, 3"),
    "softplus": (lambda x, w: functional.softplus(x, beta=2), "for a beta of 1"),
    "step": (lambda x, w: x[..., 4::3].sum() * x, "with a step of 3 of 6 from 4"),
    "types": (lambda x, w: torch.where(x > x.float(), x, x), "of two types"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name: str) -> None:
    function, message = REFUSED[name]
    x = torch.randn(2, 8, 6, dtype=torch.float64)
    with pytest.raises(cp_mlir.ExportError, match=message):
        cp_mlir.export(Function(function), x=x)
