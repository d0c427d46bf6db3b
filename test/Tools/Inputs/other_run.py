"""Starts a run, and writes a checkpoint in its folder as another run would that has
begun since; says how the first one ends.

usage: other_run.py FOLDER STEP COMMAND...
"""

import subprocess
import sys
import time
from pathlib import Path

folder, step, command = Path(sys.argv[1]), sys.argv[2], sys.argv[3:]
curve = folder.with_suffix(".csv")
run = subprocess.Popen(
    [*command, f"--steps={step}", f"--checkpoint={folder}", f"--csv={curve}"]
)
# The folder has been looked at when the curve has begun.
while run.poll() is None and not (curve.exists() and curve.stat().st_size):
    time.sleep(0.001)
(folder / f"step-{step}").mkdir()
print("exit status", run.wait(), flush=True)
sys.exit((folder / f"step-{step}" / "model.safetensors").exists())
