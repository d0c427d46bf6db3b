"""What would be wrong in silence, and is an error or right."""

from __future__ import annotations

from typing import Any

import models
import torch
import torch.distributed as dist
from cases import case, said
from torch import Tensor, nn

import cp_mlir
from cp_mlir.layers import MixerShape


@case
def refusals() -> dict[str, Any]:
    """What would be wrong in silence is an error."""
    model = models.make("bamba")
    ids = torch.randint(1, models.vocabulary(model), (2, 64))
    cp = cp_mlir.shard(model)
    batch = cp.batch(ids)
    local = batch["input_ids"]
    holes = torch.ones_like(local)
    holes[0, 3] = 0

    found = {
        "labels": said(lambda: model(input_ids=local, labels=local)),
        "mask": said(lambda: model(input_ids=local, attention_mask=holes)),
        "ones": said(lambda: model(**batch, attention_mask=torch.ones_like(local))),
        "documents": said(
            lambda: model(input_ids=local, cu_seqlens=torch.tensor([[0, 64]] * 2).int())
        ),
        "positions": said(
            lambda: model(
                input_ids=local,
                position_ids=torch.arange(local.shape[1]).expand(2, -1) % 7,
            )
        ),
        "by place": said(lambda: model(local, holes)),
        "twice": said(lambda: cp_mlir.shard(model)),
        "strategy": said(lambda: cp_mlir.shard(models.make("bamba"), order="random")),
        # Of one rank, and the others hear of it.
        "device": said(
            lambda: cp_mlir.World(
                (dist.get_world_size(),), device="tpu" if dist.get_rank() else None
            )
        ),
        "ranks": said(
            lambda: cp_mlir.load(
                cp_mlir.compile_ir(
                    MixerShape(1, 64, 32, 8, 4, 2, 4, 4).ir(), cp_mlir.Sharding(8)
                )
            )
        ),
    }
    model.config.attention_dropout = 0.5
    for module in model.modules():
        if hasattr(module, "attention_dropout"):
            module.attention_dropout = 0.5
    found["dropout"] = said(lambda: model(**cp.batch(ids)))
    # Another program on each rank.
    shape = MixerShape(1, 64, 32, 8, 4, 2, 4, 4, eps=1e-5 * (1 + cp.rank))
    path = cp_mlir.compile_ir(shape.ir(), cp_mlir.Sharding(dist.get_world_size()))
    found["program"] = said(lambda: cp_mlir.load(path))
    return found


class Wrapper(nn.Module):
    """Calls forward, past hooks, as those of adapters do."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, *args: Any, **named: Any) -> Any:
        return self.model.forward(*args, **named)


class Adapter(nn.Module):
    def __init__(self, inner: nn.Linear) -> None:
        super().__init__()
        self.inner = inner

    @property
    def weight(self) -> Tensor:
        return self.inner.weight

    @property
    def bias(self) -> Tensor | None:
        return self.inner.bias

    def forward(self, x: Tensor) -> Tensor:
        return 2 * self.inner(x)


@case
def changed() -> dict[str, Any]:
    """A model that is changed, or wrapped, when it is sharded already."""
    model = models.make("bamba")
    ids = torch.randint(1, models.vocabulary(model), (2, 64))
    cp = cp_mlir.shard(model)
    batch = cp.batch(ids)
    local = batch["input_ids"]
    model.set_attn_implementation("eager")
    found: dict[str, Any] = {"attention": said(lambda: model(**batch))}
    model.set_attn_implementation("cp_mlir")
    found["attention again"] = said(lambda: model(**batch))
    wrapped = Wrapper(model)
    found["wrapped labels"] = said(lambda: wrapped(input_ids=local, labels=local))
    found["last token"] = said(lambda: model(**batch, logits_to_keep=1))
    mixer = next(each for each in model.modules() if hasattr(each, "in_proj"))
    plain, mixer.in_proj = mixer.in_proj, Adapter(mixer.in_proj)
    found["adapter"] = said(lambda: model(**batch))
    mixer.in_proj = plain
    mamba = models.make("mamba2")
    cp = cp_mlir.shard(mamba, order="zigzag")
    lengths = torch.tensor([[10, 31, 23], [40, 3, 21]], dtype=torch.int32)
    packed = cp.batch(ids, seq_lens=lengths)
    found["wrapped"] = [
        cp.sum_loss(each(**packed).loss) for each in (mamba, Wrapper(mamba))
    ]
    return found


@case
def sums() -> dict[str, Any]:
    """Of gradients, which are added up once, and of the rows of all ranks."""
    model = models.make("bamba")
    cp = cp_mlir.shard(model, order="zigzag")
    copy, alone = models.copied(model), models.make("bamba")
    ids = torch.randint(1, models.vocabulary(model), (2, 64))
    found: dict[str, Any] = {}
    copy(**cp.batch(ids)).loss.backward()
    found["none"] = said(cp.sum_gradients)
    copy(**cp.batch(ids))
    cp.sum_gradients(copy)
    alone(input_ids=ids, labels=ids, use_cache=False).loss.backward()
    found["copy"] = models.worst_gradient(copy, alone)
    found["twice"] = said(lambda: cp.sum_gradients(copy))
    # One rank alone has more to add: no error of some, for which others would wait.
    if dist.get_rank() == 0:
        next(each.grad for each in copy.parameters() if each.grad is not None).add_(0)
    found["unlike"] = said(lambda: cp.sum_gradients(copy))
    copy.zero_grad()
    copy(**cp.batch(ids)).loss.backward()
    found["anew"] = said(lambda: cp.sum_gradients(copy))
    other = torch.roll(ids, dist.get_rank(), 1)
    loss = copy(**cp.batch(other)).loss
    found["rows"] = said(lambda: cp.sum_loss(loss))
    copy.zero_grad()
    copy(**cp.batch(other)).loss.backward()
    found["rows summed"] = said(lambda: cp.sum_gradients(copy))
    loss = copy(**cp.batch(ids)).loss
    found["rows again"] = said(lambda: cp.sum_loss(loss))
    # The others do not know yet when the next model is shared.
    if dist.get_rank() == 0:
        cp.world.fail("as a test wants it")
    fresh = models.make("mamba2")
    anew = cp_mlir.shard(fresh)
    found["failed, anew"] = said(lambda: fresh(**anew.batch(ids)))
    found["failed"] = said(lambda: copy(**cp.batch(ids)))
    found["deadline"] = said(
        lambda: cp_mlir.World((dist.get_world_size(),), deadline=-1)
    )
    return found


class Centred(nn.Module):
    """Of which each token's result depends on all others."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(6, 6, dtype=torch.float64)

    def forward(self, x: Tensor) -> Tensor:
        y = self.linear(x)
        return y * (y - y.mean(1, keepdim=True))


@case
def uneven() -> dict[str, Any]:
    """Rows of a length that ranks do not divide, beside longer ones of which a rank's
    part is as long."""
    ranks = dist.get_world_size()
    torch.manual_seed(0)
    model = Centred()
    short = torch.randn(2, 3 * ranks - 1, 6).double()
    long = torch.randn(2, 3 * ranks, 6).double()
    whole = cp_mlir.compile_model(model, x=short)
    found: dict[str, Any] = {}
    for name, x in (("short", short), ("long", long), ("short again", short)):
        model.zero_grad()
        expected = model(x)
        expected.square().sum().backward()
        gradient = model.linear.weight.grad.clone()
        model.zero_grad()
        part = whole.split("x", x)
        result = whole(part)
        operator = whole.operators[0 if x is short else -1]
        # Of what is padding nobody asks.
        cotangent = operator.split("x", 2 * expected.detach())
        result.backward(cotangent)
        parts = [torch.empty_like(result) for _ in range(ranks)]
        dist.all_gather(parts, result.detach().contiguous())
        found[name] = max(
            models.rel_l2(operator.join(parts), expected.detach()),
            models.rel_l2(model.linear.weight.grad, gradient),
        )
    found["programs"] = len(whole.operators)
    found["unknown"] = said(lambda: whole(whole.split("x", long).clone()))
    return found


@case
def absent() -> dict[str, Any]:
    """A rank that does not come to compile."""
    # As of a process group that was not told which.
    group = dist.new_group(backend="cpu:gloo")
    x = torch.randn(2, 8, 6).double()
    whole = cp_mlir.compile_model(Centred(), group, x=x, deadline=2.0)
    longer = whole.split("x", x)[:, :1]
    if dist.get_rank() == 0:
        return {"first": said(lambda: whole(longer))}
    return {}


@case
def grouped() -> dict[str, Any]:
    """Fewer heads of keys than ranks, whose rotation is slices and a concatenation."""
    from transformers import LlamaConfig, LlamaForCausalLM

    sizes = {"vocab_size": 40, "hidden_size": 16, "intermediate_size": 24}
    heads = {"num_attention_heads": 4, "num_key_value_heads": 1}
    config = LlamaConfig(**sizes, **heads, num_hidden_layers=1)
    torch.manual_seed(0)
    model = LlamaForCausalLM(config).double().eval()
    ids = torch.randint(1, 40, (2, 16))
    expected = model(input_ids=ids, use_cache=False).logits.detach()
    whole = cp_mlir.compile_model(model, attention="ulysses")
    batch = whole.batch(ids)
    logits = whole.gather(whole(**batch).logits, batch["cp_batch"])
    return {"logits": models.rel_l2(logits, expected)}


@case
def transposed() -> dict[str, Any]:
    """Tokens first: a result that is no part of a row is whole, as its cotangent."""
    torch.manual_seed(0)
    model = Centred()

    class First(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = model

        def forward(self, x: Tensor) -> Tensor:
            return self.inner(x).transpose(0, 1).tanh()

    first = First()
    x = torch.randn(2, 8, 6).double()
    whole = cp_mlir.compile_model(first, x=x)
    gradients, results = [], []
    for call in (lambda: first(x), lambda: whole(whole.split("x", x))):
        model.zero_grad()
        result = call()
        result.square().sum().backward()
        results.append(result.detach())
        gradients.append(model.linear.weight.grad.clone())
    odd = torch.randn(2, 9, 6).double()
    return {
        "result": models.rel_l2(results[1], results[0]),
        "gradient": models.rel_l2(gradients[1], gradients[0]),
        "undivided": said(lambda: whole(whole.split("x", odd))),
    }


@case
def alone() -> dict[str, Any]:
    """What one rank does with its model, as writing a checkpoint, is its own affair."""
    model = models.make("mamba2").eval()
    whole = cp_mlir.compile_model(model, deadline=20.0)
    ids = torch.randint(1, models.vocabulary(model), (1, 32))
    batch = whole.batch(ids)
    before = whole(**batch).logits
    if dist.get_rank() == 0:
        model.config.architectures = ["Written"]
        model.backbone.statistics = {"steps": [1, 2, 3]}
    after = whole(**batch).logits
    return {
        "distance": models.rel_l2(after, before),
        "programs": len(whole.operators),
    }
