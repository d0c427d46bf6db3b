"""What is in a model: the layers that become programs, and those that make it one that
cannot share tokens. What is not known to be token-wise is refused."""

from __future__ import annotations

import inspect
import itertools
import re
import sys
from typing import Any

from torch import nn

from .mixers import MIXERS, check_mixer

Layers = list[tuple[str, nn.Module]]

# Names of layers that depend along the sequence in ways that are not known here.
_SEQUENTIAL = re.compile(
    r"Recurrent|Lightning|ShortConv|Rwkv|Retention|Lru|DeltaNet|LinearAttention|Mixer$"
)
_KNOWN_LAYERS = {
    "attention",
    "full_attention",
    "hybrid",
    "linear_attention",
    "mamba",
    "mlp",
    "moe",
    "sliding_attention",
}


def layers_of(model: nn.Module) -> tuple[Layers, Layers]:
    """Its mixers and its attention. ValueError, by its place, for a layer that depends
    along the sequence in another way."""
    _check_config(model)
    check_rotary(model)
    check_windows(model)
    mixers: Layers = []
    heads: Layers = []
    for name, module in model.named_modules():
        kind = type(module).__name__
        if any(name.startswith(f"{known}.") for known, _ in mixers):
            continue
        if kind in MIXERS:
            check_mixer(module, name)
            mixers.append((name, module))
        elif (
            hasattr(module, "A_log")
            or isinstance(module, (nn.Conv1d, nn.Conv2d, nn.RNNBase))
            or _SEQUENTIAL.search(kind)
        ):
            raise ValueError(
                f"'{name}' is a {kind}, which depends along the sequence in a way that "
                f"is not known here; shard() knows {', '.join(sorted(MIXERS))}, and "
                "attention by transformers' attention interface"
            )
        elif getattr(module, "scale_grad_by_freq", False):
            raise ValueError(
                f"'{name}' counts its ids (scale_grad_by_freq), and each rank has its "
                "own alone; set it to False"
            )
        elif kind.endswith("Attention"):
            _check_attention(module, name)
            heads.append((name, module))
    if not mixers and not heads:
        raise ValueError(
            f"{type(model).__name__} has no layer that shard() knows: "
            f"{', '.join(sorted(MIXERS))}, or causal attention by transformers' "
            "attention interface"
        )
    # A wrapper may pass on what it has not.
    if heads and not hasattr(type(model), "set_attn_implementation"):
        raise ValueError(
            f"{type(model).__name__} is no model of transformers, by whose interface "
            "its attention would be replaced; give shard() the model that it holds"
        )
    return mixers, heads


def _check_attention(module: Any, name: str) -> None:
    if not getattr(module, "is_causal", False):
        raise ValueError(
            f"'{name}' is attention that does not say that it is causal "
            f"({type(module).__name__}), which shard() does not cut"
        )
    # A class of one's own may call the one that it is made of.
    forwards = [
        inspect.unwrap(each.forward)
        for each in type(module).__mro__
        if "forward" in vars(each) and issubclass(each, nn.Module)
    ]
    if not any(
        "ALL_ATTENTION_FUNCTIONS" in each.__code__.co_names
        for each in forwards
        if inspect.isfunction(each)
    ):
        raise ValueError(
            f"'{name}' is attention that does not go by transformers' attention "
            f"interface ({type(module).__name__}), so that each rank would see its own "
            "tokens alone; shard() cannot take its place"
        )


def check_windows(model: nn.Module) -> None:
    """ValueError for attention whose window only a mask knows, which no program is
    handed."""
    for name, module in model.named_modules():
        config = getattr(module, "config", None)
        kinds = getattr(config, "layer_types", None)
        if (
            not type(module).__name__.endswith("Attention")
            or not getattr(config, "sliding_window", None)
            or not getattr(config, "use_sliding_window", True)
            or (kinds and "sliding_attention" not in kinds)
            or not hasattr(
                sys.modules.get(type(module).__module__),
                "create_sliding_window_causal_mask",
            )
        ):
            continue
        code = inspect.unwrap(type(module).forward).__code__
        words = {*code.co_names, *itertools.chain(*filter(_is_words, code.co_consts))}
        if "sliding_window" not in words:
            raise ValueError(
                f"'{name}' ({type(module).__name__}) has a window that only its mask "
                "knows, which is not taken; set sliding_window of the config to None, "
                "where rows are no longer than it"
            )


def _is_words(constant: Any) -> bool:
    """Names of arguments, among the constants of code."""
    return isinstance(constant, tuple)


def check_rotary(model: nn.Module) -> None:
    """ValueError for rotary embeddings whose frequencies depend on the longest
    position, which each rank would take of its own tokens."""
    for name, module in model.named_modules():
        kinds = getattr(module, "rope_type", None)
        for kind in kinds.values() if isinstance(kinds, dict) else [kinds]:
            if kind in ("dynamic", "longrope"):
                raise ValueError(
                    f"'{name}' has rotary embeddings of the type '{kind}', which "
                    "depend on the longest position in the row, and a rank has its "
                    "own tokens' alone; take another type, such as yarn"
                )


def _check_config(model: nn.Module) -> None:
    """Patterns of attention that only a mask says, and heads that read one token."""
    kind = type(model).__name__
    if "Classification" in kind or "QuestionAnswering" in kind:
        raise ValueError(
            f"{kind} reads certain tokens of a row, which are one rank's; shard() is "
            "for models with a result for each token"
        )
    config = getattr(model, "config", None)
    for field in ("layer_types", "layers_block_type", "attention_layers"):
        kinds = getattr(config, field, None) or []
        unknown = {each for each in kinds if isinstance(each, str)} - _KNOWN_LAYERS
        if field == "attention_layers":
            unknown -= {"global"}
        if unknown:
            raise ValueError(
                f"the model has layers {sorted(unknown)} ({field}), which shard() does "
                "not know"
            )
    for field in ("attention_chunk_size", "alibi", "use_bidirectional_attention"):
        if getattr(config, field, None):
            raise ValueError(
                f"the model has {field}={getattr(config, field)}, a pattern of "
                "attention that shard() does not know"
            )


def check_loss(model: nn.Module) -> None:
    """ValueError for terms of a loss that are no sums over tokens: the losses of ranks
    would not add up to them."""
    config = getattr(model, "config", None)
    for field in ("z_loss_coefficient", "output_router_logits"):
        if getattr(config, field, None):
            raise ValueError(
                f"the model has {field}={getattr(config, field)}, which makes a loss "
                "that is no sum over tokens; set it to 0, and add such a term by "
                "yourself"
            )
