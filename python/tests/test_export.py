"""Operators of aten as IR, each beside torch, and what is refused."""

from __future__ import annotations

import copy
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import models
import pytest
import same_ir
import torch
from functions import Function, rotated
from torch import Tensor, nn
from torch.nn import functional

import cp_mlir
from cp_mlir import _native


@pytest.mark.parametrize("name", ["bamba", "falcon_h1", "zamba2", "gemma3", "stablelm"])
def test_bf16(name: str) -> None:
    """A model in bf16 is as near to the one in f32 as torch's own."""
    wide = models.make(name).eval()
    narrow = models.copied(wide).bfloat16()
    ids = torch.randint(1, 40, (2, 64))
    whole = cp_mlir.compile_model(narrow, input_ids=ids)
    with torch.no_grad():
        expected = wide(input_ids=ids, use_cache=False).logits
        theirs = narrow(input_ids=ids, use_cache=False).logits.float()
        mine = whole(whole.split("input_ids", ids)).float()
    distance = models.rel_l2(mine, expected)
    assert distance < 1.5 * models.rel_l2(theirs, expected)
    assert distance > 0


def test_the_module_is_what_tools_take(tmp_path: Path) -> None:
    model = models.make("bamba").eval()
    path = tmp_path / "model.mlir"
    path.write_text(cp_mlir.export(model, input_ids=torch.ones(2, 64).long()))
    for command in (
        ["cp-run", str(path), "--ranks=4", "--order=zigzag", "--check"],
        ["cp-run", str(path), "--ranks=2", "--strategy=hidden", "--check"],
        ["cp-run", str(path), "--ranks=2", "--loss=next_token", "--gradients"],
    ):
        tool, *rest = command
        subprocess.run([str(_native.find(tool)), "--quiet", *rest], check=True)


def test_the_model_is_as_it_was() -> None:
    model = models.make("bamba").eval()
    ids = torch.randint(1, 40, (1, 32))
    expected = model(input_ids=ids, use_cache=False).logits
    cp_mlir.export(model, input_ids=ids)
    assert torch.equal(model(input_ids=ids, use_cache=False).logits, expected)


def test_an_operator_without_a_rule() -> None:
    class Sorting(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = Function(lambda x, w: x.sort(dim=-1).values)

        def forward(self, x: Tensor) -> Tensor:
            return self.inner(x)

    x = torch.randn(2, 8, 6, dtype=torch.float64)
    with pytest.raises(cp_mlir.ExportError, match=r"aten\.sort\.\w+ has no rule in "):
        cp_mlir.export(Sorting(), x=x)


def test_layers_that_only_look_known() -> None:
    """They are exported for what they compute, or refused."""

    class ShiftedRMSNorm(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.rand(6, dtype=torch.float64))
            self.eps = 1e-6

        def forward(self, x: Tensor) -> Tensor:
            scale = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)
            return x * scale * (1.0 + self.weight)

    norm = ShiftedRMSNorm()
    x = torch.randn(2, 8, 6, dtype=torch.float64)
    text = cp_mlir.export(norm, x=x)
    assert "cp.rms_norm" not in text
    operator = cp_mlir.load(cp_mlir.compile_ir(text))
    torch.testing.assert_close(operator(x, norm.weight.detach()), norm(x).detach())
    model = models.make("mamba2").eval()
    ids = torch.ones(1, 32).long()
    mask = ids.clone()
    mask[0, :4] = 0
    with pytest.raises(ValueError, match="got a mask"):
        cp_mlir.export(model, input_ids=ids, attention_mask=mask)
    for module in model.modules():
        if hasattr(module, "activation"):
            module.activation = "tanh"
    with pytest.raises(ValueError, match="activation 'tanh', expected silu"):
        cp_mlir.export(model, input_ids=ids)


def test_a_sharded_model() -> None:
    model = models.make("bamba")
    cp_mlir.shard(model)
    with pytest.raises(cp_mlir.ExportError, match="is sharded"):
        cp_mlir.export(model, input_ids=torch.ones(1, 32).long())


def test_documents_and_positions() -> None:
    x = torch.randn(2, 8, 6, dtype=torch.float64)
    with pytest.raises(cp_mlir.ExportError, match="by where tokens stand"):
        cp_mlir.export(Function(lambda x, w: rotated(x)), documents=2, x=x)
    model = models.make("bamba").eval()
    ids = torch.ones(1, 32).long()
    with pytest.raises(cp_mlir.ExportError, match="give one of the two"):
        cp_mlir.export(model, documents=2, input_ids=ids, position_ids=ids)


class Tokens(nn.Module):
    """Of ids, what a function makes of their rows."""

    def __init__(self, function: Callable[[Tensor, Tensor], Tensor]) -> None:
        super().__init__()
        self.function = function
        self.table = nn.Embedding(40, 6)
        self.places = nn.Parameter(torch.randn(16, 6))

    def forward(self, input_ids: Tensor) -> Tensor:
        return self.function(self.table(input_ids), self.places)


def shifted(x: Tensor, _: Tensor) -> Tensor:
    return x + torch.cat([x[:, :1] * 0, x[:, :-1]], 1)


MIXING: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "a shift": shifted,
    "a mean": lambda x, p: x + x.mean(1, keepdim=True),
    "a mean of all": lambda x, p: x * x.mean(),
    "a softmax": lambda x, p: x * x.softmax(1),
    "the first token": lambda x, p: x - x[:, :1],
    "a table by place": lambda x, p: x + p,
    "a part of a table by place": lambda x, p: (x.transpose(1, 2) + p.t()).sum(1),
    "products of tokens": lambda x, p: x @ (x[0].t() @ x[0]),
    "one token": lambda x, p: x * x[:, 3].unsqueeze(1),
    "halves of a row": lambda x, p: torch.cat(x.chunk(2, 1)[::-1], 1),
}


@pytest.mark.parametrize("name", MIXING)
def test_what_mixes_documents(name: str) -> None:
    model = Tokens(MIXING[name])
    ids = torch.randint(1, 40, (2, 16))
    if name != "products of tokens":
        cp_mlir.export(model, input_ids=ids)
    with pytest.raises(cp_mlir.ExportError, match=r"mixes the tokens|by where tokens"):
        cp_mlir.export(model, documents=2, input_ids=ids)


def test_what_keeps_documents_apart() -> None:
    """Heads, halves of channels, and norms of them."""

    def apart(x: Tensor, p: Tensor) -> Tensor:
        heads = x.view(2, 16, 3, 2).transpose(1, 2)
        first, last = heads.chunk(2, dim=-1)
        turned = torch.cat([-last, first], -1).transpose(1, 2).reshape(2, 16, 6)
        y = functional.layer_norm(turned * p[3], (6,)).softmax(-1)
        return y * x.mean(-1, keepdim=True) + x[..., :1] + y.sum(-1).unsqueeze(-1)

    cp_mlir.export(Tokens(apart), documents=2, input_ids=torch.ones(2, 16).long())


def test_positions_that_are_given() -> None:
    """They are an argument, of which rotary embeddings are computed by elements."""
    model = models.make("granite", torch.float64).eval()
    assert model.get_decoder().rotary_emb is not None
    ids = torch.randint(1, 40, (1, 32))
    places = torch.arange(32)[None] + 500
    restarting = places.clone()
    restarting[0, 16:] -= 16
    whole = cp_mlir.compile_model(model, input_ids=ids, position_ids=places)
    with torch.no_grad():
        expected = model(input_ids=ids, position_ids=places, use_cache=False).logits
        found = whole(input_ids=ids, position_ids=places)
    # transformers computes in f32 inside.
    assert models.rel_l2(found, expected) < 1e-5
    with pytest.raises(ValueError, match="where they begin anew"):
        whole(input_ids=ids, position_ids=restarting)


def test_calls_of_a_whole_model() -> None:
    model = models.make("mamba2").eval()
    whole = cp_mlir.compile_model(model)
    ids = torch.randint(1, 40, (1, 32))
    batch = whole.batch(ids)
    output = whole(**batch)
    expected = model(input_ids=ids, labels=ids, use_cache=False)
    torch.testing.assert_close(output.logits, expected.logits)
    torch.testing.assert_close(output.loss, expected.loss)
    with pytest.raises(TypeError, match="labels came without num_items_in_batch"):
        whole(input_ids=ids, labels=ids, shift_labels=ids)
    with pytest.raises(ValueError, match="got a mask"):
        whole(input_ids=ids, attention_mask=torch.ones_like(ids))
    with pytest.raises(TypeError, match="labels alone are shifted within"):
        whole(input_ids=ids, labels=ids, num_items_in_batch=31)
    with pytest.raises(TypeError, match="2 came by place"):
        whole(ids, ids)
    with pytest.raises(TypeError, match="by place and by name"):
        whole(ids, input_ids=ids)
    with pytest.raises(TypeError, match="'use_cache' is True, expected a tensor"):
        whole(ids, use_cache=True)
    with pytest.raises(ValueError, match=r"cu_seqlens has the shape \[3\]"):
        whole(ids, cu_seqlens=torch.tensor([0, 9, 32]).int())
    with pytest.raises(ValueError, match=r"no program has 'x' of \[1, 8\]"):
        whole.split("x", torch.zeros(1, 8))


def test_a_mask_that_no_mixer_sees() -> None:
    """Attention by an interface that transformers makes no mask for."""
    from transformers import LlamaConfig, LlamaForCausalLM

    sizes = {"vocab_size": 40, "hidden_size": 16, "intermediate_size": 24}
    layers = {"num_hidden_layers": 1, "num_attention_heads": 4}
    model = LlamaForCausalLM(LlamaConfig(**sizes, **layers)).eval()
    ids = torch.ones(1, 32).long()
    with pytest.raises(cp_mlir.ExportError, match="nothing of 'attention_mask'; leave"):
        cp_mlir.export(model, input_ids=ids, attention_mask=torch.ones_like(ids))


def test_what_is_done_beside_a_layer() -> None:
    """Hooks, and forwards of an instance's own."""
    ids = torch.randint(1, 40, (1, 32))

    def twice(_: nn.Module, given: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return (2 * given[0], *given[1:])

    hybrid = models.make("bamba").eval()
    attention = next(
        each for each in hybrid.modules() if type(each).__name__ == "BambaAttention"
    )
    attention.get_submodule("q_proj").register_forward_pre_hook(twice)
    found = cp_mlir.compile_model(hybrid, input_ids=ids)(ids)
    expected = hybrid(input_ids=ids, use_cache=False).logits
    assert models.rel_l2(found, expected) < 1e-5
    mamba = models.make("mamba2").eval()
    mamba.get_submodule("backbone.layers.0.mixer.in_proj").register_forward_pre_hook(
        twice
    )
    with pytest.raises(ValueError, match=r"in_proj' is a Linear with hooks"):
        cp_mlir.export(mamba, input_ids=ids)
    for change in ("norm", "forward"):
        mamba = models.make("mamba2").eval()
        mixer: Any = mamba.get_submodule("backbone.layers.0.mixer")
        if change == "norm":
            mixer.norm.register_forward_pre_hook(twice)
        else:
            mixer.forward = lambda u, **_: u
        with pytest.raises(ValueError, match="forward of its own or hooks"):
            cp_mlir.export(mamba, input_ids=ids)
        with pytest.raises(ValueError, match="forward of its own or hooks"):
            cp_mlir.shard(mamba)


def test_a_model_that_changes() -> None:
    """What is in a program and not in its arguments makes another one."""
    function = Function(lambda x, w: x + w[0])
    x = torch.randn(1, 8, 6, dtype=torch.float64)
    whole = cp_mlir.compile_model(function, x=x)
    function.get_buffer("scale").fill_(3.0)
    torch.testing.assert_close(whole(x), function(x), rtol=1e-12, atol=1e-12)
    assert len(whole.operators) == 2
    other = copy.deepcopy(whole)
    with torch.no_grad():
        function.weight.zero_()
    torch.testing.assert_close(other(x), other.model(x), rtol=1e-12, atol=1e-12)
    assert not torch.equal(other(x), whole(x))
    model = models.make("bamba").eval()
    for module in model.modules():
        if hasattr(module, "attention_dropout"):
            module.attention_dropout = 0.5
    ids = torch.ones(1, 32).long()
    trained = cp_mlir.compile_model(model, input_ids=ids)
    model.train()
    with pytest.raises(ValueError, match=r"dropout 0\.5"):
        trained(ids)


def test_other_refusals() -> None:
    x = torch.randn(2, 8, 6, dtype=torch.float64)
    steps = Function(lambda x, w: x + torch.arange(0, 16, 2)[None, :, None])
    with pytest.raises(cp_mlir.ExportError, match="places from 0"):
        cp_mlir.export(steps, x=x)
    dropping = Function(lambda x, w: functional.dropout(x, 0.5, training=True))
    with pytest.raises(cp_mlir.ExportError, match=r"dropout 0\.5"):
        cp_mlir.export(dropping, x=x)
    with pytest.raises(cp_mlir.ExportError, match="only to 1, 2, 3"):
        cp_mlir.export(Function(lambda x, w: x.pow(5)), x=x)
    with pytest.raises(cp_mlir.ExportError, match="which has no type in IR"):
        cp_mlir.export(Function(lambda x, w: x.half()), x=x)
    model = models.make("bamba").train()
    for module in model.modules():
        if hasattr(module, "attention_dropout"):
            module.attention_dropout = 0.5
    with pytest.raises(ValueError, match=r"dropout 0\.5"):
        cp_mlir.export(model, input_ids=torch.ones(1, 32).long())


@pytest.mark.parametrize("documents", [0, 3])
@pytest.mark.parametrize("name", [*models.NAMES, *models.OPTIONS])
def test_is_what_cp_translate_makes_of_the_config(name: str, documents: int) -> None:
    config = models.GOLDENS / (models.NAMES | models.OPTIONS)[name] / "config.json"
    expected = subprocess.run(
        [
            str(models.TOOLS / "cp-translate"),
            "--import-hf",
            "--batch=2",
            "--seq=64",
            f"--documents={documents}",
            str(config),
        ],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    ids = torch.ones(2, 64).long()
    text = cp_mlir.export(models.make(name).eval(), documents=documents, input_ids=ids)
    # What files of weights call otherwise than transformers' modules.
    if "nemotron_h" in name:
        expected = expected.replace('"backbone.', '"model.')
    assert same_ir.differences(text, expected) == []


@torch.library.custom_op("quantised::linear", mutates_args=())
def quantised(x: Tensor, weight: Tensor) -> Tensor:
    return functional.linear(x, (weight * 4).round() / 4)


@quantised.register_fake
def _(x: Tensor, weight: Tensor) -> Tensor:
    return x.new_empty(*x.shape[:-1], weight.shape[0])


def test_operators_of_other_libraries() -> None:
    """Whatever they are called."""
    with pytest.raises(cp_mlir.ExportError, match=r"quantised\.linear\.default has no"):
        cp_mlir.export(Function(quantised), x=torch.randn(2, 8, 6).double())


class BiasedRMSNorm(nn.Module):
    """Which begins as if it had none."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(6, dtype=torch.float64))
        self.bias = nn.Parameter(torch.zeros(6, dtype=torch.float64))
        self.eps = 1e-6

    def forward(self, x: Tensor) -> Tensor:
        scale = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)
        return x * scale * self.weight + self.bias


class AddingRMSNorm(nn.Module):
    """Of a sum, where it is given two."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.rand(6, dtype=torch.float64))
        self.eps = 1e-6

    def forward(self, x: Tensor, residual: Tensor | None = None) -> Tensor:
        x = x if residual is None else x + residual
        scale = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)
        return x * scale * self.weight


class Normed(nn.Module):
    def __init__(self, norm: nn.Module, is_twice: bool = False) -> None:
        super().__init__()
        self.norm = norm
        self.linear = nn.Linear(6, 6, dtype=torch.float64)
        self.is_twice = is_twice

    def forward(self, x: Tensor) -> Tensor:
        y = self.linear(x)
        return self.norm(y, x) if self.is_twice else self.norm(y)


@pytest.mark.parametrize(
    "model",
    [
        Normed(BiasedRMSNorm()),
        Normed(AddingRMSNorm()),
        Normed(AddingRMSNorm(), is_twice=True),
        Normed(nn.RMSNorm(6, dtype=torch.float64)),
        Normed(nn.RMSNorm(6, eps=1e-3, elementwise_affine=False)),
    ],
)
def test_norms(model: nn.Module) -> None:
    """And what they learn."""
    x = torch.randn(2, 8, 6, dtype=torch.float64)
    whole = cp_mlir.compile_model(model, x=x)
    for _ in range(2):
        gradients = []
        for each in (whole, model):
            model.zero_grad()
            result = each(x)
            (result * result.detach().cos()).sum().backward()
            gradients.append([p.grad.clone() for p in model.parameters()])
        torch.testing.assert_close(whole(x), model(x))
        torch.testing.assert_close(*gradients)
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.add_(0.5)


def test_a_norms_smallest_step() -> None:
    """Without eps torch takes that of what it computes in."""
    for dtype in (torch.bfloat16, torch.float32, torch.float64):
        model = nn.RMSNorm(6, dtype=dtype)
        x = (0.01 * torch.randn(2, 8, 6)).to(dtype)
        found = cp_mlir.compile_model(model, x=x)(x)
        torch.testing.assert_close(found, model(x), rtol=1e-2, atol=1e-3)


def test_norms_over_several_dimensions_are_refused() -> None:
    norm = nn.RMSNorm([8, 6], dtype=torch.float64)
    x = torch.randn(2, 8, 6, dtype=torch.float64)
    with pytest.raises(cp_mlir.ExportError, match="over 2 dimensions has no rule"):
        cp_mlir.export(Normed(norm), x=x)


class Scaled(nn.Module):
    def __init__(self, shape: tuple[int, ...]) -> None:
        super().__init__()
        self.gain = nn.Parameter(torch.full(shape, 1.5))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        y = x * self.gain
        return y, (y * y).mean()


@pytest.mark.parametrize("shape", [(), (1,), (1, 1)])
def test_scalars(shape: tuple[int, ...]) -> None:
    """That are learned, and results."""
    model = Scaled(shape)
    x = torch.randn(2, 8, 6)
    whole = cp_mlir.compile_model(model, x=x)
    found = []
    for each in (whole, model):
        model.gain.grad = None
        result, mean = each(x)
        (result.sin().sum() + 3 * mean).backward()
        found.append((result, mean, model.gain.grad))
    torch.testing.assert_close(*found)


class Positioned(nn.Module):
    """As GPT-2's."""

    def __init__(self, **named: Any) -> None:
        super().__init__()
        self.tokens = nn.Embedding(10, 6, **named)
        self.places = nn.Embedding(16, 6)

    def forward(self, ids: Tensor) -> Tensor:
        return self.tokens(ids) + self.places(torch.arange(ids.shape[1]))


def test_learned_positions() -> None:
    ids = torch.randint(0, 10, (2, 8))
    model = Positioned()
    whole = cp_mlir.compile_model(model, ids=ids)
    gradients = []
    for each in (whole, model):
        model.zero_grad()
        each(ids).sin().sum().backward()
        gradients.append([p.grad for p in model.parameters()])
    torch.testing.assert_close(whole(ids), model(ids))
    torch.testing.assert_close(*gradients)
    with pytest.raises(cp_mlir.ExportError, match="scale_grad_by_freq has no rule"):
        cp_mlir.export(Positioned(scale_grad_by_freq=True), ids=ids)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_constants_that_are_no_numbers(dtype: torch.dtype) -> None:
    class Constant(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            inf = float("inf")
            values = torch.tensor([float("nan"), inf, -inf, 0.0, 1.0, -2.5])
            self.register_buffer("values", values.to(dtype))

        def forward(self, x: Tensor) -> Tensor:
            return x + self.values

    x = torch.randn(2, 8, 6).to(dtype)
    model = Constant()
    found = cp_mlir.compile_model(model, x=x)(x)
    torch.testing.assert_close(found, model(x), equal_nan=True)


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (lambda x, _: 2**x, "aten.pow to a tensor has no rule"),
        (lambda x, w: torch.addmm(x[0], x[0], w), "no rule"),
    ],
)
def test_calls_that_have_no_rule(function: Any, text: str) -> None:
    with pytest.raises(cp_mlir.ExportError, match=text):
        cp_mlir.export(Function(function), x=torch.randn(2, 8, 6).double())


def test_results_that_are_no_tensors() -> None:
    class Numbers(nn.Module):
        def forward(self, x: Tensor) -> tuple[Tensor, float]:
            return x * 2, 3.0

    with pytest.raises(cp_mlir.ExportError, match=r"3\.0 is among the model's results"):
        cp_mlir.export(Numbers(), x=torch.randn(2, 8, 6))
