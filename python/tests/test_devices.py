"""Programs with their tensors on a device: the emulated one, which runs the kernels for
cards on the processor, and a card where there is one."""

from __future__ import annotations

import pytest
import torch

import cp_mlir
from cp_mlir import devices
from cp_mlir.layers import AttentionShape, MixerShape

CARD = pytest.mark.skipif(not torch.cuda.is_available(), reason="no card")
DEVICES = ["emulated", pytest.param("cuda", marks=CARD)]
LAYERS = [
    MixerShape(1, 48, 32, 4, 8, 2, 8, 4, chunk_size=16),
    AttentionShape(2, 24, 4, 2, 8, 8, 0.6, window=8),
]


def load(
    shape: MixerShape | AttentionShape, device: str | None = None
) -> cp_mlir.Operator:
    wrt = ["u"] if isinstance(shape, MixerShape) else ["q", "k", "v"]
    path = cp_mlir.compile_ir(shape.ir(), wrt=wrt, for_cards=device == "cuda")
    return cp_mlir.load(path, device=device)


def arguments(operator: cp_mlir.Operator) -> list[torch.Tensor]:
    torch.manual_seed(1)
    drawn = [0.3 * torch.randn(spec.shape) for spec in operator.parameters]
    there = operator.world.device.of_torch
    return [each.to(there).requires_grad_() for each in drawn]


def results(operator: cp_mlir.Operator) -> list[torch.Tensor]:
    tensors = arguments(operator)
    out = operator(*tensors)
    gradients = torch.autograd.grad(out.square().sum(), tensors)
    assert out.device == operator.world.device.of_torch
    return [each.detach().cpu() for each in (out, *gradients)]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shape", LAYERS, ids=["mixer", "attention"])
def test_results_are_the_hosts(shape: MixerShape | AttentionShape, device: str) -> None:
    expected = results(load(shape))
    for one, other in zip(results(load(shape, device)), expected, strict=True):
        torch.testing.assert_close(one, other, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("device", DEVICES)
def test_steps_see_each_other(device: str) -> None:
    """Calls follow each other, and what torch computes in between, in one order."""
    operator = load(LAYERS[0], device)
    tensors = [each.detach() for each in arguments(operator)]
    u = tensors[0]
    for _ in range(8):
        u = 0.5 * operator(u, *tensors[1:]) + u
    host = load(LAYERS[0])
    tensors = [each.detach().cpu() for each in tensors]
    expected = tensors[0]
    for _ in range(8):
        expected = 0.5 * host(expected, *tensors[1:]) + expected
    torch.testing.assert_close(u.cpu(), expected, rtol=1e-4, atol=1e-4)
    operator.world.synchronize()


def test_a_device_that_is_none() -> None:
    with pytest.raises(ValueError, match="'cuda', 'cuda:N', 'cpu' or 'emulated'"):
        devices.device_of("tpu")
    with pytest.raises(ValueError, match="but is 'cuda:x'"):
        devices.device_of("cuda:x")


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a card")
def test_a_card_that_is_not_there() -> None:
    with pytest.raises(ValueError, match="device is 'cuda', but torch finds no card"):
        load(LAYERS[0], "cuda")


def test_words_for_devices() -> None:
    assert devices.device_of(None) == devices.device_of("cpu") == devices.Device()
    assert devices.device_of(torch.device("cpu")) == devices.Device("cpu")
    assert str(devices.Device("cuda", 1)) == "cuda:1"
    assert devices.Device("cuda", 1).of_torch == torch.device("cuda", 1)


def test_programs_for_cards_run_on_hosts() -> None:
    path = cp_mlir.compile_ir(LAYERS[0].ir(), wrt=["u"], for_cards=True)
    expected = results(load(LAYERS[0]))
    found = results(cp_mlir.load(path))
    assert all(map(torch.equal, found, expected))


@CARD
def test_memory_is_torchs() -> None:
    """What torch's allocator keeps serves programs, and comes back to it."""
    path = cp_mlir.compile_ir(LAYERS[0].ir(), wrt=["u"], for_cards=True)
    world = cp_mlir.World((1,), device="cuda")
    operator = cp_mlir.load(path, world=world)
    tensors = [each.detach() for each in arguments(operator)]
    before = torch.cuda.memory_allocated()
    operator(*tensors)
    # Its results are gone.
    arena = operator.program.entries[0].arena_bytes
    assert torch.cuda.memory_allocated() - before >= arena > 0
    world.close()
    assert torch.cuda.memory_allocated() <= before


@CARD
def test_another_stream() -> None:
    operator = load(LAYERS[0], "cuda")
    tensors = [each.detach() for each in arguments(operator)]
    expected = operator(*tensors).cpu()
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        # A long while on that stream, which the program waits for.
        torch.cuda._sleep(50_000_000)
        later = [each + 0 for each in tensors]
        found = operator(*later)
        copy = found + 0
    stream.synchronize()
    torch.testing.assert_close(copy.cpu(), expected, rtol=0, atol=0)
