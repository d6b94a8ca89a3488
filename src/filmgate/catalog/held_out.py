"""Which rows are evaluated as a whole: by their split, or, of images by themselves, by chance.

The end of a video says nothing about an image, which has one frame. V rows of a catalog.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from blake3 import blake3
from numpy.typing import NDArray

HeldOutBy = Literal["time", "sample", "split"]
"""``time``: the end of each video; ``sample``: some rows by chance; ``split``: as rows say."""
TRAIN = "train"
EVALUATED = ("val", "test")
"""The first of these that any row has is evaluated; the others are left alone."""


@dataclass(frozen=True, kw_only=True, eq=False)
class RowDivision:
    """Rows that are trained on and rows that are evaluated; none is both."""

    by: Literal["sample", "split"]
    """What decides."""
    evaluated: str | None
    """The split that is evaluated; None by sample."""
    is_trained_V: NDArray[np.bool_]
    """Rows that are trained on."""
    is_held_out_V: NDArray[np.bool_]
    """Rows that are evaluated."""

    @cached_property
    def trained_rows(self) -> NDArray[np.int64]:
        """Ascending."""
        return np.flatnonzero(self.is_trained_V)

    @cached_property
    def held_out_rows(self) -> NDArray[np.int64]:
        """Ascending."""
        return np.flatnonzero(self.is_held_out_V)

    @property
    def num_left_alone(self) -> int:
        """Rows that are neither, for example of the split ``test`` beside ``val``."""
        return len(self.is_trained_V) - len(self.trained_rows) - len(self.held_out_rows)


def divide_by_split(splits: Sequence[str | None]) -> RowDivision | None:
    """Train on ``train``, evaluate ``val``, or ``test`` where nothing is ``val``.

    Where no row is ``train``, rows without a split are. None when either side has no row: then
    splits say nothing.
    """
    names = np.array([split or "" for split in splits])
    evaluated = next((name for name in EVALUATED if (names == name).any()), None)
    is_trained_V = names == (TRAIN if (names == TRAIN).any() else "")
    if evaluated is None or not is_trained_V.any():
        return None
    return RowDivision(
        by="split",
        evaluated=evaluated,
        is_trained_V=is_trained_V,
        is_held_out_V=names == evaluated,
    )


def divide_by_sample(
    digests: Sequence[str], labels: Sequence[str | None], share: float
) -> RowDivision:
    """Hold out ``share`` of the contents, and about as much of each label.

    Content alone decides, so that a row more, another order of rows or another seed changes little
    or nothing, and doubles lie on one side. A label gives its share rounded up or down, and keeps
    one content at least for training. Unlabelled rows are a label of their own.
    """
    contents = _contents_by_label(digests, labels)
    numbers = _num_held_out({label: len(found) for label, found in contents.items()}, share)
    held_out = {
        digest
        for label, found in contents.items()
        for digest in sorted(found, key=_chance)[: numbers[label]]
    }
    is_held_out_V = np.array([digest in held_out for digest in digests], np.bool_)
    return RowDivision(
        by="sample",
        evaluated=None,
        is_trained_V=~is_held_out_V,
        is_held_out_V=is_held_out_V,
    )


def _contents_by_label(
    digests: Sequence[str], labels: Sequence[str | None]
) -> dict[str, list[str]]:
    """Label -> contents; one that has several labels counts with the first of them by name."""
    label_of: dict[str, str] = {}
    for digest, label in zip(digests, labels, strict=True):
        label_of[digest] = min(label_of.get(digest, label or ""), label or "")
    contents: dict[str, list[str]] = defaultdict(list)
    for digest, label in label_of.items():
        contents[label].append(digest)
    return contents


def _num_held_out(sizes: Mapping[str, int], share: float) -> dict[str, int]:
    """Label -> contents to hold out: quotas by largest remainder, as seats are given to parties.

    Source: Hamilton's method; Balinski and Young, "Fair Representation" (1982).
    """
    # Shares such as 0.1 are no exact numbers: 10 * 0.1 * 3 is to be 3.
    quotas = {label: round(size * share, 9) for label, size in sizes.items()}
    numbers = {label: math.floor(quota) for label, quota in quotas.items()}
    left = math.floor(sum(sizes.values()) * share + 0.5) - sum(numbers.values())
    by_remainder = sorted(quotas, key=lambda label: (numbers[label] - quotas[label], label))
    for label in by_remainder:
        if left > 0 and quotas[label] > numbers[label] and numbers[label] + 1 < sizes[label]:
            numbers[label] += 1
            left -= 1
    return numbers


def _chance(digest: str) -> bytes:
    """An order of contents that says nothing about them."""
    return blake3(f"filmgate held out {digest}".encode()).digest()
