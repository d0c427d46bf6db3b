"""Runs the commands of a page that train.

usage: run_training.py PAGE SOURCE FOLDER [TOOL]
Those of the ```sh block with TOOL (cp-train), in an empty FOLDER; files of the project
are those of SOURCE.
"""

import pathlib
import re
import shutil
import subprocess
import sys

page, source, folder, tool = (*sys.argv[1:], "cp-train")[:4]
text = pathlib.Path(page).read_text(encoding="utf-8")
blocks = [
    block
    for block in re.findall(r"^```sh\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    if tool in block
]
if len(blocks) != 1:
    sys.exit(f"{page}: one ```sh block should have {tool}, {len(blocks)} have")
shutil.rmtree(folder, ignore_errors=True)
pathlib.Path(folder).mkdir(parents=True)
commands = blocks[0].replace("build/bin/", "")
commands = commands.replace("examples/", f"{source}/examples/")
commands = commands.replace("README.md", f"{source}/README.md")
subprocess.run(["bash", "-euc", commands], check=True, cwd=folder)
