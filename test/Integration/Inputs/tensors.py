"""tensors.py unpack FILE.safetensors FOLDER: each tensor's bytes as FOLDER/NAME.
tensors.py compare FILE.safetensors FOLDER [PREFIX]: that the folder has these bytes,
as files whose names begin with the prefix."""

import json
import pathlib
import struct
import sys

what, path, folder, *prefix = sys.argv[1:]
data = pathlib.Path(path).read_bytes()
(length,) = struct.unpack("<Q", data[:8])
header = json.loads(data[8 : 8 + length])
for name, entry in header.items():
    if name == "__metadata__":
        continue
    begin, end = entry["data_offsets"]
    bytes_of = data[8 + length + begin : 8 + length + end]
    file = pathlib.Path(folder) / "".join([*prefix, name])
    if what == "unpack":
        file.write_bytes(bytes_of)
    elif file.read_bytes() != bytes_of:
        sys.exit(f"{file} has other bytes than {path}")
print(len(header), "tensors")
