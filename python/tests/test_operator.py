"""Programs as operators, on one rank."""

from __future__ import annotations

import gc
import itertools
import logging
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

import cp_mlir
from cp_mlir.layers import AttentionShape, MixerShape
from cp_mlir.operator import _registered

LAYER = MixerShape(1, 32, 16, 4, 4, 2, 4, 4, dtype="float64", chunk_size=8)


def layer(shape: MixerShape | AttentionShape = LAYER) -> cp_mlir.Operator:
    wrt = ["u"] if isinstance(shape, MixerShape) else ["q", "k", "v"]
    return cp_mlir.load(cp_mlir.compile_ir(shape.ir(), wrt=wrt))


def arguments(operator: cp_mlir.Operator, grad: bool = True) -> list[torch.Tensor]:
    torch.manual_seed(1)
    return [
        (
            0.3 * torch.randn(spec.shape, dtype=getattr(torch, spec.dtype))
        ).requires_grad_(grad)
        for spec in operator.parameters
    ]


def test_gradients_are_those_of_differences() -> None:
    operator = layer(MixerShape(1, 8, 6, 2, 2, 1, 3, 4, dtype="float64", chunk_size=4))
    assert torch.autograd.gradcheck(operator, tuple(arguments(operator)))


def test_gradients_of_attention() -> None:
    operator = layer(AttentionShape(2, 6, 4, 2, 3, 5, 0.6, dtype="float64", window=4))
    assert torch.autograd.gradcheck(operator, tuple(arguments(operator)))


def test_opcheck() -> None:
    operator = layer()
    torch.library.opcheck(
        torch.ops.cp_mlir.forward.default, (operator.key, arguments(operator))
    )


def test_is_traced_whole() -> None:
    operator = layer()
    tensors = arguments(operator)

    def loss(*tensors: torch.Tensor) -> torch.Tensor:
        return operator(*tensors).sin().sum()

    expected = torch.autograd.grad(loss(*tensors), tensors)
    found = torch.autograd.grad(torch.compile(loss, fullgraph=True)(*tensors), tensors)
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-13)


def test_arguments_by_name() -> None:
    operator = layer()
    tensors = arguments(operator, grad=False)
    named = {
        spec.name: tensor
        for spec, tensor in zip(operator.parameters, tensors, strict=True)
    }
    u = named.pop("u")
    assert torch.equal(operator(u, **named), operator(*tensors))


def test_a_result_that_nothing_depends_on_has_no_gradient() -> None:
    operator = layer()
    tensors = arguments(operator)
    (operator(*tensors).detach().sum() + tensors[0].sum()).backward()
    assert tensors[1].grad is None


def test_contiguous_inputs_are_not_copied(caplog: pytest.LogCaptureFixture) -> None:
    operator = layer()
    tensors = arguments(operator, grad=False)
    caplog.set_level(logging.INFO, logger="cp_mlir")
    expected = operator(*tensors)
    assert not caplog.records
    strided = torch.stack([tensors[0], tensors[0]], dim=-1)[..., 0]
    assert not strided.is_contiguous()
    assert torch.equal(operator(strided, *tensors[1:]), expected)
    assert "'u' of 'mixer_forward' has strides" in caplog.text


def test_bf16() -> None:
    shapes = [
        MixerShape(1, 64, 32, 8, 4, 2, 4, 4, dtype=dtype)
        for dtype in ("bfloat16", "float64")
    ]
    narrow, wide = map(layer, shapes)
    tensors = arguments(narrow)
    wider = [each.detach().double().requires_grad_() for each in tensors]
    narrow(*tensors).sum().backward()
    wide(*wider).sum().backward()
    for one, other in zip(tensors, wider, strict=True):
        assert one.grad is not None
        assert one.grad.dtype is torch.bfloat16
        distance = (one.grad.double() - other.grad).norm() / other.grad.norm()
        assert distance < 3e-2


def test_operators_leave_nothing() -> None:
    def memory() -> int:
        gc.collect()
        status = Path("/proc/self/status").read_text(encoding="utf-8")
        return int(status.split("VmRSS:")[1].split()[0]) // 1024

    # What torch has traced keeps what it calls.
    torch.compiler.reset()
    path = cp_mlir.compile_ir(LAYER.ir(), wrt=["u"])
    tensors = arguments(cp_mlir.load(path))
    before = 0
    for count in itertools.count():
        operator = cp_mlir.load(path)
        operator(*tensors).sum().backward()
        if count == 100:
            before = memory()
        if count == 1100:
            break
    del operator
    gc.collect()
    assert memory() - before < 8
    assert f"{cp_mlir.Program(path).hash:016x}" not in " ".join(_registered.keys())


def test_time_of_a_call() -> None:
    """What is beside the call of C. Said, and held to a loose bar: machines differ."""
    operator = layer(MixerShape(1, 8, 6, 2, 2, 1, 3, 4))
    tensors = arguments(operator, grad=False)
    entry = _registered[operator.key].forward
    results = entry.empty()
    pointers = entry.frame(tensors, results)

    def micros(call: object, count: int = 2000) -> float:
        best = float("inf")
        for _ in range(5):
            start = time.perf_counter()
            for _ in range(count // 5):
                call()  # type: ignore[operator]
            best = min(best, (time.perf_counter() - start) / (count // 5))
        return best * 1e6

    context = operator.world.context
    with torch.no_grad():
        whole = micros(lambda: operator(*tensors))
        alone = micros(lambda: entry.run(context, None, pointers))
    print(
        f"\n{whole:.1f} us a call, {alone:.1f} us of it in C, "
        f"{len(tensors)} arguments, {len(entry.entry.results)} results"
    )
    assert whole - alone < 100


# ===----------------------------------------------------------------------===//
# What cannot be
# ===----------------------------------------------------------------------===//


def test_another_shape() -> None:
    operator = layer()
    tensors = arguments(operator, grad=False)
    tensors[0] = tensors[0][:, :16]
    with pytest.raises(ValueError, match=r"'u' of 'mixer_forward' has shape \[1, 16, "):
        operator(*tensors)


def test_another_type() -> None:
    operator = layer()
    tensors = [each.float() for each in arguments(operator, grad=False)]
    with pytest.raises(TypeError, match=r"is torch\.float32, expected torch\.float64"):
        operator(*tensors)


def test_another_device() -> None:
    operator = layer()
    tensors = [each.to("meta") for each in arguments(operator, grad=False)]
    # Tensors without data are fake ones: the operator gives such.
    assert operator(*tensors).device.type == "meta"


def test_parts_are_checked() -> None:
    operator = layer(AttentionShape(1, 6, 4, 2, 3, 5, 0.6, dtype="float64"))
    whole = torch.randn(1, 4, 6, 3, dtype=torch.float64).transpose(1, 2)
    assert torch.equal(operator.split("q", whole), whole)
    with pytest.raises(ValueError, match="expected 1 parts, but got 2"):
        operator.join([whole, whole])
    with pytest.raises(ValueError, match=r"part 0 of 'out' is torch\.float64 \[1, 6, "):
        operator.join([whole])


def test_too_few_arguments() -> None:
    operator = layer()
    with pytest.raises(TypeError, match="takes 9 tensors"):
        operator(*arguments(operator)[:-1])
    with pytest.raises(TypeError, match=r"needs 'in_proj\.weight'"):
        operator(arguments(operator)[0], nothing=torch.zeros(1))


def test_no_backward_entry() -> None:
    operator = cp_mlir.load(cp_mlir.compile_ir(LAYER.ir()))
    y = operator(*arguments(operator))
    with pytest.raises(RuntimeError, match="has no backward entry"):
        y.sum().backward()


def test_no_program(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="no such"):
        cp_mlir.load(tmp_path / "no such")
    runtime = Path(cp_mlir._native.find("libcprt.so"))
    with pytest.raises(ValueError, match="no program of cp-mlir"):
        cp_mlir.load(runtime)


def test_a_program_of_another_interface(tmp_path: Path) -> None:
    source, path = tmp_path / "program.c", tmp_path / "program.so"
    source.write_text(
        "static const unsigned short program[64] = {99};\n"
        "const void *cp_program(void) { return program; }\n",
        encoding="utf-8",
    )
    subprocess.run(["cc", "-shared", "-fPIC", source, "-o", path], check=True)
    with pytest.raises(
        cp_mlir.CprtError, match=r"of interface 99\.0, and this .*again"
    ):
        cp_mlir.load(path)


@pytest.mark.parametrize(
    ("torch_is", "expected"),
    [
        ("None", "shard is for PyTorch, which is not installed; pip install torch"),
        (
            "types.SimpleNamespace(__version__='2.1.0+cpu')",
            "shard needs PyTorch 2.6 or later, but 2.1.0+cpu is installed",
        ),
    ],
)
def test_another_torch(torch_is: str, expected: str) -> None:
    """The package itself needs none."""
    code = (
        f"import sys, types; sys.modules['torch'] = {torch_is}\n"
        "import cp_mlir; cp_mlir.Sharding(); cp_mlir.Program\n"
        "try: cp_mlir.shard\n"
        "except ImportError as error: print(error)\n"
    )
    said = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert expected in said.stdout


def test_what_the_compiler_refuses() -> None:
    with pytest.raises(cp_mlir.CompileError, match="mixer_c2: num_groups"):
        cp_mlir.compile_ir(MixerShape(1, 8, 6, 3, 2, 2, 3, 4).ir())


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ({"order": "random"}, "order must be one of contiguous, zigzag, striped"),
        ({"strategy": "2d"}, "give both"),
        ({"ranks": 4, "strategy": "2d", "inner": 3}, "inner must divide the 4 ranks"),
        ({"ranks": 0}, "ranks must be at least 1"),
    ],
)
def test_shardings(words: dict[str, object], expected: str) -> None:
    with pytest.raises(ValueError, match=expected):
        cp_mlir.Sharding(**words)  # type: ignore[arg-type]
