"""next_labels.py INPUTS.safetensors FILE: the labels of next tokens as i32, -100 behind
each row's last."""

import json
import pathlib
import struct
import sys

data = pathlib.Path(sys.argv[1]).read_bytes()
(length,) = struct.unpack("<Q", data[:8])
header = json.loads(data[8 : 8 + length])
(entry,) = [entry for name, entry in header.items() if name != "__metadata__"]
rows, columns = entry["shape"]
assert entry["dtype"] in ("I32", "I64")
kind = "i" if entry["dtype"] == "I32" else "q"
begin, end = entry["data_offsets"]
ids = struct.unpack(f"<{rows * columns}{kind}", data[8 + length + begin : 8 + length + end])
labels = []
for row in range(rows):
    labels += [*ids[row * columns + 1 : (row + 1) * columns], -100]
pathlib.Path(sys.argv[2]).write_bytes(struct.pack(f"<{len(labels)}i", *labels))
