#!/usr/bin/env python3
"""Writes the seeds of fuzz-ir: each piece of each lit test, once for each set of
passes that the test's own RUN lines name, and once without.

usage: make_seeds.py TEST_FOLDER OUTPUT_FOLDER
"""

import hashlib
import pathlib
import re
import sys

OURS = re.compile(r"""--((?:cp|convert-cp)-[a-z-]+)(?:="([^"]*)")?""")


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
    return list(found) or [""]


def code(piece):
    """The piece without its comments."""
    lines = [line for line in piece.splitlines() if not line.lstrip().startswith("//")]
    return "\n".join(line for line in lines if line.strip()) + "\n"


def main():
    tests, output = map(pathlib.Path, sys.argv[1:])
    output.mkdir(parents=True, exist_ok=True)
    for path in sorted(tests.rglob("*.mlir")):
        text = path.read_text()
        for piece in re.split(r"^// -----.*$", text, flags=re.M):
            for passes in pipelines(text):
                seed = (f"//! {passes}\n" if passes else "") + code(piece)
                name = hashlib.sha1(seed.encode()).hexdigest()[:16]
                (output / f"{path.stem}-{name}.mlir").write_text(seed)


if __name__ == "__main__":
    main()
