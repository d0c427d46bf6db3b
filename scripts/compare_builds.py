#!/usr/bin/env python3
"""Whether two builds of cp-opt print the same IR for what lit's .mlir files run.

    scripts/compare_builds.py BUILD OTHER

A call whose arguments make ops in turn makes them in an order that compilers choose,
so that IR, and what tests check of it, would depend on who built the tools. BUILD and
OTHER, made by two compilers, have bin/cp-opt. Ends with 1 where they differ.

Of a RUN line it takes cp-opt's part up to the first pipe or line's end, and none with
other substitutions than the file. Commands that print nothing are not counted.
"""

import re
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from difflib import unified_diff
from os import cpu_count
from pathlib import Path

RUN = re.compile(r"RUN: +(?:not +)?(?:%cp-opt|cp-opt) +([^|\\]*)")


def commands(tests: Path) -> list[list[str]]:
    """What lit calls cp-opt with, but for diagnostics and what depends on other tools."""
    found: dict[tuple[str, ...], None] = {}
    for file in sorted(tests.rglob("*.mlir")):
        if "Inputs" in file.parts:
            continue
        for line in RUN.findall(file.read_text()):
            text = line.replace("%s", str(file)).replace("%S", str(file.parent)).replace("2>&1", "")
            if not re.search(r"%|&&|[<>]|verify-diagnostics", text):
                found[tuple(shlex.split(text))] = None
    return [list(each) for each in found]


def differs(arguments: list[str], builds: list[str]) -> list[str] | None:
    """The first lines in which what they print differs; None where neither prints."""
    printed = [
        subprocess.run(
            [f"{build}/bin/cp-opt", *arguments], capture_output=True, check=False
        ).stdout.decode(errors="replace").splitlines()
        for build in builds
    ]
    if not any(printed):
        return None
    return list(unified_diff(*printed, *builds, lineterm="", n=1))[:12]


def main(builds: list[str]) -> int:
    if len(builds) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    tests = Path(__file__).resolve().parent.parent / "test"
    compared = wrong = 0
    every = commands(tests)
    with ThreadPoolExecutor(cpu_count()) as pool:
        for arguments, lines in zip(every, pool.map(lambda each: differs(each, builds), every)):
            compared += lines is not None
            if lines:
                wrong += 1
                print("error: cp-opt", shlex.join(arguments), *lines, sep="\n")
    print(f"{compared} commands, {wrong} with other IR")
    return 1 if wrong or not compared else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
