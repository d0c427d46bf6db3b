"""Layers and models that torch traces, or computes again, on one rank."""

from __future__ import annotations

from typing import Any

import models
import pytest
import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

import cp_mlir

DOCUMENTS: list[dict[str, Tensor]] = [
    {},
    {"seq_lens": torch.tensor([[20, 44]]).int()},
    {},
]


def _beside(model: nn.Module, run: Any, alone: nn.Module, cp: Any) -> None:
    """Losses and gradients of batches with documents and without, one after the other,
    beside a copy that torch knows nothing of."""
    torch.compiler.reset()
    torch.manual_seed(4)
    ids = torch.randint(1, models.vocabulary(model), (1, 64))
    for given in DOCUMENTS:
        batch = cp.batch(ids, **given)
        losses = []
        for each in (run, alone):
            loss = each(**batch).loss
            loss.backward()
            losses.append(float(loss.detach()))
        assert abs(losses[0] - losses[1]) < 1e-5, given
        assert models.worst_gradient(model, alone) < 1e-4, given
        model.zero_grad()
        alone.zero_grad()


@pytest.mark.parametrize("name", ["mamba2", "bamba"])
def test_a_compiled_model(name: str) -> None:
    """What is traced of one batch does not stand for another."""
    model = models.make(name)
    cp = cp_mlir.shard(model)
    alone = models.copied(model)
    _beside(model, torch.compile(model, backend="aot_eager"), alone, cp)


@pytest.mark.parametrize("name", ["mamba2", "bamba"])
def test_compiled_layers(name: str) -> None:
    model = models.make(name)
    cp = cp_mlir.shard(model)
    alone = models.copied(model)
    layers: Any = getattr(model, "backbone", getattr(model, "model", None))
    for layer in layers.layers:
        layer.compile(fullgraph=True, dynamic=False, backend="aot_eager")
    _beside(model, model, alone, cp)


def test_checkpoints_of_batches_without_documents() -> None:
    """Behind one that had some, for models that hand them on."""
    model = models.make("bamba")
    cp = cp_mlir.shard(model)
    alone = models.copied(model)
    model.gradient_checkpointing_enable()
    _beside(model, model, alone, cp)


@pytest.mark.parametrize("reentrant", [False, True])
def test_a_checkpoint_around_a_whole_model(reentrant: bool) -> None:
    """Which is compiled within."""
    model = models.make("mamba2").eval()
    whole = cp_mlir.compile_model(model)
    batch = whole.batch(torch.randint(1, models.vocabulary(model), (1, 32)))
    one = torch.ones((), requires_grad=True)
    loss = checkpoint(
        lambda one: one * whole(**batch).loss, one, use_reentrant=reentrant
    )
    loss.backward()
    found = [each.grad for each in model.parameters()]
    model.zero_grad()
    whole(**batch).loss.backward()
    for ours, theirs in zip(found, model.parameters(), strict=True):
        assert torch.equal(ours, theirs.grad)
