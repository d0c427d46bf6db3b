"""Small models of transformers, in which nothing is lost unseen: states that decay
slowly, so that a lost or one-hop state shows, and biases that are not 0."""

from __future__ import annotations

import copy
import sys
from pathlib import Path
from typing import Any

import families
import torch
from torch import Tensor, nn
from transformers import AutoConfig, AutoModelForCausalLM

GOLDENS = Path(__file__).resolve().parents[2] / "test" / "Integration"
# Of the build beside these sources: tools that are not in the package.
TOOLS = GOLDENS.parents[1] / "build" / "bin"
NAMES = {
    "mamba2": "goldens/transformers-g4",
    "bamba": "goldens-hybrid/bamba-options",
    "nemotron_h": "goldens-hybrid/nemotron_h",
    "granite": "goldens-hybrid/granite-options",
}
# Of other families of options: fewer biases, rotary embeddings of some channels or
# none.
OPTIONS = {
    f"another {name}": f"goldens-hybrid/{folder}"
    for name, folder in (
        ("bamba", "bamba"),
        ("nemotron_h", "nemotron_h-options"),
        ("granite", "granite"),
    )
}


def config_of(name: str) -> Any:
    if name in families.CONFIGS:
        kind, fields = families.CONFIGS[name]
        return AutoConfig.for_model(kind, **fields)
    return AutoConfig.from_pretrained(GOLDENS / (NAMES | OPTIONS)[name])


def make(name: str, dtype: torch.dtype = torch.float32) -> nn.Module:
    config = config_of(name)
    torch.manual_seed(20)
    model = AutoModelForCausalLM.from_config(config, attn_implementation="eager")
    with torch.no_grad():
        for key, parameter in model.named_parameters():
            if key.endswith("A_log"):
                parameter.uniform_(-6.0, -1.0)
            elif key.endswith("dt_bias"):
                parameter.uniform_(-2.0, 0.5)
            elif key.endswith("bias"):
                parameter.normal_(0.0, 0.1)
            elif name in families.CONFIGS and parameter.dim() == 1:
                parameter.uniform_(0.5, 1.5)
    model = model.to(dtype).train()
    if dtype is torch.float64:
        _widen_rotary(model)
    return model


def _widen_rotary(model: nn.Module) -> None:
    """Frequencies as the compiler has them: transformers rounds them to f32."""
    for module in model.modules():
        if isinstance(getattr(module, "inv_freq", None), Tensor):
            theta = module.config.rope_parameters.get("rope_theta")
            if theta is None:
                continue
            dims = 2 * len(module.inv_freq)
            places = torch.arange(0, dims, 2, dtype=torch.float64)
            module.inv_freq = float(theta) ** -(places / dims)


class _WideTorch:
    """torch, whose float32 is float64: transformers computes in float32 inside."""

    def __getattr__(self, name: str) -> object:
        wide = {"float32": "float64", "float": "float64"}
        return getattr(torch, wide.get(name, name))


def widen() -> None:
    """For good: what is computed by transformers' models is in f64."""
    torch.Tensor.float = torch.Tensor.double  # type: ignore[method-assign]
    for name, module in list(sys.modules.items()):
        is_model = "modeling_" in name or "integrations" in name
        if (
            name.startswith("transformers.")
            and is_model
            and getattr(module, "torch", None) is torch
        ):
            module.torch = _WideTorch()  # type: ignore[attr-defined]


def vocabulary(model: nn.Module) -> int:
    return model.config.vocab_size


def cross_entropy(logits: Tensor, labels: Tensor, count: object) -> Tensor:
    return (
        nn.functional.cross_entropy(
            logits.reshape(-1, logits.shape[-1]),
            labels.reshape(-1),
            ignore_index=-100,
            reduction="sum",
        )
        / count
    )


def rel_l2(found: Tensor, expected: Tensor) -> float:
    return float((found - expected).norm() / expected.norm())


def worst_gradient(model: nn.Module, reference: nn.Module) -> float:
    """Of all parameters, the farthest from the reference's gradient."""
    worst = 0.0
    for (name, found), expected in zip(
        model.named_parameters(), reference.parameters(), strict=True
    ):
        if expected.grad is None:
            assert found.grad is None, f"{name} has a gradient out of nothing"
            continue
        assert found.grad is not None, f"{name} has no gradient"
        worst = max(worst, rel_l2(found.grad, expected.grad))
    return worst


def copied(model: nn.Module) -> nn.Module:
    return copy.deepcopy(model)


def alone(model: Any, ids: Any, lengths: list[list[int]], count: int) -> Any:
    """The logits of each document by itself, where rows hold it, and the mean loss of
    their `count` next tokens."""
    logits = torch.zeros(*ids.shape, vocabulary(model), dtype=model.dtype)
    loss = torch.zeros((), dtype=model.dtype)
    for row, documents in enumerate(lengths):
        start = 0
        for length in documents:
            one = ids[row : row + 1, start : start + length]
            said = model(input_ids=one, use_cache=False).logits
            logits[row, start : start + length] = said[0].detach()
            loss = loss + cross_entropy(said[:, :-1], one[:, 1:], count)
            start += length
    return logits, loss
