"""What ranks show together. torchrun ranks.py RESULTS.json runs every case on all
ranks, and rank 0 writes what they found."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

import misuse  # noqa: F401
import models
import torch
import torch.distributed as dist
from cases import CASES, WIDE, case

import cp_mlir
from cp_mlir.layers import AttentionShape, MixerShape


def shardings(packed: bool = False) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = [
        {"strategy": "sequence"},
        {"strategy": "sequence", "order": "zigzag", "scan": "doubling"},
        {"strategy": "sequence", "order": "striped"},
        {"strategy": "sequence", "order": "striped:4"},
        {"strategy": "hidden", "order": "zigzag"},
        {"strategy": "sequence", "attention": "gather"},
    ]
    if dist.get_world_size() == 4:
        found.append({"strategy": "2d", "inner": 2, "order": "zigzag"})
    if packed:
        found.append({"strategy": "sequence", "order": "zigzag_per_document"})
    if packed and dist.get_world_size() == 4:
        found.append({"strategy": "2d", "inner": 2, "order": "zigzag_per_document"})
    return found


def _beside(
    name: str,
    model: Any,
    reference: Any,
    expected: torch.Tensor,
    loss: torch.Tensor,
    ids: torch.Tensor,
    *,
    as_one: bool = False,
    **given: torch.Tensor,
) -> dict[str, Any]:
    """Each sharding of a model on a batch beside the reference, which has gradients.
    Layer by layer, or as one program."""
    found = {}
    for words in shardings(packed="seq_lens" in given):
        # Of one program it is an error where nothing can have it.
        if as_one and words.get("order") == "zigzag_per_document" and name == "mamba2":
            continue
        each = models.copied(model)
        cp = (cp_mlir.compile_model if as_one else cp_mlir.shard)(each, **words)
        batch = cp.batch(ids, **given)
        output = cp(**batch) if as_one else each(**batch)
        logits = output.logits
        mine = (
            output.loss
            if as_one
            else models.cross_entropy(
                logits, batch["shift_labels"], batch["num_items_in_batch"]
            )
        )
        mine.backward()
        if not as_one:
            cp.sum_gradients()
        whole = cp.gather(logits, batch["cp_batch"])
        # What a row holds behind its documents is of none.
        whole[(expected == 0).all(-1)] = 0
        found[f"{name} {words}"] = {
            "logits": models.rel_l2(whole, expected),
            "loss": abs(cp.sum_loss(mine) - loss.item()),
            "gradients": models.worst_gradient(each, reference),
        }
    return found


@case
def agreement() -> dict[str, Any]:
    """Logits, loss and gradients beside one process, in f64."""
    found = {}
    for name in models.NAMES:
        reference = models.make(name, torch.float64)
        models.widen()
        model = models.copied(reference)
        ids = torch.randint(1, models.vocabulary(reference), (2, 64))
        labels = torch.cat([ids[:, 1:], torch.full((2, 1), -100)], 1)
        expected = reference(input_ids=ids, use_cache=False).logits
        loss = models.cross_entropy(expected, labels, 126)
        loss.backward()
        found |= _beside(name, model, reference, expected.detach(), loss, ids)
    return found


def _documents(model: Any, ids: Any, lengths: list[list[int]], count: int) -> Any:
    """The logits of each document by itself, where rows hold it, and the mean loss of
    their `count` next tokens."""
    logits = torch.zeros(*ids.shape, models.vocabulary(model), dtype=model.dtype)
    loss = torch.zeros((), dtype=model.dtype)
    for row, documents in enumerate(lengths):
        start = 0
        for length in documents:
            one = ids[row : row + 1, start : start + length]
            said = model(input_ids=one, use_cache=False).logits
            logits[row, start : start + length] = said[0].detach()
            loss = loss + models.cross_entropy(said[:, :-1], one[:, 1:], count)
            start += length
    return logits, loss


@case
def packed() -> dict[str, Any]:
    """Rows of documents beside each document by itself, in f64."""
    return _packed(as_one=False)


@case
def packed_whole() -> dict[str, Any]:
    """The same of models as one program each."""
    return _packed(as_one=True)


def _packed(as_one: bool) -> dict[str, Any]:
    found = {}
    lengths = [[10, 31, 23], [40, 3, 17]]
    count = sum(length - 1 for row in lengths for length in row)
    for name in models.NAMES:
        reference = models.make(name, torch.float64)
        models.widen()
        model = models.copied(reference)
        ids = torch.randint(1, models.vocabulary(reference), (2, 64))
        expected, loss = _documents(reference, ids, lengths, count)
        loss.backward()
        given = {"seq_lens": torch.tensor(lengths, dtype=torch.int32)}
        found |= _beside(
            name, model, reference, expected, loss, ids, as_one=as_one, **given
        )
    return found


@case
def devices() -> dict[str, Any]:
    """Rows of documents on the emulated device, in f32: a model layer by layer, and one
    as one program, beside one process without a device."""
    found = {}
    lengths = [[10, 22], [29, 3]]
    count = sum(length - 1 for row in lengths for length in row)
    given = {"seq_lens": torch.tensor(lengths, dtype=torch.int32)}
    # Kernels for cards take their time in the executor.
    names = models.NAMES if dist.get_world_size() == 2 else ["bamba"]
    for name in names:
        reference = models.make(name)
        model = models.copied(reference)
        ids = torch.randint(1, models.vocabulary(reference), (2, 32))
        _, loss = _documents(reference, ids, lengths, count)
        loss.backward()
        forms = {"layers": cp_mlir.shard, "whole": cp_mlir.compile_model}
        for label, make in forms.items():
            each = models.copied(model)
            cp = make(each, order="zigzag", device="emulated")
            batch = cp.batch(ids, **given)
            mine = (cp if label == "whole" else each)(**batch).loss
            mine.backward()
            if label == "layers":
                cp.sum_gradients()
            cp.world.synchronize()
            found[f"{name} {label}"] = {
                "loss": abs(cp.sum_loss(mine) - loss.item()),
                "gradients": models.worst_gradient(each, reference),
            }
    return found


@case
def exported() -> dict[str, Any]:
    """Whole models as one program, in f64; gradients are summed by the program."""
    found = {}
    for name in models.NAMES:
        model = models.make(name, torch.float64).eval()
        models.widen()
        ids = torch.randint(1, models.vocabulary(model), (2, 64))
        labels = torch.cat([ids[:, 1:], torch.full((2, 1), -100)], 1)
        text = cp_mlir.export(model, input_ids=ids)
        model.zero_grad()
        expected = model(input_ids=ids, use_cache=False).logits
        models.cross_entropy(expected, labels, 126).backward()
        for words in shardings():
            sharding = cp_mlir.Sharding(dist.get_world_size(), **words)
            whole = cp_mlir.load(cp_mlir.compile_ir(text, sharding, wrt=[]))
            state = model.state_dict(keep_vars=True)
            weights = {
                spec.name: state[spec.name].detach().clone().requires_grad_()
                for spec in whole.parameters
                if spec.is_parameter
            }
            part = whole.split("input_ids", ids.int())
            logits = whole(part, **weights)
            # Logits lie as ids do: labels are cut alike.
            mine = whole.split("input_ids", labels.int()).long()
            models.cross_entropy(logits, mine, 126).backward()
            parts = [torch.empty_like(logits) for _ in range(whole.world.size)]
            dist.all_gather(parts, logits.detach())
            worst = 0.0
            for key, weight in weights.items():
                gradient = state[key].grad
                assert weight.grad is not None, key
                worst = max(worst, models.rel_l2(weight.grad, gradient))
            found[f"{name} {words}"] = {
                "logits": models.rel_l2(whole.join(parts), expected.detach()),
                "gradients": worst,
            }
    return found


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
            _, loss = _documents(alone, ids, lengths, count)
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
            _, loss = _documents(alone, ids, lengths, count)
            loss.backward()
            optimizer.step()
            expected.append(loss.item())
        found |= _trained(name, model, given, expected, ["plain", "fsdp"])
    return found


@case
def traffic() -> dict[str, Any]:
    """What one layer sends, forward, by op."""
    found = {}
    ranks = dist.get_world_size()
    for label, shape, wrt in (
        ("mixer", MixerShape(1, 64, 32, 8, 4, 2, 4, 4), ["u"]),
        ("attention", AttentionShape(1, 64, 8, 4, 4, 4, 0.5), ["q", "k", "v"]),
    ):
        for strategy in ("sequence", "hidden"):
            sharding = cp_mlir.Sharding(ranks, strategy)
            path = cp_mlir.compile_ir(shape.ir(), sharding, wrt=wrt)
            operator = cp_mlir.load(path)
            operator.world.reset_counts()
            # The world is older than this case, and only so many are kept.
            before = max((each.number for each in operator.world.history()), default=-1)
            parts = [torch.rand(spec.local_shape) for spec in operator.parameters]
            operator(*parts)
            found[f"{label} {strategy}"] = {
                "ir": shape.ir(),
                "flags": sharding.flags(),
                "sent": {each.op: each.bytes_sent for each in operator.world.counts()},
                "history": [
                    (each.op, each.bytes_sent, each.seconds, each.number)
                    for each in operator.world.history()
                    if each.number > before
                ],
            }
    return found


@case
def subgroups() -> dict[str, Any]:
    """Ranks that share rows beside others that share other rows: sums over all of them
    are those of the rows of both."""
    ranks, rank = dist.get_world_size(), dist.get_rank()
    half = ranks // 2
    groups = [dist.new_group(list(range(i, i + half))) for i in (0, half)]
    model = models.make("bamba")
    alone = models.copied(model)
    ids = torch.randint(1, models.vocabulary(model), (2, 64))
    alone(input_ids=ids, labels=ids, use_cache=False).loss.backward()
    mine = rank // half
    cp = cp_mlir.shard(model, groups[mine], order="zigzag")
    loss = model(**cp.batch(ids[mine : mine + 1])).loss
    loss.backward()
    cp.sum_gradients()
    for parameter in model.parameters():
        # Each half has its sum on all of its ranks.
        dist.all_reduce(parameter.grad)
        parameter.grad /= ranks
    return {"gradients": models.worst_gradient(model, alone)}


REPLICAS = """
#all = affine_map<(b, l, c) -> (b, l, c)>
#row = affine_map<(b, l, c) -> (c)>
func.func @main(%x: tensor<1x8x4xf64> {cp.name = "x", cp.sequence = 1 : i64},
    %w: tensor<4xf64> {cp.param = "w"}, %n: tensor<4xf64> {cp.param = "n"})
    -> (tensor<1x8x4xf64> {cp.name = "y", cp.sequence = 1 : i64},
        tensor<4xf64> {cp.name = "m"}) {
  %e = tensor.empty() : tensor<1x8x4xf64>
  %y = linalg.generic {indexing_maps = [#all, #row, #all],
      iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %w : tensor<1x8x4xf64>, tensor<4xf64>) outs(%e : tensor<1x8x4xf64>) {
  ^bb0(%a: f64, %b: f64, %o: f64):
    %p = arith.mulf %a, %b : f64
    linalg.yield %p : f64
  } -> tensor<1x8x4xf64>
  %m = arith.mulf %n, %n : tensor<4xf64>
  return %y, %m : tensor<1x8x4xf64>, tensor<4xf64>
}
"""


@case
def replicas() -> dict[str, Any]:
    """A gradient that all ranks have alike is one rank's, where a caller adds up."""
    sharding = cp_mlir.Sharding(dist.get_world_size())
    path = cp_mlir.compile_ir(REPLICAS, sharding, wrt=["x"], partial_gradients=True)
    operator = cp_mlir.load(path)
    torch.manual_seed(9)
    x = torch.randn(1, 8, 4, dtype=torch.float64)
    w, n, cotangent = torch.randn(3, 4, dtype=torch.float64).unbind(0)
    w, n = w.clone().requires_grad_(), n.clone().requires_grad_()
    y, m = operator(operator.split("x", x), w, n)
    (y.sum() + (m * cotangent).sum()).backward()
    gradients = [w.grad, n.grad]
    for gradient in gradients:
        dist.all_reduce(gradient)
    return {
        "terms": models.rel_l2(gradients[0], x.sum((0, 1))),
        "alike": models.rel_l2(gradients[1], 2 * n.detach() * cotangent),
    }


@case
def operators() -> dict[str, Any]:
    """One layer on whole tensors beside the same on ranks, with the operator's own
    split and join; gradients that are summed by the program."""
    shape = MixerShape(1, 64, 32, 8, 4, 2, 4, 4, dtype="float64")
    torch.manual_seed(3)
    alone = cp_mlir.load(
        cp_mlir.compile_ir(shape.ir(), cp_mlir.Sharding(1), wrt=["u"]),
        world=cp_mlir.World((1,)),
    )
    wholes = [
        (0.3 * torch.randn(spec.shape, dtype=torch.float64)).requires_grad_()
        for spec in alone.parameters
    ]
    expected = alone(*wholes)
    weight = torch.randn(expected.shape, dtype=torch.float64)
    (expected * weight).sum().backward()
    sharding = cp_mlir.Sharding(dist.get_world_size(), order="zigzag")
    layer = cp_mlir.load(cp_mlir.compile_ir(shape.ir(), sharding, wrt=["u"]))
    parts = [
        layer.split(spec.name, whole.detach()).requires_grad_()
        for spec, whole in zip(layer.parameters, wholes, strict=True)
    ]
    y = layer(*parts)
    (y * layer.split("u", weight)).sum().backward()
    ys = [torch.empty_like(y) for _ in range(layer.world.size)]
    dist.all_gather(ys, y.detach())
    worst = 0.0
    for spec, part, whole in zip(layer.parameters, parts, wholes, strict=True):
        gradient = whole.grad
        if not spec.is_parameter:
            gradient = layer.split(spec.name, gradient)
        worst = max(worst, models.rel_l2(part.grad, gradient))
    return {
        "y": models.rel_l2(layer.join(ys), expected.detach()),
        "gradients": worst,
    }


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
def copies() -> dict[str, Any]:
    """A copy of a sharded model has its own weights, as of moving averages."""
    found = {}
    for name in models.NAMES:
        model = models.make(name)
        cp = cp_mlir.shard(model)
        copy, alone = models.copied(model), models.make(name)
        with torch.no_grad():
            for parameter in [*copy.parameters(), *alone.parameters()]:
                parameter.mul_(1.5)
        ids = torch.randint(1, models.vocabulary(model), (1, 64))
        batch = cp.batch(ids)
        whole = cp.gather(copy(**batch).logits, batch["cp_batch"])
        expected = alone(input_ids=ids, use_cache=False).logits.detach()
        found[name] = models.rel_l2(whole, expected)
    return found


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


def main() -> None:
    results, *chosen = sys.argv[1:]
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    found: dict[str, Any] = {}
    # What widens transformers' models does so for good.
    for name, function in sorted(CASES.items(), key=lambda each: each[0] in WIDE):
        if chosen and name not in chosen:
            continue
        start = time.time()
        found[name] = function()
        if dist.get_rank() == 0:
            print(f"{name}: {time.time() - start:.1f} s", flush=True)
    if dist.get_rank() == 0:
        with open(results, "w", encoding="utf-8") as file:
            json.dump(found, file, indent=1)
    dist.destroy_process_group()


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
