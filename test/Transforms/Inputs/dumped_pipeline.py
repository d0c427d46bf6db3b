"""Runs the pipeline that cp-opt says it has run: dumped_pipeline.py FILE FLAGS..."""

import subprocess
import sys

words = ["cp-opt", sys.argv[1]]
said = subprocess.run(
    words + sys.argv[2:] + ["--dump-pass-pipeline"],
    check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
).stderr
pipeline = "".join(line.strip() for line in said.split("passes:", 1)[1].splitlines())
sys.exit(subprocess.run(words + ["--pass-pipeline=" + pipeline]).returncode)
