"""Whether two modules compute the same by the same ops: whatever their values are
called, and in whatever order ops stand that do not need each other."""

from __future__ import annotations

import re
import subprocess

import models

_VALUE = re.compile(r"%[\w.$-]+")


def differences(one: str, other: str) -> list[str]:
    """The ops that only one of two modules has, canonicalized; each has one function
    with arguments that have names. An op's operands are numbers of other ops; the first
    listed is why others behind it are."""
    numbers: dict[str, int] = {}
    found, expected = (set(_ops(text, numbers)) for text in (one, other))
    return [
        f"{numbers[op]}, only {'here' if op in found else 'there'}: {op}"
        for op in sorted(found ^ expected, key=lambda op: numbers[op])
    ]


def _ops(text: str, numbers: dict[str, int]) -> list[str]:
    done = subprocess.run(
        [str(models.TOOLS / "cp-opt"), "-", "--canonicalize", "--cse"],
        input=text,
        capture_output=True,
        text=True,
        check=True,
    )
    maps = dict(re.findall(r"^(#\w+) = (.*)$", done.stdout, re.M))
    text = re.sub(r"#map\d*", lambda found: maps[found[0]], done.stdout)
    signature, *lines = text.partition("func.func @main(")[2].split("\n")
    named = r'(%\w+): \S+ \{(?:[^{}]|\{[^{}]*\})*?cp\.(?:param|name) = "([^"]*)"'
    known = {value: f"'{name}'" for value, name in re.findall(named, signature)}
    ops: list[str] = []
    for op in _split(lines):
        targets, is_assignment, rest = op.partition(" = ")
        if not is_assignment or not targets.startswith("%"):
            targets, rest = "", op
        inner: dict[str, str] = {}

        def name(value: re.Match[str], inner: dict[str, str] = inner) -> str:
            # What is defined within a region is counted.
            number = f"%{len(inner)}"
            return known.get(value[0]) or inner.setdefault(value[0], number)

        ops.append(_VALUE.sub(name, rest))
        number = numbers.setdefault(ops[-1], len(numbers))
        for i, target in enumerate(targets.split(", ")):
            known[target] = f"<{number}.{i}>"
    return ops


def _split(lines: list[str]) -> list[str]:
    """The ops of a function's body, with their regions."""
    depth = len(lines[0]) - len(lines[0].lstrip())
    ops: list[list[str]] = []
    for line in lines:
        inside = line.lstrip()
        if inside == "}" and len(line) - len(inside) < depth:
            break
        begins = len(line) - len(inside) == depth and inside[0] not in "^}"
        if begins:
            ops.append([])
        ops[-1].append(inside)
    return ["\n".join(op) for op in ops]
