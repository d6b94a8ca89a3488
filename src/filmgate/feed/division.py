"""Which global samples one rank's line of clips holds: arithmetic, shared by all ranks.

Batch b of the run covers samples [first + b * B, first + (b + 1) * B), and rank r takes the r-th
of ``world_size`` equal parts of it. All ranks have the same number of batches; the last batch of a
finite list is filled up with padding.
"""

from __future__ import annotations

from dataclasses import dataclass

from filmgate.errors import UserError


@dataclass(frozen=True, kw_only=True)
class Division:
    """The samples of one rank, from one start on."""

    first: int
    """Global number of the first sample of the first batch."""
    num_samples: int | None
    """Length of the whole list; None when it never ends."""
    batch_size: int
    """Samples of a batch over all ranks (B)."""
    rank: int
    world_size: int
    batch_step: int = 1
    """1 for every batch; N for every N-th, where N feeds share the batches of a rank."""

    @property
    def samples_per_step(self) -> int:
        """From the first sample of a batch to that of this line's next."""
        return self.batch_size * self.batch_step

    @property
    def rank_batch_size(self) -> int:
        """Samples of a batch on this rank."""
        return self.batch_size // self.world_size

    def number(self, position: int) -> int:
        """Global number of the sample at a place of this rank's line."""
        batch, place = divmod(position, self.rank_batch_size)
        return self.first + batch * self.samples_per_step + self.rank * self.rank_batch_size + place

    def position_of(self, number: int) -> int | None:
        """The place of a sample in this rank's line; None when it lies in none of its batches."""
        batch, place = divmod(number - self.first, self.samples_per_step)
        rank, place = divmod(place, self.rank_batch_size)  # past all ranks between two steps
        return batch * self.rank_batch_size + place if batch >= 0 and rank == self.rank else None

    def is_past_end(self, position: int) -> bool:
        """Whether the place belongs to no batch any more; the same on all ranks."""
        if self.num_samples is None:
            return False
        batch = position // self.rank_batch_size
        return self.first + batch * self.samples_per_step >= self.num_samples

    def is_padding(self, number: int) -> bool:
        """Whether the place only fills the last batch up."""
        return self.num_samples is not None and number >= self.num_samples


def check_pairs(division: Division) -> None:
    """Raise UserError unless samples 2k and 2k + 1 always lie in the same batch of one rank."""
    if division.rank_batch_size % 2:
        raise UserError(
            f"mixup and CutMix take clips in pairs, but each rank's batch is "
            f"{division.rank_batch_size}: batch_size {division.batch_size} on "
            f"{division.world_size} ranks",
            hint=f"make batch_size in [train] a multiple of {2 * division.world_size}",
        )
    if division.first % 2:
        raise UserError(
            f"mixup and CutMix take clips in pairs, but start_sample is {division.first}",
            hint="start at an even sample",
        )


def check_ranks(batch_size: int, rank: int, world_size: int) -> None:
    """Raise UserError unless the ranks divide the batch evenly."""
    if not 0 <= rank < world_size:
        raise UserError(f"rank {rank} of {world_size} ranks", hint="ranks count from 0")
    if batch_size % world_size:
        raise UserError(
            f"batch_size {batch_size} does not divide by {world_size} ranks",
            hint=f"make batch_size in [train] a multiple of {world_size}",
        )
