"""restart_job.py FOLDER STEPS COMMAND...: trains as four ranks over ucx, kills a rank
once a checkpoint is there, and goes on from the last one until all steps are made; each
time another rank, at least twice."""

import os
import re
import subprocess
import sys
import time

RANKS = 4


def checkpoints(folder):
    names = os.listdir(folder) if os.path.isdir(folder) else []
    return sorted(int(name[5:]) for name in names if re.fullmatch(r"step-\d+", name))


def start(command, folder, number):
    common = dict(os.environ, WORLD_SIZE=str(RANKS), LOCAL_WORLD_SIZE=str(RANKS))
    common["CPRT_ADDRESS"] = f"unix:{folder}.{number}"
    done = checkpoints(folder)
    resume = [f"--resume={folder}/step-{done[-1]}"] if done else []
    return [
        subprocess.Popen([*command, *resume], env=dict(common, RANK=str(rank)))
        for rank in range(RANKS)
    ]


def main():
    folder, steps, *command = sys.argv[1:]
    command += [f"--steps={steps}", f"--checkpoint={folder}", "--checkpoint-every=1"]
    for number in range(2):
        before = len(checkpoints(folder))
        processes = start(command, folder, number)
        while len(checkpoints(folder)) < before + 2:
            assert processes[0].poll() is None, "it ended before it was killed"
            time.sleep(0.001)
        processes[(number * 3 + 1) % RANKS].kill()
        codes = [process.wait(timeout=30) for process in processes]
        assert all(codes), codes
        print("killed behind step", checkpoints(folder)[-1], "of", steps)
        assert checkpoints(folder)[-1] < int(steps)
    codes = [process.wait() for process in start(command, folder, "last")]
    assert not any(codes), codes


main()
