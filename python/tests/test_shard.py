"""Models that cannot share tokens, and calls of one that does, on one rank."""

from __future__ import annotations

import functools
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import models
import pytest
import torch
from torch import Tensor, nn
from transformers import (
    AutoModelForCausalLM,
    FalconConfig,
    GPTNeoConfig,
    Lfm2Config,
    LlamaConfig,
    LlamaForSequenceClassification,
    Mamba2ForCausalLM,
    MistralConfig,
    MixtralConfig,
    PhimoeConfig,
    Qwen2MoeConfig,
)

import cp_mlir

SMALL = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "vocab_size": 48,
}


def bamba(**fields: Any) -> nn.Module:
    model = models.make("bamba")
    for name, value in fields.items():
        setattr(model.config, name, value)
    return model


def adapted() -> nn.Module:
    model = models.make("mamba2")
    mixer = model.backbone.layers[0].mixer

    class Adapter(nn.Linear):
        pass

    mixer.in_proj.__class__ = Adapter
    return model


def dynamic() -> nn.Module:
    rope = {"rope_type": "dynamic", "factor": 2.0, "rope_theta": 1e4}
    return AutoModelForCausalLM.from_config(
        LlamaConfig(**SMALL, intermediate_size=32, rope_parameters=rope)
    )


CANNOT: dict[str, tuple[Callable[[], nn.Module], str]] = {
    "z loss": (lambda: bamba(z_loss_coefficient=0.1), "z_loss_coefficient=0.1"),
    "an adapter": (adapted, "in_proj' is a Adapter, expected a plain Linear"),
    "short convolutions": (
        lambda: AutoModelForCausalLM.from_config(
            Lfm2Config(**SMALL, num_key_value_heads=2, layer_types=["conv"] * 2)
        ),
        r"layers \['conv'\]",
    ),
    "local attention by a mask": (
        lambda: AutoModelForCausalLM.from_config(
            GPTNeoConfig(
                hidden_size=32,
                num_layers=2,
                num_heads=4,
                vocab_size=48,
                attention_types=[[["global", "local"], 1]],
            )
        ),
        "local",
    ),
    "a router's loss": (
        lambda: AutoModelForCausalLM.from_config(
            MixtralConfig(
                **SMALL,
                num_key_value_heads=2,
                intermediate_size=32,
                output_router_logits=True,
            )
        ),
        "output_router_logits=True",
    ),
    "a result of one token": (
        lambda: LlamaForSequenceClassification(
            LlamaConfig(**SMALL, intermediate_size=32)
        ),
        "reads certain tokens",
    ),
    "attention of its own": (
        lambda: AutoModelForCausalLM.from_config(
            FalconConfig(
                **SMALL,
                alibi=False,
                attention_dropout=0.0,
                hidden_dropout=0.0,
                bos_token_id=1,
                eos_token_id=2,
            )
        ),
        "does not go by transformers' attention interface",
    ),
    "frequencies of the longest position": (dynamic, "of the type 'dynamic'"),
    "no model of transformers": (
        lambda: nn.Sequential(models.make("bamba")),
        "no model of transformers",
    ),
    "nothing": (lambda: nn.Linear(2, 2), "has no layer that shard"),
}


@pytest.mark.parametrize("name", CANNOT)
def test_models_that_cannot(name: str) -> None:
    make, expected = CANNOT[name]
    with pytest.raises(ValueError, match=expected):
        cp_mlir.shard(make())


def test_frequencies_of_the_longest_position_of_a_whole_model() -> None:
    with pytest.raises(ValueError, match="of the type 'dynamic'"):
        cp_mlir.compile_model(dynamic())


@pytest.mark.parametrize("order", ["striped:x", "striped:0", "striped:-1", "zigzag:2"])
def test_orders_without_a_unit(order: str) -> None:
    with pytest.raises(ValueError, match="order must be striped:UNIT"):
        cp_mlir.Sharding(2, order=order)


def test_a_mask_of_the_loss() -> None:
    cp = cp_mlir.shard(models.make("bamba"))
    ids = torch.randint(1, 48, (2, 16))
    mask = torch.ones_like(ids)
    mask[:, 10:] = 0
    batch = cp.batch(ids, loss_mask=mask)
    assert (batch["labels"] != -100).sum() == batch["num_items_in_batch"] < 30
    with pytest.raises(TypeError, match=r"hands no \['token_type_ids'\]"):
        cp.batch(ids, token_type_ids=mask)


def test_embeddings_with_a_gradient() -> None:
    model = models.make("bamba")
    cp = cp_mlir.shard(model)
    embedded = model.get_input_embeddings()(torch.ones(1, 16).long())
    with pytest.raises(ValueError, match="'inputs_embeds' has a gradient"):
        cp.batch(inputs_embeds=embedded)


def test_rows_of_another_batch() -> None:
    model = models.make("bamba")
    cp = cp_mlir.shard(model)
    batch = cp.batch(torch.ones(1, 16).long())
    batch["input_ids"] = torch.ones(1, 32).long()
    with pytest.raises(ValueError, match="give the model what batch"):
        model(**batch)


def test_documents_end_with_their_call() -> None:
    model = models.make("bamba").eval()
    cp = cp_mlir.shard(model)
    ids = torch.randint(1, 48, (1, 32))
    whole = cp.batch(ids)
    expected = model(**whole).logits
    model(**cp.batch(ids, seq_lens=torch.tensor([[12, 20]]).int()))
    assert torch.equal(model(**whole).logits, expected)
    mixer = next(m for m in model.modules() if type(m).__name__ == "BambaMixer")
    u = torch.randn(1, 32, 32)
    before = mixer(u)
    model(**cp.batch(ids, seq_lens=torch.tensor([[12, 20]]).int()))
    assert torch.equal(mixer(u), before)


def test_autocast() -> None:
    model = models.make("bamba").eval()
    alone = models.copied(model)
    cp = cp_mlir.shard(model)
    ids = torch.randint(1, 48, (1, 32))
    with torch.autocast("cpu", torch.bfloat16):
        found = model(**cp.batch(ids)).logits
        expected = alone(input_ids=ids, use_cache=False).logits
    assert models.rel_l2(found.detach().float(), expected.detach().float()) < 3e-2


def test_layers_are_traced_for_each_length() -> None:
    model = models.make("bamba").eval()
    alone = models.copied(model)
    cp = cp_mlir.shard(model)
    for layer in model.model.layers:
        layer.compile(fullgraph=True, dynamic=False)
    for length in (32, 48, 32):
        ids = torch.randint(1, 48, (1, length))
        found = model(**cp.batch(ids)).logits.detach()
        expected = alone(input_ids=ids, use_cache=False).logits.detach()
        assert models.rel_l2(found, expected.detach()) < 1e-5


def test_batches_are_sent_between_processes() -> None:
    ids = torch.arange(1, 23).view(2, 11)
    batch = cp_mlir.Batch({"input_ids": ids}, 4, "zigzag")
    again = pickle.loads(pickle.dumps(batch))
    for rank in range(4):
        part = batch.part("input_ids", rank)
        assert torch.equal(again.part("input_ids", rank), part)
    with pytest.raises(ValueError, match="rank -1 is none"):
        batch.part("input_ids", -1)


def test_a_process_that_was_forked_ends_no_world() -> None:
    world = cp_mlir.World((1,))
    child = os.fork()
    if child == 0:
        world.close()
        os._exit(0 if world.context else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    world.close()
    assert not world.context


@pytest.mark.parametrize("name", ["mamba2", "bamba"])
def test_sharded_models_are_not_saved_whole(name: str) -> None:
    """What is loaded would be sharded no more."""
    model = models.make(name)
    cp_mlir.shard(model)
    with pytest.raises(TypeError, match="save its state_dict"):
        pickle.dumps(model)


def test_a_forward_that_is_no_method() -> None:
    """As others put it in the place of a model's own."""
    model, plain = models.make("mamba2"), models.make("mamba2")
    model.forward = functools.partial(model.forward)
    cp = cp_mlir.shard(model)
    ids = torch.randint(1, models.vocabulary(model), (1, 32))
    found = model(**cp.batch(ids)).loss.detach()
    expected = plain(input_ids=ids, labels=ids, use_cache=False).loss
    assert models.rel_l2(found, expected.detach()) < 1e-5
    with pytest.raises(ValueError, match="labels alone"):
        model(input_ids=ids, labels=ids)


def test_attention_of_a_class_of_ones_own() -> None:
    model = models.make("bamba")
    attention = next(
        each for each in model.modules() if type(each).__name__ == "BambaAttention"
    )

    class OwnAttention(type(attention)):  # type: ignore[misc]
        def forward(self, *args: Any, **named: Any) -> Any:
            return super().forward(*args, **named)

    attention.__class__ = OwnAttention
    cp = cp_mlir.shard(model)
    model(**cp.batch(torch.randint(1, models.vocabulary(model), (1, 32))))


def test_saved_models_are_as_any(tmp_path: Path) -> None:
    """A claim of docs/pytorch/Transformers.md."""
    from transformers import AutoModelForCausalLM

    model = models.make("bamba").eval()
    cp = cp_mlir.shard(model)
    ids = torch.randint(1, 48, (1, 32))
    expected = model(**cp.batch(ids)).logits
    model.save_pretrained(tmp_path)
    loaded = AutoModelForCausalLM.from_pretrained(tmp_path, attn_implementation="eager")
    found = loaded(input_ids=ids, use_cache=False).logits
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)


WINDOWED = {
    **SMALL,
    "intermediate_size": 32,
    "num_key_value_heads": 2,
    "sliding_window": 4,
}


def test_windows_that_only_a_mask_knows() -> None:
    """Attention is not handed it, and would see all tokens."""
    phimoe = PhimoeConfig(**WINDOWED, num_local_experts=4)
    experts = {"num_experts": 4, "num_experts_per_tok": 2, "max_window_layers": 2}
    experts |= {"moe_intermediate_size": 24, "shared_expert_intermediate_size": 24}
    for config in (
        phimoe,
        Qwen2MoeConfig(**WINDOWED, **experts, use_sliding_window=True),
    ):
        model = AutoModelForCausalLM.from_config(config)
        for refused in (cp_mlir.shard, cp_mlir.compile_model):
            with pytest.raises(ValueError, match="a window that only its mask knows"):
                refused(model)
        ids = torch.ones(1, 8).long()
        with pytest.raises(ValueError, match="a window that only its mask knows"):
            cp_mlir.export(model, input_ids=ids)
        config.sliding_window = None
        cp_mlir.shard(AutoModelForCausalLM.from_config(config))
    cp_mlir.shard(AutoModelForCausalLM.from_config(MistralConfig(**WINDOWED)))


@pytest.mark.parametrize("order", ["zigzag", "striped:4"])
@pytest.mark.parametrize("make", [cp_mlir.shard, cp_mlir.compile_model])
def test_one_rank_has_all_tokens_in_any_order(order: str, make: Any) -> None:
    model = AutoModelForCausalLM.from_config(MistralConfig(**WINDOWED)).eval()
    each = models.copied(model)
    cp = make(each, order=order)
    ids = torch.randint(1, 48, (1, 7))
    called = each if make is cp_mlir.shard else cp
    found = called(**cp.batch(ids)).logits
    torch.testing.assert_close(found, model(ids, use_cache=False).logits)


class Losing(nn.Module):
    """A model in one of one's own, which has its loss itself, or none."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = models.make("mamba2").backbone
        self.head = nn.Linear(self.inner.config.hidden_size, 40)

    def forward(self, input_ids: Tensor, labels: Any = None, **rest: Any) -> Any:
        logits = self.head(self.inner(input_ids, **rest)[0])
        if labels is None:
            return logits
        return models.cross_entropy(logits[:, :-1], labels[:, 1:], labels.numel())


def test_a_model_of_ones_own() -> None:
    model = Losing()
    cp = cp_mlir.shard(model)
    ids = torch.randint(1, 40, (2, 32))
    batch = cp.batch(ids)
    with pytest.raises(ValueError, match="computes a loss of its own of labels"):
        model(**batch)
    logits = model(batch["input_ids"])
    loss = models.cross_entropy(
        logits, batch["shift_labels"], batch["num_items_in_batch"]
    )
    expected = models.cross_entropy(logits[:, :-1], ids[:, 1:], 62)
    assert abs(float(loss.detach()) - float(expected.detach())) < 1e-5


class LocalLosing(Losing):
    """With a local of that name."""

    def forward(self, input_ids: Tensor, labels: Any = None, **rest: Any) -> Any:
        logits = self.head(self.inner(input_ids, **rest)[0])
        if labels is None:
            return logits
        shift_labels = labels[:, 1:]
        return models.cross_entropy(logits[:, :-1], shift_labels, labels.numel())


class SubclassLosing(Mamba2ForCausalLM):
    """Whose parent has a loss that it does not call."""

    def forward(self, input_ids: Tensor, labels: Any = None, **rest: Any) -> Any:
        logits = super().forward(input_ids, **rest).logits
        return models.cross_entropy(logits[:, :-1], labels[:, 1:], labels.numel())


def test_losses_of_ones_own() -> None:
    ids = torch.randint(1, 40, (2, 32))
    for model in (LocalLosing(), SubclassLosing(models.config_of("mamba2"))):
        cp = cp_mlir.shard(model)
        with pytest.raises(ValueError, match="computes a loss of its own of labels"):
            model(**cp.batch(ids))

    def shifting(logits: Tensor, labels: Tensor, vocab_size: int, **_: Any) -> Tensor:
        return models.cross_entropy(logits[:, :-1], labels[:, 1:], vocab_size)

    for make in (cp_mlir.shard, cp_mlir.compile_model):
        model = models.make("mamba2").eval()
        model.loss_function = shifting
        cp = make(model)
        run: Any = model if make is cp_mlir.shard else cp
        with pytest.raises(
            ValueError, match="takes no num_items_in_batch and no shift"
        ):
            run(**cp.batch(ids))


def test_what_a_refused_call_leaves() -> None:
    """Nothing: neither its documents, nor that it is under way."""
    model = models.make("mamba2")
    cp = cp_mlir.shard(model)
    ids = torch.randint(1, models.vocabulary(model), (1, 64))
    expected = model.backbone(ids)[0]
    given = cp.batch(ids, seq_lens=torch.tensor([[20, 44]]).int())
    holes = torch.ones_like(ids)
    holes[0, 3] = 0
    with pytest.raises(ValueError, match="that is not all ones"):
        model(**given, attention_mask=holes)
    with pytest.raises(ValueError, match="that is not all ones"):
        model.backbone(ids, attention_mask=holes, cu_seqlens=given["cu_seqlens"])
    assert not cp.is_under_way

    def fail(*_: Any) -> None:
        raise LookupError("before the layers are reached")

    hook = model.backbone.register_forward_pre_hook(fail)
    with pytest.raises(LookupError):
        model(**given)
    hook.remove()
    assert not cp.is_under_way
    assert torch.equal(model.backbone(ids)[0], expected)


def test_a_copy_within_a_call() -> None:
    model = models.make("mamba2")
    cp = cp_mlir.shard(model)
    other = models.copied(model)
    ids = torch.randint(1, models.vocabulary(model), (1, 64))
    given = cp.batch(ids, seq_lens=torch.tensor([[20, 44]]).int())
    expected = model(**given).logits
    layers: Any = model.backbone
    layers.layers[0].register_forward_hook(lambda *_: other(ids) and None)
    assert torch.equal(model(**given).logits, expected)


def test_a_norm_in_a_wrapper() -> None:
    model = models.make("mamba2")
    mixer = model.backbone.layers[0].mixer
    mixer.norm = nn.Sequential(mixer.norm)
    ids = torch.ones(1, 32).long()
    for make in (cp_mlir.shard, lambda model: cp_mlir.export(model, input_ids=ids)):
        with pytest.raises(ValueError, match="norm' is a Sequential without a weight"):
            make(model)


def test_embeddings_that_count() -> None:
    model = models.make("mamba2")
    model.backbone.embeddings.scale_grad_by_freq = True
    with pytest.raises(ValueError, match=r"counts its ids \(scale_grad_by"):
        cp_mlir.shard(model)


def test_integers_and_truths_of_a_batch() -> None:
    model = AutoModelForCausalLM.from_config(MistralConfig(**WINDOWED)).eval()
    each = models.copied(model)
    cp = cp_mlir.shard(each)
    ids = torch.randint(1, 48, (1, 8)).int()
    found = each(**cp.batch(ids, attention_mask=torch.ones(1, 8).bool()))
    expected = model(input_ids=ids, labels=ids.long(), use_cache=False)
    torch.testing.assert_close(found.loss, expected.loss)
    with pytest.raises(TypeError, match=r"'seq_lens' is \[\[8\]\], expected a tensor"):
        cp.batch(ids, seq_lens=[[8]])
    with pytest.raises(ValueError, match="token_type_ids are of the whole row"):
        each(**cp.batch(ids), token_type_ids=ids)
