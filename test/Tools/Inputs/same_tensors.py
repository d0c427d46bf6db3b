"""Compares two .safetensors files of f64 or f32, tensor by tensor.

usage: same_tensors.py A B TOLERANCE
Of a tensor ||a - b|| must be at most that part of ||b||.
"""

import array
import json
import math
import struct
import sys


def read(path):
    with open(path, "rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        header, data = json.loads(file.read(size)), file.read()
    header.pop("__metadata__", None)
    tensors = {}
    for name, entry in header.items():
        if entry["dtype"] not in ("F64", "F32"):
            sys.exit(f"{path}: {name} is {entry['dtype']}")
        code = "d" if entry["dtype"] == "F64" else "f"
        tensors[name] = array.array(code, data[slice(*entry["data_offsets"])])
    return tensors


def norm(values):
    return math.sqrt(math.fsum(value * value for value in values))


a, b = read(sys.argv[1]), read(sys.argv[2])
if set(a) != set(b) or any(len(a[name]) != len(b[name]) for name in a):
    sys.exit(f"other tensors: {sorted(set(a) ^ set(b))}")
worst = max(norm(x - y for x, y in zip(a[name], b[name])) / norm(b[name]) for name in b)
print(f"{len(b)} tensors, at most {worst:.1e} apart")
if not worst <= float(sys.argv[3]):
    sys.exit("too far apart")
