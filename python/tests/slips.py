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
    found["rows anew"] = said(lambda: model(**cp.batch(other)))
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
        # But for what a look at some of it would see.
        with torch.no_grad():
            next(model.parameters())[1:, 1:] += dist.get_rank() / 2
        cp = getattr(cp_mlir, way)(model)
        batch = cp.batch(ids)
        if way == "shard":
            model(**batch).loss.backward()
            again = [said(cp.sum_gradients) for _ in range(2)]
        else:
            again = [said(lambda cp=cp, batch=batch: cp(**batch)) for _ in range(2)]
        # And not once only.
        assert again[0] == again[1], again
        found[f"parameters, {way}"] = again[0]
    return found


def _beside_torch(ids: Tensor) -> dict[str, Any]:
    from torch.distributed.fsdp import fully_shard
    from torch.nn.parallel import DistributedDataParallel

    model = models.make("mamba2")
    cp = cp_mlir.shard(model)
    wrapped = DistributedDataParallel(model)
    wrapped(**cp.batch(ids)).loss.backward()
    found = {"ddp": said(cp.sum_gradients)}
    del wrapped
    model.zero_grad()
    model(**cp.batch(ids)).loss.backward()
    found["ddp no more"] = said(cp.sum_gradients)
    model = models.make("mamba2")
    fully_shard(model)
    whole = cp_mlir.compile_model(model)
    found["fsdp"] = said(lambda: whole(**whole.batch(ids)))
    given = torch.arange(64).expand(2, -1)
    late = cp_mlir.compile_model(models.make("mamba2"), deadline=20.0)
    batch = late.batch(ids)
    if dist.get_rank():
        del batch["cp_batch"]
    found["without its batch"] = said(lambda: late(**batch))
    found["positions"] = said(lambda: whole.batch(ids, position_ids=3 * given))
    return found
