"""vjp.py PROGRAM.so: runs forward and backward of a program in f64 on threads, and
holds what the gradients say of drawn directions to differences of the forward entry.
Gradients that are terms are added up over the ranks. Needs cp_mlir, and no torch."""

import array
import ctypes
import random
import sys
import threading

from cp_mlir import Program, _native

program = Program(sys.argv[1])
forward, backward = program.entries
assert program.has_backward
runtime = _native.runtime()
sizes = list(program.axes.values())
options = _native.Options()
options.struct_size = ctypes.sizeof(options)
options.num_axes = len(sizes)
options.axis_sizes = (ctypes.c_int64 * len(sizes))(*sizes)
options.threads = 1
world = ctypes.c_void_p()
_native.checked(
    lambda *text: runtime.cprt_threads_create(
        ctypes.byref(options), ctypes.byref(world), *text
    )
)
ranks = range(program.size)


def count(shape):
    product = 1
    for size in shape:
        product *= size
    return product


def address(values):
    return values.buffer_info()[0]


def zeros(shape):
    return array.array("d", bytes(8 * count(shape)))


def run(number, parts):
    """Each rank's results of its arguments."""
    entry = program.entries[number]
    raw = program.table.contents.entries[number]
    results = [[zeros(spec.local_shape) for spec in entry.results] for _ in ranks]

    def one(rank):
        buffers = [address(each) for each in parts[rank] + results[rank]]
        context = runtime.cprt_world_context(world, rank)
        raw.run(context, None, (ctypes.c_void_p * len(buffers))(*buffers))
        status = runtime.cprt_context_status(context)
        assert status == 0, runtime.cprt_context_message(context)

    threads = [threading.Thread(target=one, args=(rank,)) for rank in ranks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def cut(number, index, whole):
    spec = program.entries[number].arguments[index]
    parts = [zeros(spec.local_shape) for _ in ranks]
    for rank in ranks:
        program.split(number, index, rank, address(whole), address(parts[rank]))
    return parts


def forward_of(wholes):
    parts = [cut(0, i, whole) for i, whole in enumerate(wholes)]
    return run(0, [[each[rank] for each in parts] for rank in ranks]), parts


def joined(number, index, parts):
    spec = program.entries[number].results[index]
    if spec.terms:
        return [sum(each) for each in zip(*parts)]
    whole = zeros(spec.shape)
    for rank in ranks:
        program.join(number, index, rank, address(parts[rank]), address(whole))
    return whole


random.seed(7)
draw = lambda spec, size: array.array(
    "d", [random.gauss(0, size) for _ in range(count(spec.shape))]
)
assert all(spec.dtype == "float64" for spec in forward.arguments)
wholes = [draw(spec, 0.4) for spec in forward.arguments]
results, parts = forward_of(wholes)
cotangent = draw(forward.results[0], 1.0)
by_name = {spec.name: part for spec, part in zip(forward.arguments, parts)}
for index, spec in enumerate(forward.results):
    by_name[spec.name] = [results[rank][index] for rank in ranks]
for index, spec in enumerate(backward.arguments):
    if spec.name.endswith(".cotangent"):
        by_name[spec.name] = cut(1, index, cotangent)
gradients = run(
    1, [[by_name[spec.name][rank] for spec in backward.arguments] for rank in ranks]
)


def loss(wholes):
    found, _ = forward_of(wholes)
    y = joined(0, 0, [found[rank][0] for rank in ranks])
    return sum(a * b for a, b in zip(y, cotangent))


names = [spec.name for spec in forward.arguments]
step, worst, terms = 1e-5, 0.0, 0
for index, spec in enumerate(backward.results):
    of = names.index(spec.name.removeprefix("grad."))
    gradient = joined(1, index, [gradients[rank][index] for rank in ranks])
    direction = draw(forward.arguments[of], 1.0)
    sides = []
    for sign in (step, -step):
        moved = list(wholes)
        moved[of] = array.array(
            "d", [a + sign * b for a, b in zip(wholes[of], direction)]
        )
        sides.append(loss(moved))
    difference = (sides[0] - sides[1]) / (2 * step)
    said = sum(a * b for a, b in zip(gradient, direction))
    error = abs(difference - said) / max(abs(difference), abs(said))
    assert error < 1e-6, f"{spec.name}: {said}, but differences give {difference}"
    worst = max(worst, error)
    terms += bool(spec.terms)
print(f"{len(backward.results)} gradients, {terms} of them terms")
runtime.cprt_world_destroy(world)
