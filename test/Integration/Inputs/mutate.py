"""Breaks a local program in one way: mutate.py WAY [WHAT] < good > bad

  state-dropped  every rank starts from no state
  state-one-hop  every rank starts from the state of the rank before it alone
  halo-row       the nearest row of each halo is zero
  slice WHAT     one rank's slice of the parameter WHAT (or of every conv weight,
                 for conv) is that of its neighbour
"""

import re
import sys

SCAN = re.compile(
    r"( *)(%\w+), (%\w+) = cp\.scan_state (%\w+), (%\w+) (over .* of #mesh\w*)"
    r"(?: \{.*\})? : (tensor<.*>), (tensor<.*>)$"
)
HALO = re.compile(r"( *)(%\w+):\d+ = cp\.halo .* -> \((.*)\)$")
SLICE = re.compile(
    r"( *)(%\w+) = cp\.slice (%\w+) (over .*) : tensor<(\d+)(.*)>"
    r" -> tensor<(\d+)\D.*>$"
)


def filled(space, name, value, shape):
    """A tensor of one value."""
    return [
        f"{space}%bad_{name[1:]}_value = arith.constant {value} : f32",
        f"{space}%bad_{name[1:]}_empty = tensor.empty() : {shape}",
        f"{space}{name} = linalg.fill ins(%bad_{name[1:]}_value : f32)"
        f" outs(%bad_{name[1:]}_empty : {shape}) -> {shape}",
    ]


def drop_state(line):
    match = SCAN.match(line)
    if not match:
        return [line]
    space, decay, state, _, _, _, decay_type, state_type = match.groups()
    return filled(space, decay, "1.0", decay_type) + filled(
        space, state, "0.0", state_type
    )


def pass_one_hop(line):
    match = SCAN.match(line)
    if not match:
        return [line]
    space, decay, state, own_decay, own_state, over, decay_type, state_type = (
        match.groups()
    )
    return [
        f"{space}{decay} = cp.shift {own_decay} {over} {{offset = 1}} : {decay_type}",
        f"{space}{state} = cp.shift {own_state} {over} {{offset = 1}} : {state_type}",
    ]


def lose_halo_rows(lines):
    """The users of a halo's results read mutated ones instead."""
    for line in lines:
        match = HALO.match(line)
        for name in [] if match else re.findall(r"%halo\w*#\d+", line):
            line = line.replace(name, "%bad_" + name[1:].replace("#", "_"))
        yield line
        if not match:
            continue
        space, halo, types = match.groups()
        for number, whole in enumerate(types.split(", ")):
            batch, rows, channels = re.findall(r"(\d+)x", whole)
            one = whole.replace(f"{batch}x{rows}x", f"{batch}x1x", 1)
            bad = f"%bad_{halo[1:]}_{number}"
            yield from filled(space, bad + "_zero", "0.0", one)
            yield (
                f"{space}{bad} = tensor.insert_slice {bad}_zero into "
                f"{halo}#{number}[0, {int(rows) - 1}, 0] [{batch}, 1, {channels}]"
                f" [1, 1, 1] : {one} into {whole}"
            )


def shift_slice(line, is_meant):
    match = SLICE.match(line)
    if not match or not is_meant(match.group(3), match.group(6)):
        return [line]
    space, name, source, over, size, rest, part = match.groups()
    # Of the two ranks in the middle the first gets what is the second's.
    middle, part = int(size) // 2, int(part)
    more = re.findall(r"\d+(?=x)", rest)
    sizes = ", ".join([str(part)] + more)
    zeros, ones = ", 0" * len(more), ", ".join(["1"] * (1 + len(more)))
    one, whole = f"tensor<{part}{rest}>", f"tensor<{size}{rest}>"
    bad = f"%bad_{name[1:]}"
    return [
        f"{space}{bad}_part = tensor.extract_slice {source}[{middle}{zeros}]"
        f" [{sizes}] [{ones}] : {whole} to {one}",
        f"{space}{bad} = tensor.insert_slice {bad}_part into "
        f"{source}[{middle - part}{zeros}] [{sizes}] [{ones}] : {one} into {whole}",
        line.replace(f"cp.slice {source} ", f"cp.slice {bad} "),
    ]


def slices_of(what, text):
    """Whether a slice of that source and type is meant by `what`."""
    if what == "conv":
        return lambda source, rest: rest.count("x") == 2
    pattern = r'(%arg\d+): [^%]*?cp\.param = "[^"]*\.' + what + '"'
    arguments = set(re.findall(pattern, text))
    return lambda source, rest: source in arguments


def main():
    way, text = sys.argv[1], sys.stdin.read()
    lines = text.splitlines()
    if way == "state-dropped":
        bad = [new for line in lines for new in drop_state(line)]
    elif way == "state-one-hop":
        bad = [new for line in lines for new in pass_one_hop(line)]
    elif way == "halo-row":
        bad = list(lose_halo_rows(lines))
    elif way == "slice":
        is_meant = slices_of(sys.argv[2], text)
        bad = [new for line in lines for new in shift_slice(line, is_meant)]
    else:
        sys.exit("mutate.py: no such way: " + way)
    if bad == lines:
        sys.exit("mutate.py: nothing to mutate")
    print("\n".join(bad))


main()
