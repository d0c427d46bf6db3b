"""Groups of ranks, single operators, and what travels."""

from __future__ import annotations

from typing import Any

import models
import torch
import torch.distributed as dist
from cases import case

import cp_mlir
from cp_mlir.layers import AttentionShape, MixerShape


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
