"""What ranks show together. torchrun ranks.py RESULTS.json runs every case on all
ranks, and rank 0 writes what they found."""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

# What has the cases.
import misuse  # noqa: F401
import rank_agreement  # noqa: F401
import rank_training  # noqa: F401
import rank_worlds  # noqa: F401
import slips  # noqa: F401
import torch
import torch.distributed as dist
from cases import CASES, WIDE


def main() -> None:
    results, *chosen = sys.argv[1:]
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    found: dict[str, Any] = {}
    # What widens transformers' models does so for good.
    for name, function in sorted(CASES.items(), key=lambda each: each[0] in WIDE):
        if chosen and name not in chosen:
            continue
        start = time.time()
        found[name] = function()
        if dist.get_rank() == 0:
            print(f"{name}: {time.time() - start:.1f} s", flush=True)
    if dist.get_rank() == 0:
        with open(results, "w", encoding="utf-8") as file:
            json.dump(found, file, indent=1)
    dist.destroy_process_group()


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
