"""Ranks that share the rows of a batch: what each gets of them, and the way back."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from .batch import Batch
from .compiler import Sharding, meet
from .world import World

# What batch() knows what to do with.
_TAKEN = {
    "attention_mask",
    "input_ids",
    "inputs_embeds",
    "labels",
    "loss_mask",
    "padding_mask",
    "position_ids",
    "seq_lens",
    "seq_lens_padded",
}


class RowSharing:
    """Of the ranks of a group, by the order of a sharding."""

    group: Any
    sharding: Sharding
    world: World

    def share_rows(self, group: Any, sharding: Sharding, world: World) -> None:
        self.group = group
        self.sharding = sharding
        self.world = world
        self._rows_seen = 0
        self._has_noted = False
        self._has_same_parameters = False

    @property
    def rank(self) -> int:
        return self.world.rank

    def batch(
        self,
        input_ids: Tensor | None = None,
        *,
        labels: Tensor | None = None,
        packed: bool = False,
        length: int = 0,
        documents: int = 0,
        **tensors: Tensor,
    ) -> dict[str, Any]:
        """This rank's part of whole rows, as keyword arguments of the model: ids,
        positions, and labels, which are each token's own or missing (those of a causal
        model) and become those of the next token before rows are cut. All ranks give
        the same rows. With `seq_lens` `[B, n]` a row holds several documents, and
        nothing passes from one to the next; `packed` lays all rows end to end as
        documents of one. `length` and `documents` are capacities of a row: batches
        with the same ones need one compilation.

        The loss of a rank is its share of the mean over all tokens: sums over ranks
        are loss and gradients of the batch.
        """
        if input_ids is not None:
            tensors["input_ids"] = input_ids
        if labels is not None:
            tensors["labels"] = labels
        unknown = set(tensors) - _TAKEN
        if unknown:
            raise TypeError(
                f"batch() hands no {sorted(unknown)} to the model; it takes "
                f"{sorted(_TAKEN)}, and Batch cuts any others"
            )
        for name, tensor in tensors.items():
            if not isinstance(tensor, Tensor):
                raise TypeError(f"'{name}' is {tensor!r}, expected a tensor")
            if tensor.requires_grad:
                raise ValueError(
                    f"'{name}' has a gradient, which would end here: batch() makes new "
                    "tensors; give ids, or embed this rank's part of them"
                )
        made = Batch(
            tensors,
            self.world.size,
            self.sharding.rows,
            packed=packed,
            length=length,
            documents=documents,
            inner=self.sharding.inner or 1,
        )
        there = self.world.device.of_torch
        known = set(made.names())
        given: dict[str, Any] = {
            name: made.part(name, self.rank).to(there)
            for name in known & {"input_ids", "inputs_embeds", "position_ids"}
        }
        if "labels" in known:
            mine, whole = made.part("labels", self.rank), made.whole("labels")
            if "loss_mask" in known:
                mine = mine.masked_fill(made.part("loss_mask", self.rank) == 0, -100)
                whole = whole.masked_fill(made.whole("loss_mask") == 0, -100)
            # What torch's losses take.
            given["labels"] = given["shift_labels"] = mine.long().to(there)
            given["num_items_in_batch"] = (whole != -100).sum().to(there)
        if packed or "seq_lens" in tensors:
            given["cu_seqlens"] = made.whole("cu_seqlens_padded").to(there)
        given["cp_batch"] = made
        # The caller may fill its tensors anew before a model is called.
        _ = made.digest
        return given

    def note(self, batch: Batch) -> None:
        """That a model has been called with the batch. ValueError where that was cut
        for other ranks, or in another order; of the first one too, on all ranks, where
        they have other rows: a loop may never add anything up by itself."""
        own = (self.world.size, self.sharding.rows, self.sharding.inner or 1)
        if (batch.ranks, batch.order, batch.inner) != own:
            raise ValueError(
                f"the batch was cut for {batch.ranks} ranks in {batch.order} order, "
                f"but the model is shared by {own[0]} in {own[1]} order; take batches "
                "from what shared the model"
            )
        self._rows_seen = zlib.crc32(str(batch.digest).encode(), self._rows_seen)
        if not self._has_noted and self.world.size > 1:
            seen = self._rows_seen
            meet(self.group, self.world.deadline, "compare their first rows")
            self.agree_on_rows()
            self._rows_seen, self._has_noted = seen, True

    def expect_same_parameters(self, model: torch.nn.Module) -> None:
        """ValueError, on all ranks, where those are not alike on them, by sums of their
        bits; once they were, they are not looked at again."""
        import torch.distributed as dist

        if self._has_same_parameters or self.world.size == 1:
            return
        meet(self.group, self.world.deadline, "compare their parameters")
        # Of one that FSDP has cut ranks have parts.
        whole = {
            name: parameter
            for name, parameter in model.named_parameters()
            if not hasattr(parameter, "device_mesh") and not parameter.is_meta
        }
        there = self.world.device.of_torch
        sums = [each.to(there) for each in map(_sum_of_bits, whole.values())]
        if sums:
            mine = torch.stack(sums)
            most = torch.cat([mine, -mine])
            dist.all_reduce(most, op=dist.ReduceOp.MAX, group=self.group)
            greatest, least = most.chunk(2)
            unlike = (greatest != -least).nonzero().flatten().tolist()
            if unlike:
                raise ValueError(
                    f"ranks have other parameters than each other, as "
                    f"'{[*whole][unlike[0]]}'; draw them with one seed, load them from "
                    "one file, or let rank 0 broadcast its own"
                )
        self._has_same_parameters = True

    def agree_on_rows(self, flags: Sequence[bool] = ()) -> list[bool]:
        """ValueError, on all ranks, where batches that models have been called with had
        other rows on some. Returns which of the flags any rank has."""
        import torch.distributed as dist

        seen, self._rows_seen = self._rows_seen, 0
        most = torch.tensor(
            [*flags, seen, -seen],
            dtype=torch.int64,
            device=self.world.device.of_torch,
        )
        dist.all_reduce(most, op=dist.ReduceOp.MAX, group=self.group)
        *found, greatest, least = most.tolist()
        if greatest != -least:
            raise ValueError(
                "ranks gave batch() other rows than each other, of each of which they "
                "share the tokens; read the same data on all of them, without a "
                "DistributedSampler over these ranks"
            )
        return [bool(each) for each in found]

    def gather(self, part: Tensor, batch: Batch, dim: int = 1) -> Tensor:
        """What a model gave of a batch (`logits`), whole, on all ranks; without
        gradients."""
        import torch.distributed as dist

        parts = [torch.empty_like(part) for _ in range(self.world.size)]
        if self.world.size == 1:
            parts = [part]
        else:
            dist.all_gather(parts, part.detach().contiguous(), group=self.group)
        return batch.gather(parts, dim)

    def sum_loss(self, loss: Tensor) -> float:
        """The batch's loss of those of all ranks. CprtError for what a kernel has found
        on a device by then."""
        import torch.distributed as dist

        self.world.synchronize()
        total = loss.detach().clone()
        if self.world.size > 1:
            self.agree_on_rows()
            dist.all_reduce(total, group=self.group)
        return float(total)

    def places_of(self, tokens: Tensor) -> Tensor:
        """Of this rank's tokens in the whole row."""
        local = tokens.shape[1]
        whole = torch.arange(local * self.world.size).expand(1, -1)
        rows = Batch(
            {"position_ids": whole, "input_ids": whole},
            self.world.size,
            self.sharding.rows,
            inner=self.sharding.inner or 1,
        )
        places = rows.part("position_ids", self.rank).to(tokens.device)
        return places.expand(tokens.shape[0], -1)


def _sum_of_bits(parameter: Tensor) -> Tensor:
    """A number, i64, which other draws do not share; of what is only in another order
    it may be the same."""
    integers = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
    flat = parameter.detach().reshape(-1)
    if flat.is_complex():
        flat = torch.view_as_real(flat).reshape(-1)
    bits = flat.view(integers[flat.element_size()])
    # Overflows wrap.
    return bits.sum(dtype=torch.int64) + 3 * bits[::3].sum(dtype=torch.int64)
