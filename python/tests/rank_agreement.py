"""What models compute on ranks, beside one process."""

from __future__ import annotations

from typing import Any

import families
import models
import torch
import torch.distributed as dist
from cases import case

import cp_mlir


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
    choices: list[dict[str, Any]] | None = None,
    **given: torch.Tensor,
) -> dict[str, Any]:
    """Each sharding of a model on a batch beside the reference, which has gradients.
    Layer by layer, or as one program."""
    found = {}
    for words in choices or shardings(packed="seq_lens" in given):
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
        expected, loss = models.alone(reference, ids, lengths, count)
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
    all_of_them = [*models.NAMES, "falcon_h1", "zamba2"]
    names = all_of_them if dist.get_world_size() == 2 else ["bamba"]
    for name in names:
        reference = models.make(name)
        model = models.copied(reference)
        ids = torch.randint(1, models.vocabulary(reference), (2, 32))
        _, loss = models.alone(reference, ids, lengths, count)
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
def hybrids() -> dict[str, Any]:
    """Mixers that only models of torch have, in f64: plain rows and rows of documents,
    layer by layer and as one program."""
    found = {}
    lengths = [[10, 31, 23], [40, 3, 17]]
    given = {"seq_lens": torch.tensor(lengths, dtype=torch.int32)}
    words = {"order": "zigzag"}
    for name in families.MAMBA:
        reference = models.make(name, torch.float64)
        models.widen()
        model = models.copied(reference)
        ids = torch.randint(1, models.vocabulary(reference), (2, 64))
        expected, loss = models.alone(reference, ids, lengths, 118)
        loss.backward()
        for as_one in (False, True):
            each = _beside(
                name,
                model.eval() if as_one else model,
                reference,
                expected,
                loss,
                ids,
                as_one=as_one,
                choices=[words],
                **given,
            )
            found |= {f"{label} {as_one}": it for label, it in each.items()}
    return found


@case
def families_whole() -> dict[str, Any]:
    """Models of other families as one program each, of documents, in f64."""
    found = {}
    lengths = [[10, 31, 23], [40, 3, 17]]
    given = {"seq_lens": torch.tensor(lengths, dtype=torch.int32)}
    for name in families.OTHERS:
        reference = models.make(name, torch.float64).eval()
        models.widen()
        model = models.copied(reference)
        ids = torch.randint(1, models.vocabulary(reference), (2, 64))
        expected, loss = models.alone(reference, ids, lengths, 118)
        loss.backward()
        found |= _beside(
            name,
            model,
            reference,
            expected,
            loss,
            ids,
            as_one=True,
            choices=[{"order": "zigzag"}],
            **given,
        )
    return found
