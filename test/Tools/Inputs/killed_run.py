"""Kills a run that writes checkpoints, some times, and goes on from the newest.

usage: killed_run.py SEED MODEL DATA FOLDER
Each checkpoint that is there must be whole.
"""

import pathlib
import random
import subprocess
import sys
import time

seed, model, data, folder = sys.argv[1:]
print(f"seed {seed}")
draws = random.Random(int(seed))
folder = pathlib.Path(folder)


def newest():
    numbers = [int(path.name[5:]) for path in folder.glob("step-*")]
    return max(numbers, default=None)


def command(steps):
    words = ["cp-train", model, f"--data={data}", f"--steps={steps}", "--quiet"]
    words += [f"--checkpoint={folder}", "--checkpoint-every=1"]
    if newest() is not None:
        words.append(f"--resume={folder}/step-{newest()}")
    return words


for _ in range(6):
    before = newest()
    run = subprocess.Popen(command(100000))
    while newest() == before:
        if run.poll() is not None:
            sys.exit("the run ended by itself")
        time.sleep(0.001)
    time.sleep(draws.random() / 10)
    run.kill()
    run.wait()
subprocess.run(command(newest() + 1), check=True)
print("went on")
