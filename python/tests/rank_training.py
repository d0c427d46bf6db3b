"""What models learn on ranks, beside one process or other code."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import models
import torch
import torch.distributed as dist
from cases import case

import cp_mlir


@case
def compiled() -> dict[str, Any]:
    """Ten steps of SGD of a whole model as one program, in f32."""
    found = {}
    for name in ("bamba", "mamba2"):
        model = models.make(name).eval()
        alone = models.copied(model)
        ids = torch.randint(1, models.vocabulary(model), (2, 64))
        labels = torch.cat([ids[:, 1:], torch.full((2, 1), -100)], 1)
        # Of one of the two sums go on meanwhile.
        whole = cp_mlir.compile_model(
            model, order="zigzag", overlap=name == "bamba", input_ids=ids
        )
        code = whole.operators[0].program.path.read_bytes()
        assert (b"cprt_begin" in code) == (name == "bamba")
        worst, losses = 0.0, []
        optimizers = [
            torch.optim.SGD(each.parameters(), lr=0.3) for each in (alone, whole)
        ]
        for _ in range(10):
            logits = alone(input_ids=ids, use_cache=False).logits
            expected = models.cross_entropy(logits, labels, 126)
            part = whole(whole.split("input_ids", ids))
            mine = models.cross_entropy(part, whole.split("input_ids", labels), 126)
            for optimizer, loss in zip(optimizers, (expected, mine), strict=True):
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            total = mine.detach().clone()
            dist.all_reduce(total)
            worst = max(worst, abs(float(total - expected)))
            losses.append(float(expected))
        # Rows of another length need another program, and those that follow none.
        for _ in range(2):
            batch = whole.batch(ids[:, :40])
            with torch.no_grad():
                logits = whole.gather(whole(**batch).logits, batch["cp_batch"])
                expected = alone(input_ids=ids[:, :40], use_cache=False).logits
        found[name] = {
            "worst": worst,
            "falls": losses[0] - losses[-1],
            "shorter": models.rel_l2(logits, expected),
            "programs": len(whole.operators),
        }
    return found


@case
def pages() -> dict[str, Any]:
    """The loop of each page on coming from other code, beside one process."""
    found = {}
    for path in sorted((models.GOLDENS.parents[1] / "docs" / "pytorch").glob("*.md")):
        blocks = path.read_text(encoding="utf-8").split("```python\n")[1:]
        code = "\n".join(block.partition("```")[0] for block in blocks)
        model = models.make("bamba")
        alone = models.copied(model)
        ids = torch.randint(1, models.vocabulary(model), (2, 64))
        lengths = [[10, 31, 23], [40, 3, 21]]
        known: dict[str, Any] = {
            "torch": torch,
            "dist": dist,
            "model": model,
            "data": [ids],
            "packed_data": [(ids, torch.tensor(lengths, dtype=torch.int32))],
            "optimizer": torch.optim.SGD(model.parameters(), lr=0.5),
            "make_optimizer": lambda parameters: torch.optim.SGD(parameters, lr=0.5),
        }
        exec(code, known)
        if "packed_data" in code:
            count = sum(length - 1 for row in lengths for length in row)
            _, loss = models.alone(alone, ids, lengths, count)
        else:
            loss = alone(input_ids=ids, labels=ids, use_cache=False).loss
        loss.backward()
        if "clip_grad_norm_" in code:
            torch.nn.utils.clip_grad_norm_(alone.parameters(), 1.0)
        torch.optim.SGD(alone.parameters(), lr=0.5).step()
        expected = alone(input_ids=ids, labels=ids, use_cache=False).loss
        # Once more, with what the loop's step has made of the weights.
        cp = known["cp"]
        got = cp.sum_loss(model(**cp.batch(ids)).loss)
        # Micro-batches: each loss is its own mean, and sums are made once.
        optimizer = known["optimizer"]
        optimizer.zero_grad()
        alone.zero_grad()
        (expected := alone(input_ids=ids, labels=ids, use_cache=False).loss).backward()
        if path.stem == "Transformers":
            for row in ids:
                (model(**cp.batch(row[None])).loss / len(ids)).backward()
            cp.sum_gradients()
            assert models.worst_gradient(model, alone) < 1e-4
        found[path.stem] = {
            "loss": abs(cp.sum_loss(known["loss"]) - loss.item()),
            "after": abs(got - expected.item()),
            "fell": (loss - expected).item(),
        }
    return found


def _train(
    model: Any, data: list[dict[str, Any]], how: str, words: dict[str, Any]
) -> Any:
    cp = cp_mlir.shard(model, **words)
    ranks = dist.get_world_size()
    layers = model.get_decoder().layers
    if how == "compile":
        for layer in layers:
            layer.compile(fullgraph=True)
    if how == "fsdp":
        from torch.distributed.fsdp import fully_shard

        for layer in layers:
            fully_shard(layer)
        fully_shard(model)
    if how == "ddp":
        model = torch.nn.parallel.DistributedDataParallel(model)
    if how == "checkpoint":
        model.gradient_checkpointing_enable()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    losses = []
    for given in data:
        batch = cp.batch(**given)
        optimizer.zero_grad()
        loss = model(**batch).loss
        # Those that sum gradients divide by the number of ranks too.
        divides = how in ("fsdp", "ddp")
        (loss * (ranks if divides else 1)).backward()
        if not divides:
            cp.sum_gradients()
        optimizer.step()
        losses.append(cp.sum_loss(loss))
    return losses


def _trained(
    name: str,
    model: Any,
    given: list[dict[str, Any]],
    expected: list[float],
    hows: list[str],
) -> dict[str, Any]:
    """How far the losses of ranks are from those that are expected."""
    found = {}
    for how in hows:
        for words in ({"order": "zigzag"}, {"strategy": "hidden"}):
            losses = _train(models.copied(model), given, how, words)
            found[f"{name} {how} {words}"] = {
                "worst": max(abs(a - b) for a, b in zip(losses, expected, strict=True)),
                "falls": expected[0] - expected[-1],
            }
    return found


@case
def training() -> dict[str, Any]:
    """20 steps of AdamW in f32 beside one process."""
    found = {}
    for name in ("mamba2", "bamba", "nemotron_h", "granite"):
        model = models.make(name)
        data = torch.randint(1, models.vocabulary(model), (1, 2, 64)).repeat(20, 1, 1)
        alone = models.copied(model)
        optimizer = torch.optim.AdamW(alone.parameters(), lr=1e-3)
        expected = []
        for ids in data:
            optimizer.zero_grad()
            loss = alone(input_ids=ids, labels=ids, use_cache=False).loss
            loss.backward()
            optimizer.step()
            expected.append(loss.item())
        given = [{"input_ids": ids} for ids in data]
        hows = ["plain", "fsdp"]
        if name == "bamba":
            hows += ["compile", "ddp", "checkpoint"]
        found |= _trained(name, model, given, expected, hows)
    return found


@case
def packed_training() -> dict[str, Any]:
    """20 steps of AdamW in f32 on rows of documents, other ones each time, beside one
    process that sees each document by itself."""
    packs = ([[10, 31, 23], [40, 3, 17]], [[64], [1, 62]], [[5, 5, 5], [33, 31]])
    found = {}
    for name in ("mamba2", "bamba"):
        model = models.make(name)
        ids = torch.randint(1, models.vocabulary(model), (2, 64))
        alone = models.copied(model)
        optimizer = torch.optim.AdamW(alone.parameters(), lr=1e-3)
        given, expected = [], []
        for step in range(20):
            lengths = packs[step % len(packs)]
            most = max(map(len, lengths))
            padded = [row + [-1000] * (most - len(row)) for row in lengths]
            given.append({"input_ids": ids, "seq_lens": torch.tensor(padded)})
            count = sum(length - 1 for row in lengths for length in row)
            optimizer.zero_grad()
            _, loss = models.alone(alone, ids, lengths, count)
            loss.backward()
            optimizer.step()
            expected.append(loss.item())
        found |= _trained(name, model, given, expected, ["plain", "fsdp"])
    return found


def _mixer(length: int) -> tuple[Any, torch.Tensor, torch.Tensor]:
    """One of Nemotron-H's form with slow decay, its input and a cotangent."""
    from transformers import NemotronHConfig
    from transformers.models.nemotron_h.modeling_nemotron_h import (
        NemotronHMamba2Mixer,
    )

    config = NemotronHConfig(
        hidden_size=256,
        mamba_num_heads=16,
        mamba_head_dim=32,
        n_groups=4,
        ssm_state_size=64,
        chunk_size=64,
        layers_block_type=["linear_attention"],
    )
    torch.manual_seed(11)
    mixer = NemotronHMamba2Mixer(config, layer_idx=0)
    with torch.no_grad():
        mixer.A_log.uniform_(-6.0, -1.0)
        mixer.dt_bias.uniform_(-2.0, 0.5)
    u, cotangent = torch.randn(2, 1, length, 256).unbind(0)
    return mixer, u, cotangent


@case
def automodel() -> dict[str, Any]:
    """One mixer by Automodel's MambaContextParallel, in zigzag order, and by a program
    in the same order: result, gradients, bytes and seconds."""
    import automodel as peer

    length = 4096
    mixer, u, cotangent = _mixer(length)
    batch = cp_mlir.Batch({"u": u, "dy": cotangent}, dist.get_world_size(), "zigzag")
    rank = dist.get_rank()

    def run(forward: Callable[[torch.Tensor], torch.Tensor]) -> dict[str, Any]:
        seconds = []
        for _ in range(5):
            mixer.zero_grad()
            x = batch.part("u", rank).requires_grad_()
            dist.barrier()
            start = time.perf_counter()
            y = forward(x)
            y.backward(batch.part("dy", rank))
            dist.barrier()
            seconds.append(time.perf_counter() - start)
        gradients = {"u": x.grad}
        for name, parameter in mixer.named_parameters():
            gradient = parameter.grad.clone()
            dist.all_reduce(gradient)
            gradients[name] = gradient
        return {"y": y.detach(), "seconds": min(seconds), "gradients": gradients}

    theirs = peer.released().MambaContextParallel(
        dist.group.WORLD, 16, 32, 4, 64, mixer
    )
    expected = run(lambda x: peer.forward(mixer, theirs, x))
    found = {}
    for strategy in ("hidden", "sequence"):
        model = torch.nn.ModuleList([mixer])
        cp = cp_mlir.shard(model, strategy=strategy, order="zigzag")
        mine = run(mixer)
        del mixer.forward
        found[strategy] = {
            "y": models.rel_l2(mine["y"], expected["y"]),
            "gradients": max(
                models.rel_l2(mine["gradients"][name], gradient)
                for name, gradient in expected["gradients"].items()
            ),
            "seconds": mine["seconds"],
            "theirs": expected["seconds"],
        }
        cp.world.reset_counts()
    return found


@case
def memory() -> dict[str, Any]:
    """Bytes that a rank keeps for the backward pass, parameters aside."""
    model = models.make("bamba")
    ids = torch.randint(1, models.vocabulary(model), (1, 512))
    cp = cp_mlir.shard(model)
    batch = cp.batch(ids)
    known = {each.untyped_storage().data_ptr() for each in model.parameters()}
    kept: dict[int, int] = {}

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in known:
            kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        loss = model(**batch).loss
    loss.backward()
    return {"bytes": sum(kept.values())}


@case
def checkpointed() -> dict[str, Any]:
    """Layers that are computed again have the documents of their own call, where
    another one came between; or it is an error."""
    found = {}
    for name in models.NAMES:
        ids = torch.randint(1, models.vocabulary(models.make(name)), (1, 64))

        def train(again: bool, name: str = name, ids: torch.Tensor = ids) -> Any:
            model = models.make(name)
            cp = cp_mlir.shard(model)
            if again:
                model.gradient_checkpointing_enable()
            loss = torch.zeros(())
            for lengths in ([30, 34], [10, 54]):
                batch = cp.batch(ids, seq_lens=torch.tensor([lengths]).int())
                loss = loss + model(**batch).loss
            loss.backward()
            return model

        kept = train(False)
        try:
            found[name] = models.worst_gradient(train(True), kept)
        except ValueError as error:
            found[name] = str(error)
    return found
