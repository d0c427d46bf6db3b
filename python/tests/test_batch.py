"""Batches by ctypes; cprt_batch.h's own tests are in unittests/Runtime."""

from __future__ import annotations

import pytest
import torch

import cp_mlir


@pytest.mark.parametrize(
    ("ranks", "order", "inner"),
    [(1, "contiguous", 1), (4, "zigzag", 1), (4, "striped:2", 1), (4, "zigzag", 2)],
)
def test_parts_and_back(ranks: int, order: str, inner: int) -> None:
    ids = torch.arange(1, 23).view(2, 11)
    batch = cp_mlir.Batch({"input_ids": ids}, ranks, order, inner=inner)
    parts = [batch.part("input_ids", rank) for rank in range(ranks)]
    assert len({part.shape for part in parts}) == 1
    assert torch.equal(batch.gather(parts), ids)


def test_labels_are_of_the_next_token() -> None:
    ids = torch.arange(1, 9).view(1, 8)
    lengths = torch.tensor([[3, 5]], dtype=torch.int32)
    batch = cp_mlir.Batch({"input_ids": ids, "seq_lens": lengths}, 2, "zigzag")
    assert batch.whole("labels").tolist() == [[2, 3, -100, 5, 6, 7, 8, -100]]
    assert batch.part("labels", 0).tolist() == [[2, 3, 8, -100]]
    assert batch.part("position_ids", 1).tolist() == [[2, 0, 1, 2]]


def test_what_the_runtime_refuses() -> None:
    mask = torch.tensor([[0, 1, 1, 1]])
    with pytest.raises(cp_mlir.CprtError, match="batch_c5") as caught:
        cp_mlir.Batch({"input_ids": torch.ones(1, 4).long(), "attention_mask": mask}, 2)
    assert caught.value.status == "CPRT_INVALID_ARGUMENT"


def test_types() -> None:
    with pytest.raises(TypeError, match=r"'x' is torch\.float16, expected one of"):
        cp_mlir.Batch({"x": torch.ones(1, 4).half()}, 2)
    with pytest.raises(ValueError, match="order must be contiguous"):
        cp_mlir.Batch({"input_ids": torch.ones(1, 4).long()}, 2, "random")
