"""kill_in_checkpoint.py FOLDER COMMAND...: trains as four ranks over ucx, and kills one
while the last checkpoint is written, before it is there: the others must end with an
error, and leave no checkpoint."""

import os
import shutil
import subprocess
import sys
import time

RANKS = 4
folder, *command = sys.argv[1:]


def attempt(number):
    """Whether a rank was killed in time."""
    shutil.rmtree(folder, ignore_errors=True)
    common = dict(os.environ, WORLD_SIZE=str(RANKS), LOCAL_WORLD_SIZE=str(RANKS),
                  CPRT_ADDRESS=f"unix:{folder}.{number}")
    processes = [subprocess.Popen(command, env=dict(common, RANK=str(rank)))
                 for rank in range(RANKS)]
    while not os.path.isdir(f"{folder}/.step-1.partial"):
        if processes[0].poll() is not None:
            break
    processes[2].kill()
    codes = [process.wait(timeout=60) for process in processes]
    if os.path.isdir(f"{folder}/step-1"):
        return False
    print("codes", codes)
    assert all(codes), codes
    return True


for number in range(10):
    if attempt(number):
        break
    time.sleep(0.1)
else:
    sys.exit("no rank was killed in time")
