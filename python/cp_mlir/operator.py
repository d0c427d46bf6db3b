"""Programs as operators of torch: `cp_mlir::forward` and `cp_mlir::backward`.

Two operators serve all programs, which they are told by a key: the program's hash, and
the place of its world among those of the process. It is the same in every process,
since torch keeps what it compiles. The operators have fake tensors, so that
torch.compile and torch.export see through them, and forward has the program's backward
entry for its derivative: what that reads of the forward pass is one more result, of
bytes, which torch owns.
"""

from __future__ import annotations

import ctypes as c
import logging
import math
import operator
import weakref
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.autograd import forward_ad

from .program import Entry, Program, TensorSpec
from .world import World, shared_world

log = logging.getLogger("cp_mlir")


class Kept:
    """What a backward entry reads of its forward pass: in one tensor of bytes, since
    torch takes a while to make each tensor and to keep it."""

    def __init__(self, specs: Sequence[TensorSpec], device: torch.device) -> None:
        self.places: dict[str, int] = {}
        gaps: list[int] = []
        end = 0
        for spec in specs:
            size = getattr(torch, spec.dtype).itemsize
            begin = -(-end // size) * size
            gaps += range(end, begin)
            self.places[spec.name] = begin
            end = begin + size * math.prod(spec.local_shape)
        """The bytes between, which nobody writes."""
        self.gaps = torch.tensor(gaps, dtype=torch.int64, device=device)
        self.spec = TensorSpec(
            "what the forward pass kept",
            "uint8",
            (end,),
            (end,),
            is_parameter=False,
            is_residual=True,
            terms=frozenset(),
            cuts=(),
        )


def _is_on(device: torch.device) -> Any:
    """Whether a tensor is there; of the host's, in a third of the time."""
    if device.type == "cpu":
        return operator.attrgetter("is_cpu")
    return lambda tensor: tensor.device == device


class Callable:
    """An entry of a program, with tensors of torch: arguments and results in their
    order, and behind them the bytes that are kept, if there are any."""

    def __init__(self, program: Program, index: int, world: World, kept: Kept) -> None:
        self.entry: Entry = program.entries[index]
        self.world = world
        self.device = world.device.of_torch
        self._is_here = _is_on(world.device.of_torch)
        self.run = program.table.contents.entries[index].run
        arguments, results = self.entry.arguments, self.entry.results
        self._pointers = c.c_void_p * (len(arguments) + len(results))
        taken, given = _with_kept(arguments, kept), _with_kept(results, kept)
        self._arguments = [
            (spec, getattr(torch, spec.dtype), torch.Size(spec.local_shape))
            for spec in taken
        ]
        self._results = [
            (torch.Size(spec.local_shape), getattr(torch, spec.dtype)) for spec in given
        ]
        # Of one element each; made like them is in half the time of torch.empty.
        self._prototypes = [
            torch.empty((), dtype=dtype, device=self.device).expand(shape)
            for shape, dtype in self._results
        ]
        self._gaps = kept.gaps if kept.spec in given and len(kept.gaps) else None
        # Of each of the entry's: which tensor it is in, and how far.
        places = [
            *_places(arguments, 0, len(taken) - 1, kept),
            *_places(results, len(taken), len(taken) + len(given) - 1, kept),
        ]
        self._tensors = [of for of, _ in places]
        self._offsets = [offset for _, offset in places]

    def empty(self, device: torch.device | None = None) -> list[Tensor]:
        return [
            torch.empty(shape, dtype=dtype, device=device)
            for shape, dtype in self._results
        ]

    def __call__(self, tensors: Sequence[Tensor]) -> list[Tensor]:
        try:
            held = self._hold(tensors)
        except (TypeError, ValueError) as error:
            # The others would wait for this rank.
            self.world.fail(str(error))
            raise
        results = list(map(torch.empty_like, self._prototypes))
        self.world.run(self.run, self.frame(held, results), (held, results))
        # What is equal is so to the byte.
        if self._gaps is not None:
            results[-1].index_fill_(0, self._gaps, 0)
        return results

    def frame(self, held: Sequence[Tensor], results: Sequence[Tensor]) -> Any:
        """What the entry is called with."""
        starts = [tensor.data_ptr() for tensor in (*held, *results)]
        ordered = map(starts.__getitem__, self._tensors)
        return self._pointers(*map(operator.add, ordered, self._offsets))

    def _hold(self, tensors: Sequence[Tensor]) -> list[Tensor]:
        """What the program can read."""
        if len(tensors) != len(self._arguments):
            names = ", ".join(spec.name for spec, _, _ in self._arguments)
            raise TypeError(
                f"'{self.entry.name}' takes {len(self._arguments)} tensors ({names}), "
                f"but got {len(tensors)}"
            )
        return [
            tensor
            if tensor.dtype is dtype
            and tensor.shape == shape
            and tensor.is_contiguous()
            and self._is_here(tensor)
            else self._as_taken(tensor, spec, dtype)
            for tensor, (spec, dtype, shape) in zip(
                tensors, self._arguments, strict=True
            )
        ]

    def _as_taken(self, tensor: Tensor, spec: TensorSpec, dtype: torch.dtype) -> Tensor:
        what = f"'{spec.name}' of '{self.entry.name}'"
        if not self._is_here(tensor):
            raise ValueError(
                f"{what} is on {tensor.device}, but the program runs on {self.device}; "
                f"move it there by .to('{self.device}'), or name its own by device="
            )
        if tensor.dtype is not dtype:
            raise TypeError(
                f"{what} is {tensor.dtype}, expected {dtype}; convert it, or compile "
                "the program for that type"
            )
        if tuple(tensor.shape) != spec.local_shape:
            of = (
                f", this rank's part of {list(spec.shape)}"
                if spec.shape != spec.local_shape
                else ""
            )
            raise ValueError(
                f"{what} has shape {list(tensor.shape)}, expected "
                f"{list(spec.local_shape)}{of}"
            )
        log.info("%s has strides %s and is copied", what, tuple(tensor.stride()))
        return tensor.contiguous()


def _with_kept(specs: Sequence[TensorSpec], kept: Kept) -> list[TensorSpec]:
    """What torch hands over for them."""
    others = [spec for spec in specs if not spec.is_residual]
    return [*others, kept.spec] if len(others) < len(specs) else others


def _places(
    specs: Sequence[TensorSpec], first: int, last: int, kept: Kept
) -> Iterator[tuple[int, int]]:
    for spec in specs:
        if spec.is_residual:
            yield last, kept.places[spec.name]
        else:
            yield first, 0
            first += 1


class _Registered:
    """What the operators know of a program."""

    def __init__(self, program: Program, world: World) -> None:
        residuals = [spec for spec in program.entries[0].results if spec.is_residual]
        kept = Kept(residuals, world.device.of_torch)
        self.forward = Callable(program, 0, world, kept)
        self.num_results = sum(
            not spec.is_residual for spec in self.forward.entry.results
        )
        self.backward = None
        if program.has_backward:
            self.backward = Callable(program, 1, world, kept)
            self._read_backward(self.forward.entry, self.backward.entry, world)

    def _read_backward(self, forward: Entry, backward: Entry, world: World) -> None:
        arguments = {spec.name: i for i, spec in enumerate(forward.arguments)}
        shown = [spec.name for spec in forward.results if not spec.is_residual]
        results = {name: i for i, name in enumerate(shown)}
        # What the backward operator is called with: which of the forward's arguments,
        # which cotangent, and what was kept.
        self.arguments_read = [
            arguments[spec.name]
            for spec in backward.arguments
            if spec.name in arguments and not spec.is_residual
        ]
        self.sources: list[tuple[int, TensorSpec | None]] = []
        for spec in backward.arguments:
            if spec.is_residual:
                continue
            if spec.name in arguments:
                saved = self.arguments_read.index(arguments[spec.name])
                self.sources.append((saved, None))
            else:
                name = spec.name.removesuffix(".cotangent")
                self.sources.append((results[name], spec))
        self.reads_kept = any(spec.is_residual for spec in backward.arguments)
        # Which argument each gradient is of, and whether another rank gives it.
        self.gradient_of = [
            arguments[spec.name.removeprefix("grad.")] for spec in backward.results
        ]
        is_terms = any(spec.terms for spec in backward.results)
        self.given_elsewhere = [
            is_terms and forward.arguments[of].is_parameter and _is_replica(spec, world)
            for spec, of in zip(backward.results, self.gradient_of, strict=True)
        ]


def _is_replica(spec: TensorSpec, world: World) -> bool:
    """Whether this rank has a value that one before it has too."""
    used = spec.terms | {cut.axis for cut in spec.cuts}
    return any(
        world.coordinate(axis) != 0
        for axis in range(len(world.sizes))
        if axis not in used
    )


# Kept by operators.
_registered: weakref.WeakValueDictionary[str, _Registered] = (
    weakref.WeakValueDictionary()
)


def _of(key: str) -> _Registered:
    try:
        return _registered[key]
    except KeyError:
        raise RuntimeError(
            f"cp_mlir: operator {key} is gone; keep the Operator that "
            "cp_mlir.load() gave as long as what was traced of it"
        ) from None


# By the library's functions one by one: what torch.library.custom_op adds to each call,
# checks that results are no inputs, takes as long again as the rest.
_library = torch.library.Library("cp_mlir", "DEF")
_tags = [getattr(torch.Tag, "cudagraph_unsafe", None)]
for _name in ("forward", "backward"):
    _library.define(
        f"{_name}(str program, Tensor[] tensors) -> Tensor[]",
        tags=[tag for tag in _tags if tag is not None],
    )


def _run_forward(program: str, tensors: Sequence[Tensor]) -> list[Tensor]:
    return _of(program).forward(tensors)


def _fake_forward(program: str, tensors: Sequence[Tensor]) -> list[Tensor]:
    device = tensors[0].device if tensors else None
    return _of(program).forward.empty(device)


def _run_backward(program: str, tensors: Sequence[Tensor]) -> list[Tensor]:
    known = _of(program)
    assert known.backward is not None
    gradients = known.backward(tensors)
    for gradient, elsewhere in zip(gradients, known.given_elsewhere, strict=True):
        if elsewhere:
            gradient.zero_()
    return gradients


def _fake_backward(program: str, tensors: Sequence[Tensor]) -> list[Tensor]:
    known = _of(program)
    assert known.backward is not None
    device = tensors[0].device if tensors else None
    return known.backward.empty(device)


def _save(ctx: Any, inputs: tuple[str, Sequence[Tensor]], output: list[Tensor]) -> None:
    program, tensors = inputs
    known = _of(program)
    # Kept for the backward pass, whatever becomes of the operator by then.
    ctx.program, ctx.kept = program, known
    ctx.dtypes = [tensor.dtype for tensor in tensors]
    ctx.set_materialize_grads(False)
    if known.backward is None:
        return
    saved = [tensors[i] for i in known.arguments_read]
    if known.reads_kept:
        saved.append(output[-1])
    ctx.save_for_backward(*saved)


def _derive(ctx: Any, cotangents: Sequence[Tensor | None]) -> Any:
    known = _of(ctx.program)
    if known.backward is None:
        raise RuntimeError(
            f"'{known.forward.entry.name}' has no backward entry; compile it with "
            "vjp=, or call it under torch.no_grad()"
        )
    saved = ctx.saved_tensors
    tensors = [
        saved[i] if spec is None else _cotangent(cotangents[i], spec, known)
        for i, spec in known.sources
    ]
    if known.reads_kept:
        tensors.append(saved[-1])
    found: list[Tensor | None] = [None] * len(ctx.dtypes)
    for of, gradient in zip(
        known.gradient_of, _backward(ctx.program, tensors), strict=True
    ):
        # bf16 parameters have gradients of f32.
        found[of] = gradient.to(ctx.dtypes[of])
    return None, found


def _cotangent(given: Tensor | None, spec: TensorSpec, known: _Registered) -> Tensor:
    if given is not None:
        return given
    return torch.zeros(
        spec.local_shape, dtype=getattr(torch, spec.dtype), device=known.forward.device
    )


for _name, _run, _fake in (
    ("forward", _run_forward, _fake_forward),
    ("backward", _run_backward, _fake_backward),
):
    # On another device too: there it says what to do.
    _library.impl(_name, _run, "CompositeExplicitAutograd")
    torch.library.register_fake(f"cp_mlir::{_name}", _fake, lib=_library)
torch.library.register_autograd(
    "cp_mlir::forward", _derive, setup_context=_save, lib=_library
)


def _refuse_second(*_: Any) -> None:
    raise RuntimeError(
        "a program has no second derivative: what it gave in the backward pass is not "
        "differentiated again; take penalties of gradients of a model that is torch's"
    )


torch.library.register_autograd("cp_mlir::backward", _refuse_second, lib=_library)


def check_plain(tensors: Sequence[Tensor]) -> None:
    """RuntimeError for derivatives that a program has not, and torch would leave out:
    those of forward mode, and of torch.func."""
    if torch.compiler.is_compiling():
        return
    functorch: Any = torch._C
    is_dual = forward_ad._current_level >= 0 and any(
        forward_ad.unpack_dual(each).tangent is not None for each in tensors
    )
    if is_dual or functorch._functorch.peek_interpreter_stack() is not None:
        raise RuntimeError(
            "a program has no derivatives in forward mode, and none of torch.func "
            "(grad, jvp, vmap); call backward(), or torch.autograd.grad"
        )


_forward = torch.ops.cp_mlir.forward.default
_backward = torch.ops.cp_mlir.backward.default


class Operator:
    """A program of ranks, called with each rank's parts.

        layer = cp_mlir.load("layer.so", group)
        y = layer(u, in_proj=weight, ...)

    Arguments come in the order of `parameters`, or by name. It gives its result, or a
    tuple of several. Of what has a gradient, `y.backward()` calls the other ranks'
    backward too: all of them call it, in the same order.
    """

    def __init__(self, program: Program, world: World) -> None:
        if tuple(program.axes.values()) != world.sizes:
            raise ValueError(
                f"{program.path.name} is for the mesh {program.axes}, but the world "
                f"has {world.sizes}; compile it for as many ranks"
            )
        self.program = program
        self.world = world
        self.key = f"{program.hash:016x}@{world.number}"
        known = _registered.get(self.key) or _Registered(program, world)
        _registered[self.key] = known
        self._known = known
        self._num_results = known.num_results
        self._names = [spec.name for spec in known.forward.entry.arguments]

    @property
    def parameters(self) -> tuple[TensorSpec, ...]:
        return self.program.entries[0].arguments

    def __call__(self, *tensors: Tensor, **named: Tensor) -> Any:
        given = list(tensors)
        if named:
            given += [self._take(named, name) for name in self._names[len(given) :]]
            if named:
                raise TypeError(
                    f"'{self.program.entries[0].name}' takes no {sorted(named)}; it "
                    f"takes {self._names}"
                )
        check_plain(given)
        results = _forward(self.key, given)[: self._num_results]
        return results[0] if len(results) == 1 else tuple(results)

    def _take(self, named: dict[str, Tensor], name: str) -> Tensor:
        try:
            return named.pop(name)
        except KeyError:
            raise TypeError(
                f"'{self.program.entries[0].name}' needs '{name}'"
            ) from None

    def split(self, name: str, whole: Tensor, rank: int | None = None) -> Tensor:
        """This rank's part of an argument, or that of `rank`. Errors: ValueError for
        a name or a shape that it does not have."""
        index = self._names.index(name)
        spec = self.parameters[index]
        dtype = getattr(torch, spec.dtype)
        if tuple(whole.shape) != spec.shape or whole.dtype is not dtype:
            raise ValueError(
                f"'{name}' is {whole.dtype} {list(whole.shape)}, expected {dtype} "
                f"{list(spec.shape)}"
            )
        part = torch.empty(spec.local_shape, dtype=dtype)
        dense = whole.detach().cpu().contiguous()
        self.program.split(
            0,
            index,
            self.world.rank if rank is None else rank,
            dense.data_ptr(),
            part.data_ptr(),
        )
        return part.to(self.world.device.of_torch)

    def join(self, parts: Sequence[Tensor], result: int = 0) -> Tensor:
        """A whole result of the parts of all ranks, in their order."""
        spec = self.program.entries[0].results[result]
        dtype = getattr(torch, spec.dtype)
        if len(parts) != self.world.size:
            raise ValueError(f"expected {self.world.size} parts, but got {len(parts)}")
        whole = torch.empty(spec.shape, dtype=dtype)
        for rank, part in enumerate(parts):
            if tuple(part.shape) != spec.local_shape or part.dtype is not dtype:
                raise ValueError(
                    f"part {rank} of '{spec.name}' is {part.dtype} {list(part.shape)}, "
                    f"expected {dtype} {list(spec.local_shape)}"
                )
            dense = part.detach().cpu().contiguous()
            self.program.join(0, result, rank, dense.data_ptr(), whole.data_ptr())
        return whole.to(self.world.device.of_torch)


def load(
    path: str | Path,
    group: Any = None,
    *,
    world: World | None = None,
    transport: str | None = None,
    deadline: float = 60.0,
    threads: int = 0,
    device: str | torch.device | None = None,
) -> Operator:
    """A program that `cp-compile` or compile_ir() wrote, as an operator of the
    ranks of `group`, the default one without it; see World for the rest. All of them
    call it. ValueError, on all of them, where their programs are not the same."""
    program = Program(path)
    if world is None:
        world = shared_world(
            tuple(program.axes.values()),
            group,
            transport=transport,
            deadline=deadline,
            threads=threads,
            device=device,
        )
    operator = Operator(program, world)
    _agree(program, group, world.size)
    return operator


def _agree(program: Program, group: Any, size: int) -> None:
    if size == 1:
        return
    import torch.distributed as dist

    hashes: list[int] = [0] * size
    dist.all_gather_object(hashes, program.hash, group=group)
    others = [rank for rank, each in enumerate(hashes) if each != hashes[0]]
    if others:
        raise ValueError(
            f"ranks {others} have loaded another program than rank 0; give all ranks "
            "the same file"
        )
