"""What a clip is to be recognised as: the catalog's label, or the video it comes from."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from filmgate.catalog import Catalog
from filmgate.errors import UserError
from filmgate.feed.messages import ClipDone
from filmgate.pack.frames import pack_beside

NO_LABEL = -100
"""Label of a clip without a class: what ``torch.nn.functional.cross_entropy`` leaves out."""


@dataclass(frozen=True, kw_only=True)
class Targets:
    """The classes of a job over a catalog."""

    kind: Literal["label", "source", "annotations"]
    """``label``: classes are the distinct labels, sorted; ``source``: the videos, in row order;
    ``annotations``: what is drawn in a pack's images, and clips themselves have no class."""
    class_names: list[str]
    """Name of each class."""

    @cached_property
    def _class_of_label(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self.class_names)}

    def class_of(self, done: ClipDone) -> int:
        """Class number of a clip, -100 where classes are those of annotations."""
        if self.kind == "annotations":
            return NO_LABEL
        if self.kind == "source":
            return done.sample.video
        assert done.label is not None
        return self._class_of_label[done.label]


def choose_targets(
    wanted: Literal["auto", "label", "source", "annotations"], catalog: Catalog
) -> Targets:
    """What the job wants; ``auto`` takes labels where every video has one of at least two.

    Raises UserError when labels are to be learnt and some video has none, or annotations are and
    there are none.
    """
    if wanted == "annotations":
        return Targets(kind="annotations", class_names=_annotated_classes(catalog))
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


def _annotated_classes(catalog: Catalog) -> list[str]:
    pack = pack_beside(catalog)
    if pack is None:
        raise UserError(
            f"{catalog.path} is no pack, so it has no annotations to learn",
            hint="filmgate pack FOLDER --out DIR --annotations coco:FILE",
        )
    with pack:
        if pack.header.annotations is None:
            raise UserError(
                f"the images of {catalog.path} have no annotations",
                hint="filmgate pack FOLDER --out DIR --annotations coco:FILE",
            )
        return list(pack.classes)
