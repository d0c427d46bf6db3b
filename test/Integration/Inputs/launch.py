#!/usr/bin/env python3
"""launch.py -n RANKS COMMAND...: a process for each rank, told of by the variables
that torchrun sets. When one fails the others are waited for; its status is ours."""

import os
import subprocess
import sys
import tempfile

_, flag, ranks, *command = sys.argv
assert flag == "-n"
with tempfile.TemporaryDirectory() as folder:
    common = dict(os.environ, WORLD_SIZE=ranks, LOCAL_WORLD_SIZE=ranks)
    common["CPRT_ADDRESS"] = f"unix:{folder}/job"
    processes = [
        subprocess.Popen(command, env=dict(common, RANK=str(rank)))
        for rank in range(int(ranks))
    ]
    sys.exit(max(abs(process.wait()) for process in processes))
