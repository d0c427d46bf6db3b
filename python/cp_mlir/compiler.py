"""From IR to a program in a file, by the compiler's own tool."""

from __future__ import annotations

import hashlib
import os
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from . import _native as native


class CompileError(RuntimeError):
    """What the compiler says is wrong with a model."""


STRATEGIES = ("sequence", "hidden", "2d")
ATTENTION_FORMS = ("ring", "ulysses", "gather", "2d")
PER_DOCUMENT = ("zigzag_per_document", "contiguous_per_document")
ORDERS = ("contiguous", "zigzag", "striped", *PER_DOCUMENT)
SCANS = ("chain", "gather", "doubling", "pipelined", "transposed")


def unit_of(order: str) -> int:
    """Tokens that go to one rank together: of "striped:UNIT". ValueError for what is
    none."""
    name, colon, unit = order.partition(":")
    if colon and (name != "striped" or not unit.isdecimal() or int(unit) < 1):
        raise ValueError(
            f"order must be striped:UNIT with so many tokens at a time, at least 1, or "
            f"a word alone, but is '{order}'"
        )
    return int(unit or 1)


@dataclass(frozen=True)
class Sharding:
    """How a model is cut over ranks; the same words as of cp-compile.

    strategy: "sequence", "hidden" or "2d", of Mamba-2 mixers.
    attention: "ring", "ulysses", "gather" or "2d"; without it what goes with the
        strategy: ring, ulysses, 2d.
    order: of tokens, "contiguous", "zigzag", "striped", "striped:UNIT" or
        "zigzag_per_document" or "contiguous_per_document", in which attention
        whose keys travel ("ring", or "2d") cuts each document by itself; rows then
        come and go in contiguous order.
    scan: how states travel, "chain", "gather", "doubling", "pipelined" or
        "transposed".
    inner: under "2d" the ranks that share heads; must divide the ranks.
    """

    ranks: int = 1
    strategy: str = "sequence"
    attention: str | None = None
    order: str = "contiguous"
    scan: str = "chain"
    inner: int | None = None

    def __post_init__(self) -> None:
        for field, value, words in (
            ("strategy", self.strategy, STRATEGIES),
            ("attention", self.attention or "ring", ATTENTION_FORMS),
            ("order", self.order.partition(":")[0], ORDERS),
            ("scan", self.scan, SCANS),
        ):
            if value not in words:
                raise ValueError(
                    f"{field} must be one of {', '.join(words)}, but is '{value}'"
                )
        travels = "2d" if self.inner else "ring"
        if self.order in PER_DOCUMENT and self.form != travels:
            raise ValueError(
                f"order='{self.order}' is for attention='ring', or with "
                f"strategy='2d' for '2d', but strategy is '{self.strategy}' and "
                f"attention '{self.form}'; take those, or order='zigzag'"
            )
        unit_of(self.order)
        if self.ranks < 1:
            raise ValueError(f"ranks must be at least 1, but are {self.ranks}")
        if (self.strategy == "2d") != (self.inner is not None):
            raise ValueError(
                "strategy='2d' shares heads between inner ranks; give both, e.g. "
                "strategy='2d', inner=2"
            )
        if self.inner is not None and (self.inner < 1 or self.ranks % self.inner):
            raise ValueError(
                f"inner must divide the {self.ranks} ranks, but is {self.inner}"
            )

    @property
    def rows(self) -> str:
        """The order in which tokens come and go: of one rank's, whatever it is called,
        their own."""
        is_own = self.ranks == 1 or self.order in PER_DOCUMENT
        return "contiguous" if is_own else self.order

    @property
    def unit(self) -> int:
        """Tokens that go to one rank together, in a striped order."""
        return unit_of(self.rows)

    def of_rows(self) -> Sharding:
        """The same for what knows no documents."""
        return replace(self, order=self.rows)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Of the mesh's axes."""
        if self.inner is None:
            return (self.ranks,)
        return (self.ranks // self.inner, self.inner)

    @property
    def form(self) -> str:
        """Of attention."""
        forms = {"sequence": "ring", "hidden": "ulysses", "2d": "2d"}
        return self.attention or forms.get(self.strategy, "ring")

    def flags(self) -> list[str]:
        order = self.rows if self.ranks == 1 else self.order
        mesh = (
            [f"--mesh=cp={self.ranks}"]
            if self.inner is None
            else [f"--mesh=ring={self.sizes[0]},u={self.inner}", "--axis=ring,u"]
        )
        return [
            *mesh,
            f"--strategy={self.strategy}",
            f"--attention={self.form}",
            f"--order={order}",
            f"--scan={self.scan}",
        ]


def cache_folder() -> Path:
    """Where programs are kept: CP_MLIR_CACHE, or cp-mlir in the user's cache."""
    named = os.environ.get("CP_MLIR_CACHE")
    if named:
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "cp-mlir"


def compile_ir(
    text: str,
    sharding: Sharding | None = None,
    *,
    wrt: Sequence[str] | None = None,
    partial_gradients: bool = False,
    overlap: bool = False,
    target_cpu: str = "",
    for_cards: bool = False,
) -> Path:
    """Compiles a module of whole tensors; the path of the program, which is that of
    the last time where nothing has changed.

    `wrt`: with a backward entry, of which gradients are by the parameters and by these
    arguments. `partial_gradients`: those of parameters are each rank's terms, which
    the caller adds up with all other gradients of the model. `overlap`: the program
    sums gradients while its backward pass goes on, for the memory of a layer's.
    `target_cpu`: the least processor, "native" for this one; without it x86-64-v3 on
    x86-64. `for_cards`: a program that cards run too (load(), device="cuda").
    Errors: CompileError with what the compiler says.
    """
    sharding = sharding or Sharding()
    tool = native.find("cp-compile")
    flags = sharding.flags()
    if target_cpu:
        flags.append(f"--target-cpu={target_cpu}")
    if wrt is not None:
        flags.append("--vjp=" + ",".join(wrt))
    if partial_gradients:
        flags.append("--partial-gradients")
    if overlap:
        flags.append("--overlap")
    if for_cards:
        flags.append("--device=cuda")
    version = tool.stat()
    key = hashlib.sha256(
        "\0".join(
            [text, *flags, str(version.st_mtime_ns), str(version.st_size)]
        ).encode()
    ).hexdigest()
    folder = cache_folder()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{key[:32]}.so"
    if path.exists():
        return path
    with tempfile.NamedTemporaryFile(
        dir=folder, prefix=key[:8], suffix=".so", delete=False
    ) as partial:
        made = Path(partial.name)
    try:
        done = subprocess.run(
            [str(tool), "-", *flags, f"-o={made}"],
            input=text,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise CompileError(done.stderr.strip() or f"{tool} failed")
        made.rename(path)
    finally:
        made.unlink(missing_ok=True)
    return path


def meet(group: Any, deadline: float, to: str) -> None:
    """CompileError, with who is missing, for ranks that do not come `to` do something
    of all: they have done it already, or do something else. By gloo; other backends
    wait as long as they are told to."""
    import torch
    import torch.distributed as dist

    there: Any = group or dist.group.WORLD
    try:
        backend = there._get_backend(torch.device("cpu")).name()
    except RuntimeError:
        # It has none for the host.
        return
    if backend != "gloo":
        return
    try:
        there.monitored_barrier(timedelta(seconds=deadline), wait_all_ranks=True)
    except RuntimeError as error:
        raise CompileError(
            f"not all ranks came to {to} within {deadline:g} s; call the model on "
            "all of them with inputs of the same shapes, in the same mode (train(), "
            f"eval()), and with the same adapters ({error})"
        ) from None
    others: list[Any] = [None] * dist.get_world_size(group)
    dist.all_gather_object(others, to, group=group)
    if unlike := sorted({each for each in others if each != to}):
        raise CompileError(
            f"this rank came to {to}, and others to {', '.join(unlike)}; call the "
            "model on all of them with all of what batch() gave, or on none"
        )


def compile_on_first(group: Any, make: Any, deadline: float = 60.0) -> Path:
    """make() on the first rank of a group, and its program on all of them: they need
    no compiler. Its error is that of all ranks, and so is CompileError where some do
    not come within `deadline` seconds."""
    import torch.distributed as dist

    if not dist.is_initialized() or dist.get_world_size(group) == 1:
        return make()
    meet(group, deadline, "compile")
    told: list[Any] = [None]
    failure: Exception | None = None
    if dist.get_rank(group) == 0:
        try:
            path = make()
            told = [(path.name, path.read_bytes())]
        except Exception as error:  # Told to all ranks, which wait for it.
            failure = error
            told = [(None, str(error))]
    first = dist.get_global_rank(group, 0) if group is not None else 0
    dist.broadcast_object_list(told, src=first, group=group)
    name, content = told[0]
    if failure is not None:
        raise failure
    if name is None:
        raise CompileError(content)
    path = cache_folder() / name
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(f".{os.getpid()}.partial")
        partial.write_bytes(content)
        partial.rename(path)
    return path
