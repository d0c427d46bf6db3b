"""Writes input_ids of ones and cu_seqlens: documents.py FILE ROWS TOKENS LIST..."""

import array
import json
import struct
import sys

path, rows, tokens = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
lists = [[int(end) for end in text.split()] for text in sys.argv[4:]]
tensors = {
    "input_ids": ([rows, tokens], [1] * rows * tokens),
    "cu_seqlens": ([len(lists), len(lists[0])], sum(lists, [])),
}
header, data = {}, b""
for name, (shape, values) in tensors.items():
    begin = len(data)
    data += array.array("i", values).tobytes()
    header[name] = {"dtype": "I32", "shape": shape, "data_offsets": [begin, len(data)]}
text = json.dumps(header).encode()
with open(path, "wb") as file:
    file.write(struct.pack("<Q", len(text)) + text + data)
