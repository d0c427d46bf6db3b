"""Writes the index of a model whose weights are one .safetensors file, beside it."""

import json
import pathlib
import struct
import sys

path = pathlib.Path(sys.argv[1])
data = path.read_bytes()
header = json.loads(data[8 : 8 + struct.unpack("<Q", data[:8])[0]])
names = {name: path.name for name in header if name != "__metadata__"}
index = path.with_name(path.name + ".index.json")
index.write_text(json.dumps({"metadata": {}, "weight_map": names}))
