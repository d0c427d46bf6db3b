"""Writes a .safetensors file anew: checkpoint.py GOOD OUT CHANGE...

name=other      copies a tensor under another name
name=other+1    the same with its first byte changed
+name:I32:1,32  adds zeros of that type and shape
-name           leaves a tensor out
--to=BF16       converts what is F32 or BF16 to F64, F32, F16 or BF16; f32 to bf16
                is rounded to nearest even
--shards        cuts what is left into two shards with an index, OUT.index.json;
                a change behind it happens to the second shard and not to the index
"""

import json
import math
import os
import struct
import sys


def read(path):
    with open(path, "rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        header, data = json.loads(file.read(size)), file.read()
    header.pop("__metadata__", None)
    return {
        name: (entry["dtype"], entry["shape"], data[slice(*entry["data_offsets"])])
        for name, entry in header.items()
    }


def write(path, tensors):
    header, data = {}, b""
    for name, (dtype, shape, content) in tensors.items():
        offsets = [len(data), len(data) + len(content)]
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": offsets}
        data += content
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def convert(dtype, content, to):
    if dtype == "BF16":
        halves = struct.unpack(f"<{len(content) // 2}H", content)
        content = struct.pack(f"<{len(halves)}I", *(half << 16 for half in halves))
    count = len(content) // 4
    if to == "BF16":
        words = struct.unpack(f"<{count}I", content)
        halves = ((word + 0x7FFF + (word >> 16 & 1)) >> 16 for word in words)
        return struct.pack(f"<{count}H", *halves)
    values = struct.unpack(f"<{count}f", content)
    return struct.pack(f"<{count}{dict(F16='e', F32='f', F64='d')[to]}", *values)


def change(tensors, whole, what):
    if what.startswith("--to="):
        to = what[5:]
        for name, (dtype, shape, content) in whole.items():
            if dtype in ("F32", "BF16"):
                tensors[name] = to, shape, convert(dtype, content, to)
        return
    if what.startswith("-"):
        del tensors[what[1:]]
        return
    if what.startswith("+"):
        name, dtype, sizes = what[1:].split(":")
        shape = [int(size) for size in sizes.split(",")]
        tensors[name] = dtype, shape, bytes(math.prod(shape) * int(dtype[-2:]) // 8)
        return
    source, name = what.split("=")
    dtype, shape, content = whole[source]
    if name.endswith("+1"):
        name = name[:-2]
        content = bytes([content[0] ^ 1]) + content[1:]
    tensors[name] = dtype, shape, content


def main():
    good, out, *changes = sys.argv[1:]
    tensors = read(good)
    cut = changes.index("--shards") if "--shards" in changes else len(changes)
    for what in changes[:cut]:
        change(tensors, dict(tensors), what)
    if cut == len(changes):
        write(out, tensors)
        return
    names, half = sorted(tensors), len(tensors) // 2
    first, second = ({n: tensors[n] for n in part} for part in (names[:half], names[half:]))
    files = [os.path.basename(out) + ending for ending in (".1", ".2")]
    index = {n: files[n in second] for n in names}
    for what in changes[cut + 1 :]:
        change(second, tensors, what)
    write(out + ".1", first)
    write(out + ".2", second)
    with open(out + ".index.json", "w") as file:
        json.dump({"weight_map": index}, file)


main()
