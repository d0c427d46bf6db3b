"""Checks the excerpts of cp-opt's output in a page.

usage: run_console.py PAGE [FOLDER]

Runs each command of a ```console block that begins with `$ cp-opt`, from
FOLDER, or that of the page. The lines behind it must stand in the output, one behind the
other except where `...` stands between them. A line may leave out its end, and
`...` what is within; an indented line continues the one before.
"""

import pathlib
import re
import subprocess
import sys

BLOCK = re.compile(r"^```console\n\$ (cp-opt [^\n]*)\n(.*?)^```", re.DOTALL | re.MULTILINE)


def pattern_of(excerpt):
    pattern = ""
    for line in re.sub(r"\n\s+", " ", excerpt).splitlines():
        if line == "...":
            pattern += r"(?:.*\n)*?"
        else:
            pattern += r"\s*" + re.escape(line).replace(r"\.\.\.", ".*") + r".*\n"
    return re.compile("^" + pattern, re.MULTILINE)


def main():
    page = pathlib.Path(sys.argv[1])
    folder = sys.argv[2] if len(sys.argv) > 2 else page.parent
    blocks = BLOCK.findall(page.read_text(encoding="utf-8"))
    if not blocks:
        sys.exit(f"{page}: no ```console block runs cp-opt")
    for command, excerpt in blocks:
        output = subprocess.run(command, shell=True, check=True, text=True,
                                cwd=folder, stdout=subprocess.PIPE).stdout
        if not pattern_of(excerpt).search(output):
            sys.exit(f"{page}: '{command}' does not print\n{excerpt}")
    print(f"{len(blocks)} excerpts")


if __name__ == "__main__":
    main()
