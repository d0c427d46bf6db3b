"""Reads and writes .safetensors files of f32 with the standard library."""

import array
import json
import struct


def read(path):
    """Each tensor's shape and its values in C order."""
    with open(path, "rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(size))
        data = file.read()
    header.pop("__metadata__", None)
    tensors = {}
    for name, entry in header.items():
        assert entry["dtype"] == "F32", name
        begin, end = entry["data_offsets"]
        tensors[name] = entry["shape"], array.array("f", data[begin:end])
    return tensors


def write(path, tensors):
    header, data = {}, b""
    for name, (shape, values) in tensors.items():
        end = len(data) + 4 * len(values)
        header[name] = {
            "dtype": "F32",
            "shape": shape,
            "data_offsets": [len(data), end],
        }
        data += array.array("f", values).tobytes()
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)
