#!/usr/bin/env python3
"""Writes the seeds of fuzz-ir: each piece of each lit test, whole and function by
function, once for each set of passes that the test's own RUN lines name. Where
they name none, the seed gets passes that take a program of ranks to the end.

usage: make_seeds.py TEST_FOLDER OUTPUT_FOLDER
"""

import hashlib
import pathlib
import re
import sys

OURS = re.compile(r"""--((?:cp|convert-cp)-[a-z-]+)(?:="([^"]*)")?""")

DEFAULT = ["cp-simplify-reshards,cp-partition,cp-lower-reshards,cp-lower-pipeline"]


def pipelines(text):
    """The passes of each RUN line, as fuzz-ir reads them."""
    found = {}
    for line in text.replace("\\\n", " ").splitlines():
        if "RUN:" not in line:
            continue
        passes = [
            name + ("{" + options + "}" if options else "")
            for name, options in OURS.findall(line)
        ]
        found[",".join(passes)] = True
    return [passes for passes in found if passes] or DEFAULT


def code(piece):
    """The piece without its comments."""
    lines = [line for line in piece.splitlines() if not line.lstrip().startswith("//")]
    return "\n".join(line for line in lines if line.strip()) + "\n"


def units(piece):
    """The piece, and each of its functions behind the piece's aliases."""
    aliases, *functions = re.split(r"^(?=func\.func)", piece, flags=re.M)
    alone = [aliases + function for function in functions]
    return [piece] + (alone if len(alone) > 1 else [])


def write(seed, stem, output):
    name = hashlib.sha1(seed.encode()).hexdigest()[:16]
    (output / f"{stem}-{name}.mlir").write_text(seed)


def main():
    tests, output = map(pathlib.Path, sys.argv[1:])
    output.mkdir(parents=True, exist_ok=True)
    for path in sorted(tests.rglob("*.mlir")):
        text = path.read_text()
        for piece in re.split(r"^// -----.*$", text, flags=re.M):
            for unit in units(code(piece)):
                for passes in pipelines(text):
                    write(f"//! {passes}\n{unit}", path.stem, output)


if __name__ == "__main__":
    main()
