"""Rows of a batch, and the same as a program takes them, made by hand.

usage: rows.py padded|packed FOLDER
       rows.py windows FOLDER
       rows.py compare ROWS WHOLE FOLDER

`padded` and `packed` write FOLDER/rows.safetensors, for `cp-run --rows`, and
FOLDER/inputs.safetensors and FOLDER/labels.npy, for --inputs and --labels of a model of
2 rows of 64 tokens and 5 documents; FOLDER/places.json says which of its tokens each
token of the rows is. `compare` holds the results for the former against those for the
latter. `windows` writes rows of 64 tokens with their labels to FOLDER/rows.safetensors,
and to FOLDER/ids.npy the tokens that they are windows of.
"""

import array
import json
import math
import struct
import sys

CODES = {"F64": "d", "F32": "f", "I32": "i", "I64": "q", "BOOL": "B"}


def write(path, tensors):
    header, data = {}, b""
    for name, (dtype, shape, values) in tensors.items():
        part = array.array(CODES[dtype], values).tobytes()
        header[name] = {"dtype": dtype, "shape": shape,
                        "data_offsets": [len(data), len(data) + len(part)]}
        data += part
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def read(path):
    with open(path, "rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        header, data = json.loads(file.read(size)), file.read()
    header.pop("__metadata__", None)
    return {name: (entry["shape"], array.array(CODES[entry["dtype"]],
                                               data[slice(*entry["data_offsets"])]))
            for name, entry in header.items()}


def write_npy(path, shape, values):
    header = str({"descr": "<i4", "fortran_order": False, "shape": tuple(shape)})
    header += " " * (-(len(header) + 11) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)))
        file.write(header.encode() + array.array("i", values).tobytes())


def token(number):
    return (number * 37 + number // 5) % 40


def make(folder, rows, length, documents, whole):
    """`documents`: of each row its lengths; `whole`: of each row of the program a list of
    (row or None, first token, tokens, places)."""
    ids = [token(i) for i in range(rows * length)]
    most = max(map(len, documents))
    lens = [n for row in documents for n in row + [-1000] * (most - len(row))]
    write(f"{folder}/rows.safetensors", {
        "input_ids": ("I64", [rows, length], ids),
        "seq_lens": ("I32", [rows, most], lens)})
    tokens, labels, ends, places = [], [], [], {}
    for parts in whole:
        ends.append(0)
        for row, first, count, slots in parts:
            for i in range(slots):
                at = None if row is None else row * length + first + i
                held = at is not None and first + i < length
                if held:
                    places[at] = len(tokens)
                tokens.append(ids[at] if held else 0)
                labels.append(ids[at + 1] if i + 1 < count else -100)
            ends.append(len(tokens) - 64 * (len(tokens) > 64))
        ends += [64] * (5 - len(parts))
    assert len(tokens) == 128 and len(ends) == 12
    write(f"{folder}/inputs.safetensors", {
        "input_ids": ("I32", [2, 64], tokens), "cu_seqlens": ("I32", [2, 6], ends)})
    write_npy(f"{folder}/labels.npy", [2, 64], labels)
    with open(f"{folder}/places.json", "w") as file:
        json.dump([places[at] for at in range(rows * length)], file)


def padded(folder):
    make(folder, 2, 50, [[30, 15], [50]],
         [[(0, 0, 30, 30), (0, 30, 15, 15), (0, 45, 0, 19)], [(1, 0, 50, 50), (None, 0, 0, 14)]])


def packed(folder):
    make(folder, 4, 20, [[20], [13], [7, 13], [1, 19]],
         [[(0, 0, 20, 20), (1, 0, 13, 13), (1, 13, 0, 31)],
          [(2, 0, 7, 7), (2, 7, 13, 13), (3, 0, 1, 1), (3, 1, 19, 19), (None, 0, 0, 24)]])


def windows(folder):
    tokens = [token(i) for i in range(64 * 12 + 1)]
    write(f"{folder}/rows.safetensors", {
        "input_ids": ("I64", [12, 64], tokens[:-1]), "labels": ("I64", [12, 64], tokens[1:]),
        "attention_mask": ("BOOL", [12, 64], [1] * 768)})
    write_npy(f"{folder}/ids.npy", [len(tokens)], tokens)


def compare(rows, whole, folder):
    shape, got = read(rows)["logits"]
    of, expected = read(whole)["logits"]
    with open(f"{folder}/places.json") as file:
        places = json.load(file)
    assert shape[0] * shape[1] == len(places) and of[:2] == [2, 64], (shape, of)
    size = shape[2]
    differ = [got[at * size + i] - expected[place * size + i]
              for at, place in enumerate(places) for i in range(size)]
    norm = math.sqrt(math.fsum(value * value for value in got))
    apart = math.sqrt(math.fsum(value * value for value in differ)) / norm
    print(f"{len(places)} tokens")
    assert apart < 1e-12, apart


globals()[sys.argv[1]](*sys.argv[2:])
