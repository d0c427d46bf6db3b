"""Checks the descriptions in the .td files of a source tree.

usage: run_examples.py TREE CP_OPT

- Every ```mlir block in a description parses, verifies and comes back the same
  from text and bytecode.
- Every op and attribute has such a block; every pass names a test that exists.
- Every constraint that a description lists is in the C++ sources and in a test.
"""

import pathlib
import re
import subprocess
import sys
import textwrap
from dataclasses import dataclass

FOLDERS = ("include/cp/IR", "include/cp/Trace", "include/cp/Transforms")
DEFINITION = re.compile(r"^def\s+(\w+)\s*:\s*(\w+)", re.MULTILINE)
LABEL = re.compile(r'[^{]*?"([\w-]+)"')
DESCRIPTION = re.compile(r"let description = \[\{(.*?)\}\];", re.DOTALL)
EXAMPLE = re.compile(r"^[ ]*```mlir\n(.*?)^[ ]*```", re.DOTALL | re.MULTILINE)
CONSTRAINT = re.compile(r"^\s*- (\w+_c\d+):", re.MULTILINE)
TEST_FILE = re.compile(r"See\s+(test/[\w/.-]+\.(?:mlir|test))")
# What a definition is, by the class it is of. Others are listed so that a new
# class is not left out unseen.
KINDS = {
    "op": re.compile(r"CP_\w*Op"),
    "attribute": re.compile(r"CP_Attr|EnumAttr"),
    "pass": re.compile(r"Pass"),
    "other": re.compile(r"Dialect|OpInterface|Resource|Pat|I64EnumAttr|"
                        r"RankedTensorOf|AttrConstraint|ConfinedAttr|"
                        r"TypedArrayAttrBase"),
}


@dataclass
class Definition:
    file: pathlib.Path
    name: str
    kind: str
    description: str

    def place(self):
        return f"{self.file}: {self.kind} {self.name}"


def kind_of(base):
    for kind, pattern in KINDS.items():
        if pattern.fullmatch(base):
            return kind
    return None


def read_definitions(tree, problems):
    definitions = []
    for folder in FOLDERS:
        for path in sorted((tree / folder).glob("*.td")):
            text = path.read_text(encoding="utf-8")
            found = list(DEFINITION.finditer(text))
            ends = [match.start() for match in found[1:]] + [len(text)]
            for match, end in zip(found, ends):
                name, base = match.groups()
                label = LABEL.match(text, match.end(), end)
                kind = kind_of(base)
                if kind is None:
                    problems.append(f"{path}: {name} is of {base}, which this "
                                    "script does not know; add it to KINDS")
                    continue
                description = DESCRIPTION.search(text, match.start(), end)
                definitions.append(Definition(
                    path.relative_to(tree), label.group(1) if label else name, kind,
                    description.group(1) if description else ""))
    return definitions


def run_example(cp_opt, text):
    """The error that `cp_opt` has with `text`, or nothing."""
    run = subprocess.run([cp_opt, "--verify-roundtrip", "-"], check=False,
                         input=textwrap.dedent(text), text=True,
                         capture_output=True, timeout=60)
    return run.stderr or f"status {run.returncode}" if run.returncode else ""


def check_examples(definition, cp_opt, problems):
    examples = EXAMPLE.findall(definition.description)
    if not examples and definition.kind in ("op", "attribute"):
        problems.append(f"{definition.place()}: the description has no "
                        "```mlir example")
    for number, example in enumerate(examples, 1):
        error = run_example(cp_opt, example)
        if error:
            problems.append(f"{definition.place()}: example {number} fails:\n"
                            f"{error}")
    return len(examples)


def check_test_files(definition, tree, problems):
    named = TEST_FILE.findall(definition.description)
    if not named:
        problems.append(f"{definition.place()}: the description names no test "
                        "('See test/Transforms/x.mlir')")
    for name in named:
        if not (tree / name).is_file():
            problems.append(f"{definition.place()}: {name} does not exist")


def read_all(tree, folders, suffixes):
    texts = []
    for folder in folders:
        for path in sorted((tree / folder).rglob("*")):
            if path.suffix in suffixes and "goldens" not in path.parts:
                texts.append(path.read_text(encoding="utf-8"))
    return "\n".join(texts)


def is_in_sources(label, sources):
    stem, number = label.rsplit("_", 1)
    # One verifier may serve several ops and join the label from two parts.
    return label in sources or (f'"{stem}"' in sources
                                and f'"_{number}"' in sources)


def is_tested(label, tests):
    return re.search(rf"\b{label}:|@{label}\b", tests) is not None


def check_labels(sources, tests, problems):
    """Errors of passes and tools have labels that no TableGen file lists."""
    for label in sorted(set(re.findall(r'"([a-z0-9_]+_c\d+)(?:: |")', sources))):
        if not re.search(rf"\b{label}\b", tests):
            problems.append(f"no test has {label}")


def check_constraints(definition, sources, tests, problems):
    for label in CONSTRAINT.findall(definition.description):
        if not is_in_sources(label, sources):
            problems.append(f"{definition.place()}: no source has {label}")
        if not is_tested(label, tests):
            problems.append(f"{definition.place()}: no test has '{label}:' or "
                            f"a function @{label}")


def main():
    tree, cp_opt = pathlib.Path(sys.argv[1]), sys.argv[2]
    problems = []
    definitions = read_definitions(tree, problems)
    sources = read_all(tree, ["lib", "include"], {".cpp", ".h"})
    tests = read_all(tree, ["test"], {".mlir", ".test"})
    examples = 0
    for definition in definitions:
        examples += check_examples(definition, cp_opt, problems)
        if definition.kind == "pass":
            check_test_files(definition, tree, problems)
        check_constraints(definition, sources, tests, problems)
    check_labels(sources, tests + read_all(tree, ["unittests"], {".cpp"}), problems)
    for kind in ("op", "attribute", "pass"):
        if not any(definition.kind == kind for definition in definitions):
            problems.append(f"{tree}: no {kind} was found")
    print(f"{len(definitions)} definitions, {examples} examples, "
          f"{len(problems)} problems")
    if problems:
        sys.exit("\n".join(problems))


if __name__ == "__main__":
    main()
