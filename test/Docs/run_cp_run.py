"""Runs what a page shows of cp-run.

usage: run_cp_run.py PAGE INPUTS

- Of the ```sh blocks the lines that begin with build/bin/cp-, one behind the other;
  but of those that train (run_training.py).
- The ```json block behind them is the report that they wrote: the same keys, and
  the same values but for times, memory in use, threads and versions.
- Each ```console block whose command is cp-run: what it prints. `model.mlir` is what
  the lines above made; for --check=each it is a small model and `broken.mlir` the
  same sharded, without its states (mutate.py of INPUTS).

Numbers may differ as rounding does, for another processor has other kernels; how many
elements are off by more than some bound may differ with them.
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

SHELL = re.compile(r"^```sh\n(.*?)^```", re.DOTALL | re.MULTILINE)
JSON = re.compile(r"^```json\n(.*?)^```", re.DOTALL | re.MULTILINE)
CONSOLE = re.compile(r"^```console\n\$ (cp-run [^\n]*)\n(.*?)^```", re.DOTALL | re.MULTILINE)
NUMBER = re.compile(r"-?\d+\.\d+(?:e[+-]\d+)?|\d+ of \d+")
# Of this run alone.
VOLATILE = {"compile_seconds", "run_seconds", "peak_resident", "folder", "versions",
            "rank_threads", "command", "allocations_per_step", "exposed_seconds_per_rank"}


def run(command, folder, may_fail=False):
    done = subprocess.run(command, shell=True, text=True, cwd=folder,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode > may_fail:
        sys.exit(f"'{command}' exits {done.returncode}:\n{done.stderr}")
    return done.stdout + done.stderr


def make_broken(folder, inputs):
    """A small model, and its sharded program in which no state travels."""
    run(f"cp-translate --import-hf --seq=64 {inputs}/small.json -o model.mlir", folder)
    run('cp-opt --cp-shard-pipeline="mesh=cp=4 mixer=sequence expose" model.mlir '
        f"| {sys.executable} {inputs}/mutate.py state-dropped > broken.mlir", folder)


def is_near(shown, found):
    return (" of " in shown and " of " in found) or \
        abs(float(shown) - float(found)) <= 0.01 * abs(float(shown))


def is_same(shown, found):
    """Whether two lines are the same but for rounding and the width of columns."""
    if " ".join(NUMBER.sub("#", shown).split()) != " ".join(NUMBER.sub("#", found).split()):
        return False
    return all(is_near(*pair) for pair in zip(NUMBER.findall(shown), NUMBER.findall(found)))


def check_console(command, excerpt, folder):
    found = run(command, folder, may_fail=True).splitlines()
    for line in filter(str.strip, excerpt.splitlines()):
        if not any(is_same(line, other) for other in found):
            sys.exit(f"'{command}' does not print\n{line}\nbut\n" + "\n".join(found))


def same_report(shown, found, path="report"):
    if isinstance(shown, dict):
        if set(shown) != set(found):
            sys.exit(f"{path}: the page has {sorted(shown)}, the run {sorted(found)}")
        for key in set(shown) - VOLATILE:
            same_report(shown[key], found[key], f"{path}.{key}")
    elif shown and found and isinstance(shown, list) and len(shown) == len(found):
        for number, pair in enumerate(zip(shown, found)):
            same_report(*pair, f"{path}[{number}]")
    elif shown != found:
        sys.exit(f"{path}: the page has {shown}, the run {found}")


def main():
    page, inputs = map(pathlib.Path, sys.argv[1:])
    text = page.read_text(encoding="utf-8")
    blocks = [block for block in SHELL.findall(text) if "cp-train" not in block]
    lines = [line for block in blocks for line in block.splitlines()
             if line.startswith("build/bin/cp-")]
    consoles = CONSOLE.findall(text)
    if not lines or not consoles:
        sys.exit(f"{page}: no ```sh line or no ```console block runs cp-run")
    with tempfile.TemporaryDirectory() as made, tempfile.TemporaryDirectory() as broken:
        for folder in (made, broken):
            for entry in ("examples", "test"):
                pathlib.Path(folder, entry).symlink_to(page.resolve().parent / entry)
        for line in lines:
            run(line.removeprefix("build/bin/"), made)
        same_report(json.loads(JSON.search(text).group(1)),
                    json.loads(pathlib.Path(made, "report.json").read_text()))
        make_broken(broken, inputs.resolve())
        for command, excerpt in consoles:
            check_console(command, excerpt, broken if "--check=each" in command else made)
    print(f"{len(lines)} lines, {len(consoles)} excerpts, a report")


if __name__ == "__main__":
    main()
