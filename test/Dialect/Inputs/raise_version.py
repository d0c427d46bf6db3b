"""Copies a bytecode file with version 127 of the cp dialect.

usage: raise_version.py FROM TO

A version is a section of its own in the list of dialects: its id (7), its
length (1) and its content, both numbers shifted left by one with a set lowest
bit, as MLIR's bytecode format has them.
"""

import sys

DIALECT_VERSION = bytes([7, 1 << 1 | 1])


def main():
    source, target = sys.argv[1:]
    with open(source, "rb") as file:
        content = file.read()
    old = DIALECT_VERSION + bytes([1 << 1 | 1])
    if content.count(old) != 1:
        sys.exit(f"{source}: expected one dialect of version 1")
    with open(target, "wb") as file:
        file.write(content.replace(old, DIALECT_VERSION + bytes([127 << 1 | 1])))


main()
