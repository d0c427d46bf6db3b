"""Small configs of families that the compiler does not read the config of: of models of
torch alone. Multipliers are not 1, and heads are shared."""

from __future__ import annotations

from typing import Any

_SIZES: dict[str, Any] = {
    "vocab_size": 96,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "max_position_embeddings": 256,
    "attention_dropout": 0.0,
    "pad_token_id": None,
    "tie_word_embeddings": False,
}
_FALCON = {
    **_SIZES,
    "mamba_d_ssm": 48,
    "mamba_n_heads": 6,
    "mamba_d_head": 8,
    "mamba_d_state": 16,
    "mamba_n_groups": 2,
    "mamba_chunk_size": 8,
    "ssm_in_multiplier": 1.25,
    "ssm_multipliers": [0.35, 0.25, 0.18, 0.5, 0.72],
    "ssm_out_multiplier": 0.7,
    "attention_in_multiplier": 0.9,
    "attention_out_multiplier": 0.8,
    "key_multiplier": 0.6,
    "mlp_multipliers": [0.9, 0.4],
    "embedding_multiplier": 2.5,
    "lm_head_multiplier": 0.3,
}
_ZAMBA2 = {
    **_SIZES,
    "num_hidden_layers": 4,
    "layers_block_type": ["linear_attention", "hybrid"] * 2,
    "num_mem_blocks": 2,
    "head_dim": 16,
    "num_key_value_heads": 4,
    "mamba_d_state": 16,
    "mamba_ngroups": 2,
    "n_mamba_heads": 8,
    "chunk_size": 8,
    "adapter_rank": 4,
    "use_mem_rope": True,
    "use_shared_attention_adapter": True,
}
# Of OpenAI's names.
_GPT = {
    "vocab_size": 96,
    "n_embd": 32,
    "n_layer": 2,
    "n_head": 4,
    "n_positions": 256,
    "attn_pdrop": 0.0,
    "embd_pdrop": 0.0,
    "resid_pdrop": 0.0,
}
# By what they are called in tests: the model's type, and its fields.
MAMBA: dict[str, tuple[str, dict[str, Any]]] = {
    "falcon_h1": ("falcon_h1", _FALCON),
    "falcon_h1 with norms": (
        "falcon_h1",
        {**_FALCON, "mamba_rms_norm": True, "mamba_proj_bias": True},
    ),
    "falcon_h1 with gates behind": (
        "falcon_h1",
        {
            **_FALCON,
            "mamba_rms_norm": True,
            "mamba_norm_before_gate": True,
            "mamba_conv_bias": False,
            "projectors_bias": True,
        },
    ),
    "zamba2": ("zamba2", _ZAMBA2),
}
OTHERS: dict[str, tuple[str, dict[str, Any]]] = {
    "apertus": ("apertus", _SIZES),
    "cohere2": ("cohere2", {**_SIZES, "sliding_window": 6}),
    "gemma3": (
        "gemma3_text",
        {**_SIZES, "sliding_window": 6, "query_pre_attn_scalar": 10},
    ),
    "glm": ("glm", _SIZES),
    "gpt2": ("gpt2", _GPT),
    "gpt_neox": (
        "gpt_neox",
        {**_SIZES, "hidden_dropout": 0.0, "rotary_pct": 0.5},
    ),
    "gptj": ("gptj", {**_GPT, "rotary_dim": 4}),
    "lfm2": (
        "lfm2",
        {
            **_SIZES,
            "layer_types": ["conv", "full_attention"],
            "block_ff_dim": 48,
            "conv_bias": True,
        },
    ),
    "stablelm": ("stablelm", {**_SIZES, "use_qkv_bias": True}),
}
CONFIGS = MAMBA | OTHERS
