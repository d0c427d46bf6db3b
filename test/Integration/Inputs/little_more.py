"""little_more.py A B BYTES: of what ranks had in memory, as peak_of.py notes it in A.RANK
and B.RANK, the most of B is less than BYTES above the most of A."""

import pathlib
import sys


def most(stem):
    path = pathlib.Path(stem)
    peaks = [int(each.read_text()) for each in path.parent.glob(path.name + ".?")]
    assert len(peaks) == 4, peaks
    return max(peaks)


a, b = most(sys.argv[1]), most(sys.argv[2])
print(f"{a / 1e6:.1f} MB, {b / 1e6:.1f} MB")
assert b < a + int(sys.argv[3])
