"""Fine-tunes a model of transformers on a text, its tokens shared between ranks.

torchrun --nproc-per-node=4 finetune.py MODEL TEXT [--steps N] [--length N]

MODEL is a folder of transformers: of weights too, or of a config.json alone, which
are drawn then. Without a tokenizer in it bytes are tokens.
"""

import argparse
from pathlib import Path

import torch
import torch.distributed as dist
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

import cp_mlir

parser = argparse.ArgumentParser()
parser.add_argument("model", type=Path)
parser.add_argument("text", type=Path)
parser.add_argument("--steps", type=int, default=20)
parser.add_argument("--length", type=int, default=1024)
options = parser.parse_args()

dist.init_process_group("gloo")
torch.manual_seed(0)
if list(options.model.glob("model*.safetensors")):
    model = AutoModelForCausalLM.from_pretrained(options.model)
else:
    config = AutoConfig.from_pretrained(options.model)
    model = AutoModelForCausalLM.from_config(config)
text = options.text.read_text(encoding="utf-8")
if list(options.model.glob("tokenizer*")):
    tokens = AutoTokenizer.from_pretrained(options.model)(text)["input_ids"]
else:
    tokens = [byte % model.config.vocab_size for byte in text.encode()]
rows = torch.tensor(tokens).split(options.length)

cp = cp_mlir.shard(model.train(), order="zigzag")  # the one line
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for step in range(options.steps):
    batch = cp.batch(rows[step % (len(rows) - 1)].view(1, -1))
    loss = model(**batch).loss
    optimizer.zero_grad()
    loss.backward()
    cp.sum_gradients()
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    total = cp.sum_loss(loss)
    if cp.rank == 0:
        print(f"step {step + 1} of {options.steps}: loss {total:.4f}, norm {norm:.3f}")
dist.destroy_process_group()
