#!/usr/bin/env python3
# Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Records what NeMo Automodel makes of batches, for BatchRecordedTest.cpp.

Each rank is a process of its own with torch's gloo; what its batch holds after
Automodel has padded, packed and cut it is written to
unittests/Runtime/AutomodelBatches.inc, beside what it was given.

  python scripts/make_batch_goldens.py

Run with Python 3.11.7, torch 2.15.0 (on CPU), nemo_automodel 0.7.0, numpy 2.4.6, all
of them from the package index.

Two things are not the package's own. `thd_get_partitioned_indices` is of
TransformerEngine, which needs a GPU: partition() below is its kernel's formula. And the
package's folders are loaded without their __init__.py, which want a whole training
stack.
"""

import pathlib
import sys
import types
from importlib import util

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

OUT = pathlib.Path(__file__).parent.parent / "unittests/Runtime/AutomodelBatches.inc"
KEPT = ["input_ids", "inputs_embeds", "labels", "position_ids", "loss_mask",
        "padding_mask", "cu_seqlens", "cu_seqlens_padded", "max_seqlen"]


def load_automodel():
    root = pathlib.Path(util.find_spec("nemo_automodel").origin).parent
    for name in ["components", "components.distributed",
                 "components.distributed.context_parallel", "components.speculative"]:
        package = types.ModuleType(f"nemo_automodel.{name}")
        package.__path__ = [str(root / name.replace(".", "/"))]
        sys.modules[package.__name__] = package
    engine = types.ModuleType("transformer_engine_torch")
    engine.thd_get_partitioned_indices = partition
    sys.modules[engine.__name__] = engine
    from nemo_automodel.components.distributed.context_parallel import sharder, utils
    from nemo_automodel.components.speculative import target_cp
    return sharder, utils, target_cp


def partition(cu_seqlens, total, ranks, rank):
    """Chunks rank and 2 ranks - 1 - rank of each document."""
    indices = []
    for begin, end in zip(cu_seqlens.tolist(), cu_seqlens.tolist()[1:]):
        chunk = (end - begin) // (2 * ranks)
        for which in (rank, 2 * ranks - 1 - rank):
            indices += range(begin + which * chunk, begin + (which + 1) * chunk)
    assert len(indices) * ranks == total
    return torch.tensor(indices)


def tokens(rows, length, first=1):
    return torch.arange(first, first + rows * length).reshape(rows, length)


def rows_case(length=10, **more):
    return {"input_ids": tokens(2, length), "labels": tokens(2, length, 2), **more}


def packed_case(lens, padded, rows, length, **more):
    places = torch.arange(length).repeat(rows, 1)
    return {"input_ids": tokens(rows, length), "labels": tokens(rows, length, 2),
            "position_ids": places, "seq_lens": torch.tensor(lens),
            "seq_lens_padded": torch.tensor(padded), **more}


MASK = torch.tensor([[1] * 7 + [0] * 3, [1] * 10])
EMBEDS = torch.arange(2 * 10 * 3, dtype=torch.float32).reshape(2, 10, 3)
MROPE = torch.arange(3 * 2 * 10).reshape(3, 2, 10)
NO = -1000


def cases():
    """name, path, options of ours, fields."""
    zigzag = {"order": "CPRT_BATCH_ZIGZAG"}
    plain = {"order": "CPRT_BATCH_CONTIGUOUS"}
    thd = {**zigzag, "format": "CPRT_BATCH_THD", "per_document": 1}
    for ranks in (2, 4):
        yield f"zigzag{ranks}", "balanced", ranks, zigzag, rows_case()
        yield f"embeds{ranks}", "balanced", ranks, zigzag, {
            "inputs_embeds": EMBEDS, "labels": tokens(2, 10)}
        yield f"mrope{ranks}", "balanced", ranks, zigzag, rows_case(position_ids=MROPE)
        yield f"shared{ranks}", "balanced", ranks, zigzag, rows_case(
            position_ids=torch.arange(5, 15)[None])
        yield f"loss_mask{ranks}", "balanced", ranks, zigzag, rows_case(
            8, loss_mask=tokens(2, 8) % 3)
        yield f"contiguous{ranks}", "contiguous", ranks, {**plain, "pad_multiple": 2}, \
            rows_case(attention_mask=MASK, labels=tokens(2, 10).where(MASK > 0, -100))
        yield f"multiple{ranks}", "contiguous", ranks, \
            {**plain, "pad_multiple": 3, "padding_id": 77}, rows_case()
        yield f"target{ranks}", "target", ranks, plain, {"input_ids": tokens(2, 10)}
        yield f"packed{ranks}", "thd", ranks, thd, packed_case(
            [[5, 8], [16, NO]], [[8, 8], [16, NO]], 2, 16)
        yield f"chunks{ranks}", "thd", ranks, {**thd, "chunks": 2}, packed_case(
            [[5, 8], [7, 8]], [[8, 8], [8, 8]], 2, 16)
    yield "one", "thd", 1, {**thd}, packed_case([[3, 2], [6, NO]], [[4, 2], [6, NO]], 2, 6)


def run(path, rank, ranks, options, fields):
    sharder, utils, target_cp = load_automodel()
    mesh = dist.init_device_mesh("cpu", (ranks,), mesh_dim_names=("cp",))["cp"]
    fields = {name: value.clone() for name, value in fields.items()}
    mask = fields.pop("loss_mask", None)
    if path == "balanced":
        context, batch, _ = sharder.shard_batch_load_balanced(
            mesh, None, fields, loss_mask=mask)
        with context():
            # The context cuts the buffers in place.
            batch = {k: v.clone() for k, v in batch.items()}
            if mask is not None:  # in place only where nothing is padded
                batch["loss_mask"] = mask.clone()
    elif path == "contiguous":
        # The least multiple is 2 whatever is asked for.
        _, batch, _ = sharder.shard_batch_contiguous(
            mesh, None, fields, pad_multiple=options["pad_multiple"],
            padding_token_id=options.get("padding_id", 0))
    elif path == "target":
        context, ids, places, length = target_cp.make_target_cp_ctx(
            mesh, fields["input_ids"])
        with context:
            batch = {"input_ids": ids.clone(), "position_ids": places.clone()}
            whole, = target_cp.gather_cp_seq(mesh, [ids], 1, length)
            assert torch.equal(whole, fields["input_ids"])
    else:
        batch = utils.make_cp_batch_for_te(
            mesh if ranks > 1 else None, fields, num_chunks=options.get("chunks", 1))
    return {k: batch[k].cpu() for k in KEPT if k in batch}


def worker(rank, ranks, port, wanted, results):
    dist.init_process_group("gloo", rank=rank, world_size=ranks,
                            init_method=f"tcp://127.0.0.1:{port}")
    for name, path, count, options, fields in cases():
        if count == ranks and path in wanted:
            results[name, rank] = run(path, rank, ranks, options, fields)
    dist.destroy_process_group()


def text(tensor):
    numbers = ", ".join(str(int(number)) for number in tensor.reshape(-1).tolist())
    shape = ", ".join(map(str, tensor.shape))
    return f"{{{shape}}}, {{{numbers}}}"


def record(name, ranks, options, fields, parts):
    lines = [f'{{"{name}", {ranks}, [](cprt_batch_options &o) {{']
    lines += [f"  o.{key} = {value};" for key, value in options.items()]
    lines += ["}, {"]
    lines += [f'  {{"{key}", {text(value)}}},' for key, value in fields.items()]
    lines += ["}, {"]
    for rank, batch in enumerate(parts):
        lines += [f'  {{{rank}, "{key}", {text(value)}}},' for key, value in batch.items()]
    return lines + ["}},"]


def main() -> None:
    results = mp.Manager().dict()
    # A process-wide switch of torch's is on after the target's path.
    for number, wanted in enumerate((["balanced", "contiguous", "thd"], ["target"])):
        for ranks in (1, 2, 4):
            mp.spawn(worker, (ranks, 29500 + 10 * number + ranks, wanted, results),
                     nprocs=ranks)
    lines = ["// Made by scripts/make_batch_goldens.py: see there.", "// clang-format off"]
    for name, _, ranks, options, fields in cases():
        lines += record(name, ranks, options, fields,
                        [results[name, rank] for rank in range(ranks)])
    OUT.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
