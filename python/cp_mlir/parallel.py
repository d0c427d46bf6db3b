"""A transformers model whose layers share the tokens of a batch between ranks.

What depends along the sequence (Mamba-2 mixers, attention) becomes a program of all
ranks; what is token-wise stays as it is, on this rank's tokens. Parameters stay
torch's, and each rank's gradients are its terms of a sum.
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from .batch import Batch
from .compiler import CompileError, Sharding, compile_ir, compile_on_first
from .layers import ELEMENTS, AttentionShape, MixerShape
from .operator import Operator, load
from .program import Cut
from .world import World, shared_world

log = logging.getLogger("cp_mlir")

NAME = "cp_mlir"

# Mixers that compute as cp.mamba_mixer does: silu, and a gated norm behind the scan.
MIXERS = frozenset(
    {
        "BambaMixer",
        "GraniteMoeHybridMambaLayer",
        "Mamba2Mixer",
        "NemotronHMamba2Mixer",
    }
)


_identities = itertools.count()


class ContextParallel:
    """What shard() has made of a model: batches for it, and its gradients."""

    def __init__(
        self,
        model: nn.Module,
        group: Any,
        sharding: Sharding,
        world: World,
    ) -> None:
        self.model = model
        self.group = group
        self.sharding = sharding
        self.world = world
        """cu_seqlens of the batch that is under way, or None."""
        self.documents: Tensor | None = None
        """Those that the whole model has been called with, for its base model."""
        self.handed: Tensor | None = None
        self._operators: dict[Any, Operator] = {}
        """Which of the process, as words for what torch.compile traces."""
        self.identity = next(_identities)
        self.attention_key = _attention_keys(self)

    @property
    def rank(self) -> int:
        return self.world.rank

    def batch(
        self,
        input_ids: Tensor | None = None,
        *,
        labels: Tensor | None = None,
        packed: bool = False,
        length: int = 0,
        documents: int = 0,
        **tensors: Tensor,
    ) -> dict[str, Any]:
        """This rank's part of whole rows, as keyword arguments of the model: ids,
        positions, and labels, which are each token's own or missing (those of a causal
        model) and become those of the next token before rows are cut. All ranks give
        the same rows. With `seq_lens` `[B, n]` a row holds several documents, and
        nothing passes from one to the next; `packed` lays all rows end to end as
        documents of one. `length` and `documents` are capacities of a row: batches
        with the same ones need one compilation.

        The loss of a rank is its share of the mean over all tokens: sums over ranks
        are loss and gradients of the batch.
        """
        if input_ids is not None:
            tensors["input_ids"] = input_ids
        if labels is not None:
            tensors["labels"] = labels
        made = Batch(
            tensors,
            self.world.size,
            self.sharding.order,
            packed=packed,
            length=length,
            documents=documents,
            inner=self.sharding.inner or 1,
        )
        known = set(made.names())
        given: dict[str, Any] = {
            name: made.part(name, self.rank)
            for name in known & {"input_ids", "inputs_embeds", "position_ids"}
        }
        if "labels" in known:
            given["labels"] = given["shift_labels"] = made.part("labels", self.rank)
            given["num_items_in_batch"] = (made.whole("labels") != -100).sum()
        if packed or "seq_lens" in tensors:
            given["cu_seqlens"] = made.whole("cu_seqlens_padded")
        given["cp_batch"] = made
        return given

    def gather(self, part: Tensor, batch: Batch, dim: int = 1) -> Tensor:
        """What a model gave of a batch (`logits`), whole, on all ranks; without
        gradients."""
        import torch.distributed as dist

        parts = [torch.empty_like(part) for _ in range(self.world.size)]
        if self.world.size == 1:
            parts = [part]
        else:
            dist.all_gather(parts, part.detach().contiguous(), group=self.group)
        return batch.gather(parts, dim)

    def sum_gradients(self) -> None:
        """Adds up the gradients of all parameters over the ranks, in buckets of one
        type. Not with FSDP or DDP over these ranks, which do it themselves (and
        divide by their number: multiply the loss by it)."""
        import torch.distributed as dist

        if self.world.size == 1:
            return
        parameters = [each for each in self.model.parameters() if each.requires_grad]
        # What one rank has no gradient of, others may have, as of a rare token's.
        has = torch.tensor([each.grad is not None for each in parameters]).int()
        dist.all_reduce(has, group=self.group)
        by_type: dict[torch.dtype, list[Tensor]] = {}
        for parameter, ranks in zip(parameters, has.tolist(), strict=True):
            if not ranks:
                continue
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
            by_type.setdefault(parameter.dtype, []).append(parameter.grad)
        for gradients in by_type.values():
            flat = torch.cat([gradient.reshape(-1) for gradient in gradients])
            dist.all_reduce(flat, group=self.group)
            offset = 0
            for gradient in gradients:
                part = flat[offset : offset + gradient.numel()]
                gradient.copy_(part.view_as(gradient))
                offset += gradient.numel()

    def sum_loss(self, loss: Tensor) -> float:
        """The batch's loss of those of all ranks."""
        import torch.distributed as dist

        total = loss.detach().clone()
        if self.world.size > 1:
            dist.all_reduce(total, group=self.group)
        return float(total)

    def operator_of(self, shape: Any, wrt: Sequence[str]) -> Operator:
        """Compiled by the first rank, once for each shape of a layer."""
        found = self._operators.get(shape)
        if found is None:
            path = compile_on_first(
                self.group,
                lambda: compile_ir(
                    shape.ir(), self.sharding, wrt=wrt, partial_gradients=True
                ),
            )
            found = load(path, self.group, world=self.world)
            self._check_rows(found, wrt)
            self._operators[shape] = found
        return found

    def _check_rows(self, operator: Operator, activations: Sequence[str]) -> None:
        """That tokens lie in and out as batch() cuts them."""
        name, _, unit = self.sharding.order.partition(":")
        order = {"contiguous": 0, "zigzag": 1, "striped": 1 + int(unit or 1)}[name]
        expected = tuple(
            Cut(1, axis, 0 if axis else order, 1)
            for axis in range(len(self.sharding.sizes))
        )
        entry = operator.program.entries[0]
        for spec in [
            *(each for each in entry.arguments if each.name in activations),
            *(each for each in entry.results if not each.is_residual),
        ]:
            if spec.cuts != expected:
                raise CompileError(
                    f"'{spec.name}' of '{entry.name}' came out cut as {spec.cuts}, "
                    f"expected {expected}; this is a defect of cp_mlir, please tell us"
                )

    def places_of(self, tokens: Tensor) -> Tensor:
        """Of this rank's tokens in the whole row."""
        local = tokens.shape[1]
        whole = torch.arange(local * self.world.size).expand(1, -1)
        rows = Batch(
            {"position_ids": whole, "input_ids": whole},
            self.world.size,
            self.sharding.order,
            inner=self.sharding.inner or 1,
        )
        return rows.part("position_ids", self.rank).expand(tokens.shape[0], -1)


def shard(
    model: nn.Module,
    group: Any = None,
    *,
    strategy: str = "sequence",
    attention: str | None = None,
    order: str = "contiguous",
    scan: str = "chain",
    inner: int | None = None,
    transport: str | None = None,
    deadline: float = 60.0,
    threads: int = 0,
) -> ContextParallel:
    """Lets the ranks of `group` (the default one without it; a process alone is one
    rank) share the tokens of each batch of a transformers model, which is changed in
    place. See Sharding for the words, World for the rest.

    Errors: ValueError for mixers or attention that are not known here, by their place
    in the model.
    """
    import torch.distributed as dist

    ranks = dist.get_world_size(group) if dist.is_initialized() else 1
    sharding = Sharding(ranks, strategy, attention, order, scan, inner)
    mixers, heads = _layers_of(model)
    world = shared_world(
        sharding.sizes, group, transport=transport, deadline=deadline, threads=threads
    )
    parallel = ContextParallel(model, group, sharding, world)
    for name, mixer in mixers:
        mixer.forward = _mixer_forward(parallel, mixer, name)
    if heads:
        _take_attention(model, parallel, [module for _, module in heads])
    _guard(model, parallel)
    return parallel


# ===----------------------------------------------------------------------===//
# What is in a model
# ===----------------------------------------------------------------------===//


def _layers_of(
    model: nn.Module,
) -> tuple[list[tuple[str, nn.Module]], list[tuple[str, nn.Module]]]:
    mixers, heads = [], []
    for name, module in model.named_modules():
        kind = type(module).__name__
        if kind in MIXERS:
            _check_mixer(module, name)
            mixers.append((name, module))
        elif hasattr(module, "A_log"):
            raise ValueError(
                f"'{name}' is a {kind}, which depends along the sequence in a way that "
                f"is not known here; shard() knows {', '.join(sorted(MIXERS))}, and "
                "attention by transformers' attention interface"
            )
        elif kind.endswith("Attention") and hasattr(module, "is_causal"):
            if not module.is_causal:
                raise ValueError(
                    f"'{name}' is attention that is not causal, which shard() does not "
                    "cut; leave such layers to models that fit one rank"
                )
            heads.append((name, module))
    if not mixers and not heads:
        raise ValueError(
            f"{type(model).__name__} has no layer that shard() knows: "
            f"{', '.join(sorted(MIXERS))}, or causal attention by transformers' "
            "attention interface"
        )
    return mixers, heads


def _check_mixer(mixer: Any, name: str) -> None:
    if mixer.activation not in ("silu", "swish"):
        raise ValueError(
            f"'{name}' has the activation '{mixer.activation}', expected silu"
        )
    if not hasattr(mixer.norm, "variance_epsilon"):
        raise ValueError(
            f"'{name}.norm' is a {type(mixer.norm).__name__} without a "
            "variance_epsilon, which shard() does not know"
        )


# ===----------------------------------------------------------------------===//
# Mixers
# ===----------------------------------------------------------------------===//


def _dtype_of(dtype: torch.dtype, what: str) -> str:
    name = str(dtype).removeprefix("torch.")
    if name not in ELEMENTS:
        raise TypeError(f"{what} is {dtype}, expected one of {', '.join(ELEMENTS)}")
    return name


def _documents_in(parallel: ContextParallel) -> int:
    return 0 if parallel.documents is None else parallel.documents.shape[1]


def _apply(parallel: ContextParallel, key: str, tensors: list[Tensor]) -> Tensor:
    if parallel.documents is not None:
        tensors = [*tensors, parallel.documents]
    return torch.ops.cp_mlir.forward(key, tensors)[0]


def _mixer_keys(parallel: ContextParallel, mixer: Any) -> Callable[..., str]:
    """The operator of a mixer by its input. What is traced by torch.compile takes it
    for a constant, of the arguments: `identity` says of which mixer, since layers that
    are alike share what was traced."""

    @torch.compiler.assume_constant_result
    def key(
        identity: str,
        rows: int,
        local: int,
        hidden: int,
        dtype: torch.dtype,
        documents: int,
    ) -> str:
        shape = MixerShape(
            rows=rows,
            length=local * parallel.world.size,
            hidden=hidden,
            dtype=_dtype_of(dtype, "the mixers' input"),
            documents=documents,
            **fields_of(mixer),
        )
        return parallel.operator_of(shape, ("u",)).key

    return key


def fields_of(mixer: Any) -> dict[str, Any]:
    """What a mixer has of MixerShape, whatever its input is."""
    inner = mixer.num_heads * mixer.head_dim
    # Before transformers 5.23 a norm is over all of d_inner.
    group_size = getattr(mixer.norm, "group_size", None) or inner
    least, most = mixer.time_step_limit
    return {
        "num_heads": mixer.num_heads,
        "head_dim": mixer.head_dim,
        "num_groups": mixer.n_groups,
        "state_size": mixer.ssm_state_size,
        "conv_width": mixer.conv_kernel_size,
        "chunk_size": mixer.chunk_size,
        "norm_groups": inner // group_size,
        "eps": mixer.norm.variance_epsilon,
        "dt_min": float(least),
        "dt_max": float(most),
        "proj_bias": mixer.in_proj.bias is not None,
        "conv_bias": mixer.conv1d.bias is not None,
    }


def _mixer_forward(
    parallel: ContextParallel, mixer: Any, name: str
) -> Callable[..., Tensor]:
    key_of = _mixer_keys(parallel, mixer)
    identity = f"{parallel.identity} {fields_of(mixer)}"

    def forward(hidden_states: Tensor, *others: Any, **named: Any) -> Tensor:
        _refuse(name, [*others], named)
        u = hidden_states
        weights = [
            mixer.in_proj.weight,
            mixer.in_proj.bias,
            mixer.conv1d.weight.squeeze(1),
            mixer.conv1d.bias,
            mixer.dt_bias,
            mixer.A_log,
            mixer.D,
            mixer.norm.weight,
            mixer.out_proj.weight,
            mixer.out_proj.bias,
        ]
        tensors = [u, *(w.to(u.dtype) for w in weights if w is not None)]
        key = key_of(identity, *u.shape, u.dtype, _documents_in(parallel))
        return _apply(parallel, key, tensors)

    return forward


def _refuse(name: str, others: Sequence[Any], named: dict[str, Any]) -> None:
    """What a layer is handed beside its input, and cannot be left out in silence."""
    for key in ("cache", "cache_params", "past_key_values", "seq_idx"):
        if named.get(key) is not None:
            raise ValueError(
                f"'{name}' got {key}, which shard() does not take; train without a "
                "cache, and give documents by seq_lens of batch()"
            )
    masks = [*others, named.get("attention_mask")]
    if any(mask is not None for mask in masks):
        raise ValueError(
            f"'{name}' got a mask, which shard() does not take; give documents and "
            "padding by seq_lens of batch()"
        )


# ===----------------------------------------------------------------------===//
# Attention
# ===----------------------------------------------------------------------===//


def _take_attention(
    model: Any, parallel: ContextParallel, modules: Sequence[nn.Module]
) -> None:
    from transformers import AttentionInterface

    AttentionInterface.register(NAME, _attention)
    for module in modules:
        # Not a submodule, nor a parameter.
        object.__setattr__(module, "_cp_mlir", parallel)
    model.set_attn_implementation(NAME)


def _attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | None = None,
    dropout: float = 0.0,
    sliding_window: int | None = None,
    **named: Any,
) -> tuple[Tensor, None]:
    """transformers' attention interface: q `[b, h, l, p]`, k and v `[b, g, l, p]`; the
    result is `[b, l, h, p]`."""
    parallel: ContextParallel | None = getattr(module, "_cp_mlir", None)
    what = type(module).__name__
    if parallel is None:
        raise ValueError(f"{what} is in no model that cp_mlir.shard() was given")
    if attention_mask is not None:
        raise ValueError(
            f"{what} got a mask, which shard() does not take; give documents and "
            "padding by seq_lens of batch()"
        )
    if dropout > 0:
        raise ValueError(
            f"{what} has dropout {dropout} in training, which shard() does not take; "
            "set attention_dropout to 0"
        )
    for refused in ("softcap", "s_aux", "head_mask"):
        if named.get(refused) is not None:
            raise ValueError(f"{what} has {refused}, which shard() does not take")
    q, k, v = (each.transpose(1, 2).contiguous() for each in (query, key, value))
    operator_key = parallel.attention_key(
        parallel.identity,
        tuple(q.shape),
        tuple(k.shape[2:]),
        v.shape[3],
        q.dtype,
        scaling,
        sliding_window,
        _documents_in(parallel),
    )
    return _apply(parallel, operator_key, [q, k, v]), None


def _attention_keys(parallel: ContextParallel) -> Callable[..., str]:
    @torch.compiler.assume_constant_result
    def key(
        identity: int,
        q: tuple[int, int, int, int],
        k: tuple[int, int],
        value_dim: int,
        dtype: torch.dtype,
        scaling: float | None,
        window: int | None,
        documents: int,
    ) -> str:
        rows, local, heads, head_dim = q
        shape = AttentionShape(
            rows=rows,
            length=local * parallel.world.size,
            num_heads=heads,
            num_kv_heads=k[0],
            head_dim=head_dim,
            value_dim=value_dim,
            scale=head_dim**-0.5 if scaling is None else float(scaling),
            dtype=_dtype_of(dtype, "q of attention"),
            window=window or 0,
            documents=documents,
        )
        return parallel.operator_of(shape, ("q", "k", "v")).key

    return key


# ===----------------------------------------------------------------------===//
# What a model is called with
# ===----------------------------------------------------------------------===//


def _guard(model: nn.Module, parallel: ContextParallel) -> None:
    """Checks each call of the model, and hands it places in the whole row where it
    has got none: its own would begin at 0 on every rank."""

    def check_labels(_: nn.Module, args: Any, named: dict[str, Any]) -> Any:
        named.pop("cp_batch", None)
        # Not every model hands on what it does not know.
        parallel.handed = named.pop("cu_seqlens", None)
        if named.get("labels") is not None and named.get("shift_labels") is None:
            raise ValueError(
                "labels alone are shifted within a rank's part, so that the last token "
                "of each part has none; take them, and shift_labels, from batch()"
            )
        return args, named

    def check_inputs(_: nn.Module, args: Any, named: dict[str, Any]) -> Any:
        parallel.documents = named.pop("cu_seqlens", parallel.handed)
        parallel.handed = None
        mask = named.get("attention_mask")
        if mask is not None:
            if not (isinstance(mask, Tensor) and mask.dim() == 2 and bool(mask.all())):
                raise ValueError(
                    "an attention_mask that is not all ones says what the program of "
                    "all ranks would not know; give padding and documents by seq_lens "
                    "of batch(), and no mask to the model"
                )
            named["attention_mask"] = None
        for cache in ("cache", "past_key_values", "cache_params"):
            if named.get(cache) is not None:
                raise ValueError(
                    f"{cache} is for generation, which shard() does not do; call the "
                    "model without it"
                )
        named["use_cache"] = False
        tokens = args[0] if args else named.get("input_ids")
        if tokens is None:
            tokens = named.get("inputs_embeds")
        has_positions = (
            not _takes_positions(base) or named.get("position_ids") is not None
        )
        if tokens is not None and not has_positions:
            if parallel.documents is not None:
                raise ValueError(
                    "documents have positions of their own; give position_ids too, as "
                    "batch() does"
                )
            named["position_ids"] = parallel.places_of(tokens)
        return args, named

    base = getattr(model, "base_model", model)
    model.register_forward_pre_hook(check_labels, with_kwargs=True)
    base.register_forward_pre_hook(check_inputs, with_kwargs=True)


def _takes_positions(module: nn.Module) -> bool:
    import inspect

    parameters = inspect.signature(type(module).forward).parameters
    return "position_ids" in parameters
