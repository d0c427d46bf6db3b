"""places.py PLUGIN.so RANKS [CASE]: processes that tell a transport where they stand in
a job of their own, whatever their environment says. With a case one that cannot be."""

import ctypes
import os
import subprocess
import sys
import tempfile

from cp_mlir import CprtError, _native


def join(plug_in, rank, size, address, is_older=False):
    function = ctypes.CDLL(plug_in).cprt_transport_open
    transport, job = _native.sized(_native.Transport), _native.sized(_native.Job)
    if is_older:
        # A table of no functions yet.
        transport.struct_size = _native.Transport.functions.offset
    transport.rank, transport.size = rank, size
    job.address = address.encode() or None
    job.token = b"a token of ours"
    job.local_ranks = size
    _native.checked(
        lambda *text: function(ctypes.byref(transport), ctypes.byref(job), *text)
    )
    options = _native.sized(_native.Options)
    options.num_axes = 1
    options.axis_sizes = (ctypes.c_int64 * 1)(size)
    options.threads = 1
    world = ctypes.c_void_p()
    _native.checked(
        lambda *text: _native.runtime().cprt_messages_create(
            ctypes.byref(options),
            ctypes.byref(job),
            ctypes.byref(transport),
            ctypes.byref(world),
            *text,
        )
    )
    context = _native.runtime().cprt_world_context(world, rank)
    assert context
    _native.runtime().cprt_world_destroy(world)


plug_in, ranks, *rest = sys.argv[1:]
ranks = int(ranks)
if rest and rest[0] == "rank":
    join(plug_in, int(rest[1]), ranks, rest[2])
elif rest:
    cases = {
        "outside": (ranks, ranks, "unix:x"),
        "nowhere": (0, ranks, ""),
        "older": (0, ranks, "unix:x", True),
    }
    try:
        join(plug_in, *cases[rest[0]])
    except CprtError as error:
        print(error, flush=True)
        os._exit(0)
    sys.exit("no error")
else:
    with tempfile.TemporaryDirectory() as folder:
        # The environment says something else, and is not asked.
        environment = dict(os.environ, RANK="7", WORLD_SIZE="9")
        command = [sys.executable, __file__, plug_in, str(ranks), "rank"]
        processes = [
            subprocess.Popen([*command, str(rank), f"unix:{folder}/job"], env=environment)
            for rank in range(ranks)
        ]
        assert [process.wait() for process in processes] == [0] * ranks
    print(f"{ranks} ranks")
