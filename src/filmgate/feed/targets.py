"""What a clip is to be recognised as: the catalog's label, or the video it comes from."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from filmgate.catalog import Catalog
from filmgate.errors import UserError
from filmgate.feed.messages import ClipDone


@dataclass(frozen=True, kw_only=True)
class Targets:
    """The classes of a job over a catalog."""

    kind: Literal["label", "source"]
    """``label``: classes are the distinct labels, sorted; ``source``: the videos, in row order."""
    class_names: list[str]
    """Name of each class."""

    @cached_property
    def _class_of_label(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self.class_names)}

    def class_of(self, done: ClipDone) -> int:
        """Class number of a clip."""
        if self.kind == "source":
            return done.sample.video
        assert done.label is not None
        return self._class_of_label[done.label]


def choose_targets(wanted: Literal["auto", "label", "source"], catalog: Catalog) -> Targets:
    """What the job wants; ``auto`` takes labels where every video has one of at least two.

    Raises UserError when labels are to be learnt and some video has none.
    """
    labels = catalog.column("label")
    names = sorted(label for label in labels.unique().to_pylist() if label is not None)
    are_labelled = labels.null_count == 0 and len(names) >= 2
    if wanted == "source" or (wanted == "auto" and not are_labelled):
        return Targets(kind="source", class_names=catalog.column("video_id").to_pylist())
    if labels.null_count:
        raise UserError(
            f"{labels.null_count} of {catalog.num_videos} videos have no label, the others have "
            f"{len(names)}",
            hint='label all of them and index again, or set target = "source" in [data]',
        )
    return Targets(kind="label", class_names=names)
