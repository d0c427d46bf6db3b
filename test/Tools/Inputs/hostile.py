"""Writes broken .safetensors files: hostile.py GOOD FOLDER

Each is GOOD with one thing wrong, under the name of what it is.
"""

import json
import os
import struct
import sys

NAME = "backbone.norm_f.weight"


def pack(header, data, size=None):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    size = len(text) if size is None else size
    return struct.pack("<Q", size) + text + data


def changed(header, name=NAME, **fields):
    copy = {key: dict(value) for key, value in header.items()}
    copy[name].update(fields)
    return copy


def broken(good):
    (size,) = struct.unpack("<Q", good[:8])
    text, data = good[8 : 8 + size], good[8 + size :]
    header = json.loads(text)
    entry = header[NAME]
    begin, end = entry["data_offsets"]
    less = {key: value for key, value in header.items() if key != NAME}
    name = json.dumps(NAME).encode()
    yield "empty", b""
    yield "no-header", good[:5]
    yield "cut-in-header", good[: 8 + size // 2]
    yield "cut-in-data", good[:-100]
    yield "longer", good + b"\0\0\0\0"
    yield "length-zero", pack(header, data, 0)
    yield "length-beyond", pack(header, data, len(good))
    yield "length-2-63", pack(header, data, 1 << 63)
    yield "length-2-64", pack(header, data, (1 << 64) - 1)
    yield "no-json", pack(b"\xff\xfe{", data)
    yield "deep-json", pack(b"[" * 100000, data)
    yield "list", pack(b"[]", data)
    yield "twice", pack(
        text.replace(b"{", b"{" + name + b":" + json.dumps(entry).encode() + b",", 1),
        data,
    )
    yield "beyond", pack(changed(header, data_offsets=[begin, 1 << 40]), data)
    yield "negative", pack(changed(header, data_offsets=[-4, end]), data)
    yield "backwards", pack(changed(header, data_offsets=[end, begin]), data)
    yield "huge-offset", pack(changed(header, data_offsets=[begin, 1 << 64]), data)
    yield "overlap", pack(changed(header, data_offsets=[begin - 4, end - 4]), data)
    yield "overflow", pack(changed(header, shape=[1 << 62, 1 << 62]), data)
    yield "negative-shape", pack(changed(header, shape=[-16]), data)
    yield "no-type", pack(changed(header, dtype="F31"), data)
    yield "other-type", pack(changed(header, dtype="I32"), data)
    yield "other-shape", pack(changed(header, shape=[4, 4]), data)
    yield "missing", pack({**less, "backbone.norm_g.weight": entry}, data)


def main():
    with open(sys.argv[1], "rb") as file:
        good = file.read()
    os.makedirs(sys.argv[2], exist_ok=True)
    for name, content in broken(good):
        with open(os.path.join(sys.argv[2], name), "wb") as file:
            file.write(content)


main()
