"""What is easily written and would train on something else, on ranks."""

from __future__ import annotations

from typing import Any

import models
import torch
import torch.distributed as dist
from cases import case, said
from torch import Tensor, nn

import cp_mlir


def _ids(model: nn.Module) -> Tensor:
    torch.manual_seed(3)
    return torch.randint(1, models.vocabulary(model), (2, 64))


@case
def slips() -> dict[str, Any]:
    found: dict[str, Any] = {}
    model = models.make("mamba2")
    cp = cp_mlir.shard(model, order="zigzag")
    ids = _ids(model)
    other = torch.roll(ids, dist.get_rank(), 1)
    # Of a loop that adds nothing up by itself.
    found["rows"] = said(lambda: model(**cp.batch(other)))
    found["rows again"] = said(lambda: model(**cp.batch(ids)))
    straight = cp_mlir.shard(models.make("mamba2"))
    found["order"] = said(lambda: model(**straight.batch(ids)))
    found["nothing"] = said(cp.sum_gradients)
    found["longer"] = said(
        lambda: model(**{**cp.batch(ids), "input_ids": ids, "labels": None})
    )
    mixer = next(each for each in model.modules() if hasattr(each, "in_proj"))
    kept, mixer.norm = mixer.norm, nn.Sequential(mixer.norm)
    found["norm"] = said(lambda: model(**cp.batch(ids)))
    mixer.norm = kept
    return found | _parameters(ids) | _beside_torch(ids)


def _parameters(ids: Tensor) -> dict[str, Any]:
    """Ranks that began with others."""
    found = {}
    for way in ("shard", "compile_model"):
        model = models.make("mamba2")
        with torch.no_grad():
            next(model.parameters()).add_(dist.get_rank())
        cp = getattr(cp_mlir, way)(model)
        batch = cp.batch(ids)
        if way == "shard":
            model(**batch).loss.backward()
            found[f"parameters, {way}"] = said(cp.sum_gradients)
        else:
            found[f"parameters, {way}"] = said(lambda cp=cp, batch=batch: cp(**batch))
    return found


def _beside_torch(ids: Tensor) -> dict[str, Any]:
    from torch.distributed.fsdp import fully_shard
    from torch.nn.parallel import DistributedDataParallel

    model = models.make("mamba2")
    cp = cp_mlir.shard(model)
    wrapped = DistributedDataParallel(model)
    wrapped(**cp.batch(ids)).loss.backward()
    found = {"ddp": said(cp.sum_gradients)}
    model = models.make("mamba2")
    fully_shard(model)
    whole = cp_mlir.compile_model(model)
    found["fsdp"] = said(lambda: whole(**whole.batch(ids)))
    given = torch.arange(64).expand(2, -1)
    found["positions"] = said(lambda: whole.batch(ids, position_ids=3 * given))
    return found
