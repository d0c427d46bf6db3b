#!/usr/bin/env python3
"""Bytes and exchanges of one layer, as our passes plan them and as the runtime
counts them, beside what other systems send by their published formulas.

Prints the table of docs/Traffic.md and ends with 1 when a bound is missed. What is
planned at full size comes from `cp-run --explain`; that plans are what the runtime
counts is checked by running the same layers at a smaller size.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

# Per layer: width of the model, heads, channels of a head, groups, states, rows of
# the convolution; and of attention heads, key heads, channels.
MODELS = {
    "Nemotron-H 8B": dict(d=4096, H=128, P=64, G=8, N=128, W=4, hq=32, hkv=8, dh=128),
    "Bamba 9B": dict(d=4096, H=128, P=64, G=1, N=128, W=4, hq=32, hkv=8, dh=128),
}
SMALL = dict(d=16, H=8, P=4, G=2, N=8, W=4, hq=8, hkv=2, dh=4)
LOCAL_TOKENS = 8192
RANKS = (2, 4, 8)
# Against the six exchanges of the systems that move heads.
HIDDEN_BOUND, HIDDEN_EXCHANGES, SEQUENCE_BOUND = 0.70, 2, 0.021


def tensor(shape, dtype):
    return "tensor<" + "".join(f"{size}x" for size in shape) + dtype + ">"


def function(arguments, result, body, tokens, dtype):
    """A function of a sequence and of weights that are drawn."""
    text = [
        f"%{name}: {tensor(shape, dtype)} {{cp.param = \"{name}\"}}"
        for name, shape in arguments
    ]
    u = tensor((1, tokens, result), dtype)
    # As a parameter it has a gradient: what goes on to the layer before.
    first = f"%u: {u} {{cp.param = \"u\", cp.sequence = 1 : i64}}"
    return (
        f"func.func @layer({', '.join([first] + text)}) -> ({u} {{cp.name = \"y\"}}) {{\n"
        f"{body}  return %y : {u}\n}}\n"
    )


def with_loss(text):
    """The sum of the squares of what the function returns."""
    head, u = re.search(r"(  return %y : (.*)\n}\n)$", text).groups()
    dtype = u[:-1].split("x")[-1]
    one = f"tensor<{dtype}>"
    loss = (
        f"  %zero = arith.constant dense<0.0> : {one}\n"
        "  %loss = linalg.generic {indexing_maps = [affine_map<(b, l, c) -> (b, l, c)>, "
        "affine_map<(b, l, c) -> ()>], iterator_types = "
        f"[\"reduction\", \"reduction\", \"reduction\"]}} ins(%y : {u}) outs(%zero : {one}) {{\n"
        f"  ^bb0(%a: {dtype}, %sum: {dtype}):\n"
        f"    %square = arith.mulf %a, %a : {dtype}\n"
        f"    %next = arith.addf %sum, %square : {dtype}\n"
        f"    linalg.yield %next : {dtype}\n  }} -> {one}\n"
        f"  return %loss : {one}\n}}\n"
    )
    return text.replace(head, loss).replace(f"-> ({u} {{cp.name = \"y\"}})", f"-> {one}")


def mixer(m, tokens, dtype):
    inner, shared = m["H"] * m["P"], m["G"] * m["N"]
    weights = [
        ("in_proj", (2 * inner + 2 * shared + m["H"], m["d"])),
        ("conv_weight", (inner + 2 * shared, m["W"])),
        ("conv_bias", (inner + 2 * shared,)),
        ("dt_bias", (m["H"],)),
        ("A_log", (m["H"],)),
        ("D", (m["H"],)),
        ("norm", (inner,)),
        ("out_proj", (m["d"], inner)),
    ]
    types = ", ".join(tensor(shape, dtype) for _, shape in weights)
    u = tensor((1, tokens, m["d"]), dtype)
    body = (
        "  %y = cp.mamba_mixer %u in_proj(%in_proj) conv(%conv_weight, %conv_bias) "
        "dt_bias(%dt_bias) A_log(%A_log) D(%D) norm(%norm) out_proj(%out_proj) "
        f"{{num_heads = {m['H']}, head_dim = {m['P']}, num_groups = {m['G']}, "
        f"state_size = {m['N']}, norm_groups = {m['G']}}} : ({u}, {types}) -> {u}\n"
    )
    return function(weights, m["d"], body, tokens, dtype)


def attention(m, tokens, dtype):
    queries, keys = m["hq"] * m["dh"], m["hkv"] * m["dh"]
    weights = [
        ("q", (queries, m["d"])),
        ("k", (keys, m["d"])),
        ("v", (keys, m["d"])),
        ("o", (m["d"], queries)),
    ]
    types = ", ".join(tensor(shape, dtype) for _, shape in weights)
    u = tensor((1, tokens, m["d"]), dtype)
    body = (
        "  %y = cp.attention_block %u q_proj(%q) k_proj(%k) v_proj(%v) o_proj(%o) "
        f"{{num_heads = {m['hq']}, num_kv_heads = {m['hkv']}, head_dim = {m['dh']}}} "
        f": ({u}, {types}) -> {u}\n"
    )
    return function(weights, m["d"], body, tokens, dtype)


class Tools:
    """The project's tools, on texts."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.scratch = tempfile.TemporaryDirectory()

    def call(self, tool, text, *options):
        model = Path(self.scratch.name) / "layer.mlir"
        model.write_text(text)
        command = [str(self.folder / tool), str(model), *options]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"traffic: {' '.join(command)} failed:\n{done.stderr}")
        return done.stdout

    def sharded(self, text, ranks, form, gradients):
        """The program of one rank, with the backward pass if that is wanted."""
        options = f"mesh=cp={ranks} " + " ".join(f"{k}={v}" for k, v in form.items())
        if gradients:
            text = with_loss(text)
            options += " gradients=loss"
        return self.call("cp-opt", text, f"--cp-shard-pipeline={options}")

    def planned(self, text, ranks, form, gradients=False):
        """(bytes, exchanges) of a step, each of the rank that sends most in it, and
        those of the sum of all gradients."""
        module = self.sharded(text, ranks, form, gradients)
        output = self.call("cp-run", module, "--explain").split("a step in all\n")[0]
        rows = re.findall(r"^  (\S+) .* (\d+) +(\d+)$", output, re.MULTILINE)
        rows = [row for row in rows if row[0] not in ("slice", "unslice")]
        parts = [[r for r in rows if (r[0] == "all_reduce") == sums] for sums in (False, True)]
        return [(sum(int(r[2]) for r in part), sum(int(r[1]) for r in part)) for part in parts]

    def step(self, text, ranks, form, gradients):
        """(op, bytes of its busiest rank, exchanges) of all ops of a step."""
        module = self.sharded(text, ranks, form, gradients)
        output = self.call("cp-run", module, "--explain")
        step = output.split("a step in all\n")[1].split("memory a rank")[0]
        rows = re.findall(r"^  (\S+) +\"cp\" +(\d+) +(\d+)$", step, re.MULTILINE)
        return sorted((op, int(sent), int(calls)) for op, calls, sent in rows)

    def counted(self, text, ranks, form, gradients):
        """The same, from the runtime's counters after a step."""
        report = Path(self.scratch.name) / "report.json"
        module = self.sharded(text, ranks, form, gradients)
        self.call("cp-run", module, f"--report={report}", "--quiet")
        counts = json.loads(report.read_text())["collectives"]
        return sorted((c["op"], max(c["bytes_sent_per_rank"]), c["calls"]) for c in counts)


def heads_moved(m, ranks, dtype_bytes=2):
    """Automodel and Megatron: z, x, B, C and dt go out, the gated y comes back."""
    groups = max(m["G"], ranks)
    inner = m["H"] * m["P"]
    width = 3 * inner + 2 * groups * m["N"] + m["H"]
    return (ranks - 1) * LOCAL_TOKENS * width * dtype_bytes // ranks


def summaries_gathered(m, ranks, dtype_bytes=2):
    """Megatron's open state passing: all ranks get all summaries and tails."""
    inner = m["H"] * m["P"]
    summary = (inner * m["N"] + m["H"]) * 4
    tail = (m["W"] - 1) * (inner + 2 * m["G"] * m["N"]) * dtype_bytes
    return (ranks - 1) * (summary + tail)


def ring_formula(m, ranks, dtype_bytes=2):
    return (ranks - 1) * LOCAL_TOKENS * 2 * m["hkv"] * m["dh"] * dtype_bytes


def ulysses_formula(m, ranks, dtype_bytes=2):
    heads = 2 * m["hq"] + 2 * max(m["hkv"], ranks)
    return (ranks - 1) * LOCAL_TOKENS * heads * m["dh"] * dtype_bytes // ranks


def backward_formula(m, ranks, name, forward, exchanges, dtype_bytes=2):
    """(bytes, exchanges) of a backward pass: as many as forward. But the cotangents
    of B and C are sums over heads, so f32 where ranks share a group; and along a
    ring the sums of keys' and values' cotangents go with these, in f32."""
    if name.startswith("ring"):
        return forward + forward * 4 // dtype_bytes, exchanges
    if name.startswith("hidden") and m["G"] < ranks:
        forward += (ranks - 1) * LOCAL_TOKENS * 2 * m["N"] * (4 - dtype_bytes)
    return forward, exchanges


MIXERS = {
    "hidden, zigzag": dict(order="zigzag", mixer="hidden"),
    "sequence, chain": dict(order="contiguous", mixer="sequence", scan="chain"),
    "sequence, transposed": dict(order="contiguous", mixer="sequence", scan="transposed"),
    "sequence, chain, zigzag": dict(order="zigzag", mixer="sequence", scan="chain"),
}
ATTENTIONS = {
    "ring, zigzag": dict(order="zigzag", attention="ring"),
    "ulysses, zigzag": dict(order="zigzag", attention="ulysses"),
}
FORMULAS = {"ring, zigzag": ring_formula, "ulysses, zigzag": ulysses_formula}


def check_plans(tools):
    """Whether plans are what the runtime counts; says where not."""
    good = True
    for make, forms in ((mixer, MIXERS), (attention, ATTENTIONS)):
        for name, form in forms.items():
            for ranks in RANKS:
                for gradients in (False, True):
                    text = make(SMALL, 16 * ranks, "bf16")
                    plan = tools.step(text, ranks, form, gradients)
                    count = tools.counted(text, ranks, form, gradients)
                    if plan != count:
                        print(f"short: {name} on {ranks} ranks, gradients {gradients}: "
                              f"planned {plan}, counted {count}")
                        good = False
    return good


def megabytes(count):
    return f"{count / 1e6:.2f}"


class Table:
    def __init__(self):
        self.good = True

    def row(self, *cells):
        print("| " + " | ".join(str(cell) for cell in cells) + " |")

    def held(self, ratio, bound, exchanges=0, most=HIDDEN_EXCHANGES):
        fine = ratio <= bound and exchanges <= most
        self.good &= fine
        return "pass" if fine else "short"


def print_mixers(tools, table):
    table.row("model", "R", "form", "exchanges", "MB a rank", "over moving heads", "")
    table.row("---", "---", "---", "---", "---", "---", "---")
    for model, m in MODELS.items():
        for ranks in RANKS:
            theirs = heads_moved(m, ranks)
            table.row(model, ranks, "Automodel, Megatron (formula)", 6, megabytes(theirs), 1, "")
            gathered = summaries_gathered(m, ranks)
            table.row(model, ranks, "open state passing (formula)", 2, megabytes(gathered),
                      f"{gathered / theirs:.4f}", "")
            text = mixer(m, LOCAL_TOKENS * ranks, "bf16")
            for name, form in MIXERS.items():
                (sent, exchanges), _ = tools.planned(text, ranks, form)
                verdict = ""
                if name.startswith("hidden"):
                    verdict = table.held(sent / theirs, HIDDEN_BOUND, exchanges)
                elif not name.endswith("zigzag"):
                    verdict = table.held(sent / theirs, SEQUENCE_BOUND)
                table.row(model, ranks, name, exchanges, megabytes(sent),
                          f"{sent / theirs:.4f}", verdict)


def print_attentions(tools, table):
    table.row("model", "R", "form", "exchanges", "MB a rank", "by the formula", "")
    table.row("---", "---", "---", "---", "---", "---", "---")
    for model, m in MODELS.items():
        for ranks in RANKS:
            text = attention(m, LOCAL_TOKENS * ranks, "bf16")
            for name, form in ATTENTIONS.items():
                (sent, exchanges), _ = tools.planned(text, ranks, form)
                expected = FORMULAS[name](m, ranks)
                table.row(model, ranks, name, exchanges, megabytes(sent), megabytes(expected),
                          table.held(sent / expected, 1.0))


def print_backward(tools, table):
    table.row("model", "R", "form", "exchanges", "MB a rank", "over forward", "",
              "all gradients, MB")
    table.row("---", "---", "---", "---", "---", "---", "---", "---")
    for model, m in MODELS.items():
        for ranks in RANKS:
            for make, forms in ((mixer, MIXERS), (attention, ATTENTIONS)):
                text = make(m, LOCAL_TOKENS * ranks, "bf16")
                for name, form in forms.items():
                    (forward, calls), _ = tools.planned(text, ranks, form)
                    (both, all_calls), (bucket, _) = tools.planned(
                        text, ranks, form, gradients=True)
                    sent, exchanges = both - forward, all_calls - calls
                    expected, most = backward_formula(m, ranks, name, forward, calls)
                    table.row(model, ranks, name, exchanges, megabytes(sent),
                              f"{sent / forward:.4f}",
                              table.held(sent / expected, 1.0, exchanges, most),
                              megabytes(bucket))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tools", help="the folder of cp-opt and cp-run")
    tools = Tools(parser.parse_args().tools)
    good = check_plans(tools)
    table = Table()
    print(f"\nMixers, {LOCAL_TOKENS} tokens a rank, batch 1, bf16, forward:\n")
    print_mixers(tools, table)
    print(f"\nAttention layers, the same:\n")
    print_attentions(tools, table)
    print(f"\nBackward, beside that, of each of these layers:\n")
    print_backward(tools, table)
    return 0 if good and table.good else 1


if __name__ == "__main__":
    sys.exit(main())
