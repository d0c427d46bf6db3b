"""A whole model as one program: what it depends on, and what it has no part in."""

from __future__ import annotations

import copy
import gc
import pickle
import threading
import warnings
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import models
import pytest
import torch
from torch import Tensor, nn
from torch.autograd import forward_ad
from torch.utils.checkpoint import checkpoint

import cp_mlir


class Layer(nn.Module):
    """With an adapter that may be off, and a constant."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(6, 6, bias=False)
        self.up = nn.Linear(6, 6, bias=False)
        self.register_buffer("scale", torch.ones(6))
        self.plain = torch.ones(6)
        self.is_adapted = True
        self.factor = 2.0
        self.listed = [1.0, {"bias": 0.5}]
        self.kept = SimpleNamespace(shift=0.0)
        self.dropout = nn.Dropout(0.5)

    def forward(self, x: Tensor) -> Tensor:
        y = self.linear(x) * self.scale * self.factor * self.plain
        y = y + self.listed[1]["bias"] + self.kept.shift
        return self.dropout(y + self.up(x) if self.is_adapted else y)


def _tripled(_: nn.Module, __: Any, output: Tensor) -> Tensor:
    return 3 * output


CHANGES: dict[str, Callable[[Any], Any]] = {
    "buffer": lambda layer: setattr(layer, "scale", torch.full((6,), 7.0)),
    "contents": lambda layer: layer.scale.data.fill_(5.0),
    "plain tensor": lambda layer: layer.plain.fill_(4.0),
    "flag": lambda layer: setattr(layer, "is_adapted", False),
    "number": lambda layer: setattr(layer, "factor", 3.0),
    "nested": lambda layer: layer.listed[1].update(bias=9.0),
    "hook": lambda layer: layer.linear.register_forward_hook(_tripled),
    "forward": lambda layer: setattr(layer.up, "forward", lambda x: -x),
    "layer": lambda layer: setattr(layer, "up", nn.Identity()),
    "tie": lambda layer: setattr(layer.up, "weight", layer.linear.weight),
    "shared": lambda layer: setattr(layer, "up", layer.linear),
    "namespace": lambda layer: setattr(layer.kept, "shift", 3.0),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_program_is_of_the_model_as_it_is(name: str) -> None:
    layer = Layer().eval()
    x = torch.randn(2, 8, 6)
    whole = cp_mlir.compile_model(layer, x=x)
    torch.testing.assert_close(whole(x), layer(x))
    before = whole(x).detach()
    CHANGES[name](layer)
    assert not torch.allclose(before, layer(x))
    torch.testing.assert_close(whole(x), layer(x))
    assert len(whole.operators) == 2
    whole(x)
    assert len(whole.operators) == 2


def test_buffers_that_come_and_go() -> None:
    """The address of one is another's before long."""
    layer = Layer().eval()
    x = torch.randn(2, 8, 6)
    whole = cp_mlir.compile_model(layer, x=x)
    with torch.no_grad():
        for step in range(8):
            layer.scale = torch.full((6,), step + 2.0)
            torch.testing.assert_close(whole(x), layer(x))
        layer.scale = torch.full((6,), 2.0)
        count = len(whole.operators)
        torch.testing.assert_close(whole(x), layer(x))
    assert len(whole.operators) == count


class Counting(nn.Module):
    """Of its calls, of which it keeps the last, and all."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(6, 6)
        self.calls = 0
        self.all: list[Tensor] = []

    def forward(self, x: Tensor) -> Tensor:
        self.calls += 1
        self.last = self.linear(x)
        self.all.append(self.last)
        return self.last


def test_layers_that_change_when_they_are_called() -> None:
    model = Counting()
    x = torch.randn(2, 8, 6)
    whole = cp_mlir.compile_model(model, x=x)
    for _ in range(3):
        whole(x)
    assert len(whole.operators) == 1
    # Elsewhere it is called, too.
    for _ in range(6):
        torch.testing.assert_close(whole(x), model(x))
    assert len(whole.operators) == 1


def test_changes_that_make_no_difference() -> None:
    """A program is compiled once; that the model is exported each time is told."""
    layer: Any = Layer().eval()
    x = torch.randn(2, 8, 6)
    whole = cp_mlir.compile_model(layer, x=x)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for step in range(9):
            layer.step = step
            hook = layer.linear.register_forward_hook(lambda *_: None)
            whole(x)
            hook.remove()
    assert len(whole.operators) == 1
    assert sum("exported 8 times again" in str(each.message) for each in told) == 1
    same = layer.linear.register_forward_hook(_tripled)
    whole(x)
    same.remove()
    count = whole._exported_again
    layer.linear.register_forward_hook(_tripled)
    whole(x)
    assert whole._exported_again == count
    assert len(whole.operators) == 2


def test_modes_of_each_layer() -> None:
    layer = Layer().eval()
    x = torch.randn(2, 8, 6)
    whole = cp_mlir.compile_model(layer, x=x)
    layer.dropout.train()
    with pytest.raises(cp_mlir.ExportError, match=r"dropout 0\.5"):
        whole(x)


def test_casts_are_the_models() -> None:
    """Whoever is first: a program knows nothing of autocast, and says so."""
    model = Own(torch.tanh)
    x = torch.randn(2, 8, 6)
    with torch.autocast("cpu", torch.bfloat16):
        whole = cp_mlir.compile_model(model, x=x)
        with pytest.warns(UserWarning, match="which autocast does not change"):
            found = whole(x)
    torch.testing.assert_close(found, model(x))
    assert torch.equal(found, whole(x))
    found = cp_mlir.compile_model(model.bfloat16(), x=x.bfloat16())(x.bfloat16())
    torch.testing.assert_close(found, model(x.bfloat16()), rtol=2e-2, atol=2e-3)


def test_parameters_of_other_sizes() -> None:
    model = models.make("mamba2").eval()
    whole = cp_mlir.compile_model(model)
    ids = torch.randint(1, 40, (1, 32))
    whole(**whole.batch(ids))
    model.resize_token_embeddings(60)
    found = whole(**whole.batch(ids + 12)).logits
    expected = model(input_ids=ids + 12, use_cache=False).logits
    assert found.shape[-1] == 60
    torch.testing.assert_close(found, expected)
    with pytest.raises(TypeError, match="save the state_dict"):
        pickle.dumps(whole)
    shallow = copy.copy(whole)
    assert shallow.model is model
    torch.testing.assert_close(shallow(**shallow.batch(ids + 12)).logits, found)


class Reversed(torch.autograd.Function):
    @staticmethod
    def forward(_: Any, x: Tensor) -> Tensor:
        return x * 1.0

    @staticmethod
    def backward(_: Any, *cotangents: Tensor) -> Any:
        return -cotangents[0]


class Own(nn.Module):
    """What is done to a layer's result."""

    def __init__(self, change: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.linear = nn.Linear(6, 6)
        self.change = change

    def forward(self, x: Tensor) -> Tensor:
        return self.change(self.linear(x))


class Straight(torch.autograd.Function):
    """Through which gradients go as they come."""

    @staticmethod
    def forward(_: Any, x: Tensor) -> Tensor:
        return x.relu()

    @staticmethod
    def backward(_: Any, *cotangents: Tensor) -> Any:
        return cotangents[0]


class First(nn.Module):
    """What is done to the input."""

    def __init__(self, change: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.linear = nn.Linear(6, 6).requires_grad_(False)
        self.change = change

    def forward(self, x: Tensor) -> Tensor:
        return self.linear(self.change(x))


def test_derivatives_of_the_input_that_a_model_says_itself() -> None:
    """Whether or not anything wants them when it is compiled."""
    model = First(Straight.apply)
    with pytest.raises(cp_mlir.ExportError, match="Straight has a backward pass"):
        cp_mlir.compile_model(model, x=torch.randn(2, 8, 6))
    assert not model.linear.weight.requires_grad
    with pytest.raises(cp_mlir.ExportError, match="has a hook on the gradient"):
        cp_mlir.compile_model(First(hooked), x=torch.randn(2, 8, 6))


def hooked(x: Tensor) -> Tensor:
    if x.requires_grad:
        x.register_hook(lambda cotangent: 10 * cotangent)
    return x * x


def checkpointed(x: Tensor) -> Tensor:
    return checkpoint(torch.tanh, x, use_reentrant=True)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (Reversed.apply, "Reversed has a backward pass of its own"),
        (hooked, "has a hook on the gradient of a tensor"),
        (checkpointed, "Checkpoint.* has a backward pass of its own"),
    ],
)
def test_derivatives_that_a_model_says_itself(change: Any, text: str) -> None:
    """They would be lost, whether or not gradients are wanted where it is compiled."""
    model = Own(change)
    x = torch.randn(2, 8, 6)
    for is_wanted in (True, False):
        with (
            torch.set_grad_enabled(is_wanted),
            pytest.raises(cp_mlir.ExportError, match=text),
        ):
            cp_mlir.compile_model(model, x=x)
    # As before.
    model(x).sum().backward()
    assert model.linear.weight.grad is not None


class Held(nn.Module):
    """Of whose parts some have no gradient here."""

    def __init__(self) -> None:
        super().__init__()
        self.inner, self.outer = nn.Linear(6, 6), nn.Linear(6, 6)

    def forward(self, x: Tensor) -> Tensor:
        with torch.no_grad():
            gate = self.inner(x).tanh()
            with torch.enable_grad():
                scale = 3 * self.inner(gate)
            shift = self.outer(x)
            # Which are what came, with the gradient that had.
            same = x.to(x.dtype), nn.functional.dropout(x, 0.5, False)
        return (
            self.outer(x * gate)
            + scale * x
            + shift
            + self.inner(gate).sin()
            + same[0] * same[1]
        )


def test_what_is_computed_without_gradients() -> None:
    model = Held()
    x = torch.randn(2, 8, 6)
    whole = cp_mlir.compile_model(model, x=x)
    leaf = x.clone().requires_grad_()
    given = [leaf, *model.parameters()]
    results = [each(leaf) for each in (whole, model)]
    assert models.rel_l2(results[0].detach(), results[1].detach()) < 1e-6
    found, expected = (
        torch.autograd.grad(each.square().sum(), given) for each in results
    )
    for ours, theirs in zip(found, expected, strict=True):
        assert models.rel_l2(ours, theirs) < 1e-5


def smoothed(
    logits: Tensor,
    labels: Any,
    vocab_size: int,
    shift_labels: Tensor,
    num_items_in_batch: Any = None,
) -> Tensor:
    del labels
    return (
        nn.functional.cross_entropy(
            9 * logits.view(-1, vocab_size),
            shift_labels.flatten(),
            label_smoothing=0.3,
            reduction="sum",
        )
        / num_items_in_batch
    )


def test_a_loss_of_the_models_own() -> None:
    model = models.make("bamba").eval()
    model.loss_function = smoothed
    layers = models.copied(model)
    cp = cp_mlir.shard(layers)
    whole = cp_mlir.compile_model(model)
    ids = torch.randint(1, models.vocabulary(model), (2, 32))
    found = float(whole(**whole.batch(ids)).loss.detach())
    expected = float(layers(**cp.batch(ids)).loss.detach())
    assert abs(found - expected) < 1e-5
    logits = models.copied(model)(input_ids=ids, use_cache=False).logits[:, :-1]
    alone = smoothed(
        logits.flatten(0, 1), None, logits.shape[-1], ids[:, 1:], num_items_in_batch=62
    )
    assert abs(found - float(alone.detach())) < 1e-5
    other = models.make("bamba").eval()
    plain = float(other(input_ids=ids, labels=ids, use_cache=False).loss.detach())
    assert abs(found - plain) > 1e-1


def test_a_program_that_nobody_keeps() -> None:
    """But the graph behind its result."""
    model = nn.Linear(6, 6)
    x = torch.randn(2, 8, 6)
    result = cp_mlir.compile_model(model, input=x)(x)
    gc.collect()
    result.sum().backward()
    torch.testing.assert_close(model.bias.grad, torch.full((6,), 16.0))


def test_hooks_on_a_layers_gradient() -> None:
    model = Own(torch.tanh)
    model.linear.register_full_backward_hook(lambda _, given, __: (2 * given[0],))
    with pytest.raises(cp_mlir.ExportError, match="BackwardHookFunction"):
        cp_mlir.compile_model(model, x=torch.randn(2, 8, 6))


def test_derivatives_that_a_program_has_not() -> None:
    model = Own(torch.tanh)
    x = torch.randn(2, 8, 6)
    whole = cp_mlir.compile_model(model, x=x)
    leaf = x.clone().requires_grad_()
    result = whole(leaf)
    (gradient,) = torch.autograd.grad(result.sum(), leaf, create_graph=True)
    with pytest.raises(RuntimeError, match="no second derivative"):
        gradient.pow(2).sum().backward()
    transforms: list[Callable[[], Any]] = [
        lambda: torch.func.jvp(whole, (x,), (x,)),
        lambda: torch.func.grad(lambda each: whole(each).sum())(x),
        lambda: torch.func.vmap(whole)(torch.stack([x, x])),
    ]
    for transform in transforms:
        with pytest.raises(RuntimeError, match=r"none of torch\.func"):
            transform()
    with (
        forward_ad.dual_level(),
        pytest.raises(RuntimeError, match="no derivatives in forward mode"),
    ):
        whole(forward_ad.make_dual(x, x))
    weight = torch.randn(6, 6)
    found = torch.func.functional_call(whole, {"model.linear.weight": weight}, (x,))
    expected = torch.func.functional_call(model, {"linear.weight": weight}, (x,))
    torch.testing.assert_close(found, expected)


class Looked(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(10, 6)

    def forward(self, ids: Tensor) -> Tensor:
        return self.table(ids) * 1.0


def test_a_rank_that_is_alone_goes_on_after_a_failure() -> None:
    ids = torch.tensor([[0, 0, 3, 9, 9, 3, 4, 5]])
    model = Looked()
    whole = cp_mlir.compile_model(model, ids=ids)
    for wrong in (ids + 5, ids + 2**32, ids - 2**32):
        with pytest.raises(cp_mlir.CprtError, match=r"must be in \[0, 10\)"):
            whole(wrong)
        torch.testing.assert_close(whole(ids), model(ids))
    with pytest.raises(cp_mlir.CprtError):
        whole(ids + 5)
    torch.testing.assert_close(cp_mlir.compile_model(model, ids=ids)(ids), model(ids))


def test_a_world_that_was_closed_is_not_made_anew() -> None:
    ids = torch.randint(0, 10, (1, 8))
    whole = cp_mlir.compile_model(Looked(), ids=ids, deadline=61.0)
    with pytest.raises(cp_mlir.CprtError):
        whole(ids + 10)
    whole.world.close()
    with pytest.raises(cp_mlir.CprtError, match="context is null"):
        whole(ids)
    assert whole.world.history() == []


class Wide(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(192, 192)

    def forward(self, x: Tensor) -> Tensor:
        return self.linear(self.linear(x).tanh())


def test_threads_take_turns() -> None:
    """Calls that are long enough to meet, while somebody looks on."""
    model = Wide()
    rows = [torch.randn(2, 256, 192) for _ in range(3)]
    whole = cp_mlir.compile_model(model, x=rows[0])
    wrong: list[Any] = []
    is_over = threading.Event()

    def call(x: Tensor) -> None:
        with torch.no_grad():
            expected = model(x)
            for _ in range(20):
                try:
                    torch.testing.assert_close(whole(x), expected)
                except Exception as error:  # Of a thread nobody hears.
                    wrong.append(error)

    def look() -> None:
        while not is_over.is_set():
            whole.world.history()
            whole.world.counts()

    threads = [threading.Thread(target=call, args=(x,)) for x in rows]
    watching = threading.Thread(target=look)
    for each in (watching, *threads):
        each.start()
    for each in threads:
        each.join()
    is_over.set()
    watching.join()
    assert not wrong
