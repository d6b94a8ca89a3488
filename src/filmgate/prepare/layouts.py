"""The table of layouts: what was tried on a user's own videos, what was chosen, and why."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from filmgate.catalog import Catalog
from filmgate.errors import UserError
from filmgate.prepare.choose import Choice, Needs, choose
from filmgate.prepare.measure import OnProgress, SampleSize, measure_layouts
from filmgate.prepare.recipe import RECIPE_VERSION, Recipe
from filmgate.records import Header, Record, digest_bytes, read_record
from filmgate.spec import Clip

LAYOUTS_FILE = "layouts.json"


class Layouts(Record, frozen=True, kw_only=True):
    """What trying layouts came to, as ``layouts.json``."""

    header: Header
    """Its input is the catalog of the sources."""
    question: str
    """Digest of what was asked: the same question has the same answer until it is measured anew."""
    clip: Clip
    """The clips that were read."""
    needs: Needs
    """What the copy has to be good for."""
    sample: SampleSize
    """What was tried."""
    num_videos: int
    """In the whole set."""
    video_seconds: float
    """Of the whole set."""
    source_bytes: int
    """Of the whole set."""
    machine: str
    """Where it was measured."""
    seconds: float
    """How long that took."""
    choice: Choice
    """Which layout, why, and all that were tried."""
    remarks: list[str] = []
    """What was asked for that does not hold for every layout, and layouts that it ruled out."""

    @property
    def recipe(self) -> Recipe | None:
        """Of the chosen copy; None when it is the source, or nothing."""
        chosen = self.choice.chosen
        return None if chosen is None else chosen.trial.recipe


def find_layouts(
    catalog: Catalog,
    clip: Clip,
    recipes: Sequence[Recipe],
    needs: Needs,
    *,
    machine: str,
    sample: SampleSize | None = None,
    workers: int | None = None,
    scratch: Path | None = None,
    remarks: Sequence[str] = (),
    on_progress: OnProgress | None = None,
    on_reading: Callable[[], OnProgress] | None = None,
) -> Layouts:
    """Try the recipes on a sample of the catalog's videos, and choose by the needs.

    ``remarks`` (``candidates.remarks_on``) are kept with the answer.

    Raises UserError without a recipe, or when no video is long enough for a clip.
    """
    if not recipes:
        raise UserError(
            "no layout fits what was asked for, or no encoder for it works here",
            hint="ask for less: leave --layout, --codec or --quality away",
        )
    sample = sample if sample is not None else SampleSize()
    began = time.monotonic()
    trials = measure_layouts(
        catalog, clip, recipes, sample=sample, workers=workers, scratch=scratch,
        on_progress=on_progress, on_reading=on_reading,
    )  # fmt: skip
    video_seconds = float(sum(catalog.column("duration_seconds").to_pylist()))
    source_bytes = sum(one["size_bytes"] for one in catalog.column("stamp").to_pylist())
    return Layouts(
        header=Header(
            schema="filmgate.layouts", schema_version=1, inputs={"catalog": catalog.digest}
        ),
        question=question(catalog, clip, recipes, needs),
        clip=clip,
        needs=needs,
        sample=sample,
        num_videos=catalog.num_videos,
        video_seconds=video_seconds,
        source_bytes=source_bytes,
        machine=machine,
        seconds=time.monotonic() - began,
        remarks=list(remarks),
        choice=choose(trials, needs, video_seconds=video_seconds, source_bytes=source_bytes),
    )


def question(catalog: Catalog, clip: Clip, recipes: Sequence[Recipe], needs: Needs) -> str:
    """Digest of what is asked: whose videos, which clips, which candidates, which limits.

    Free space and the videos themselves are left out, so that a set that grows keeps its layout.
    """
    lasting = msgspec.structs.replace(needs, bytes_free=None)
    asked = [RECIPE_VERSION, catalog.header.roots, clip, list(recipes), lasting]
    return digest_bytes(msgspec.json.encode(asked))


def earlier_layouts(folder: Path, asked: str) -> Layouts | None:
    """The answer that ``folder`` already holds to the question; None when it holds none."""
    path = folder / LAYOUTS_FILE
    if not path.exists():
        return None
    found = read_record(path, Layouts)
    return found if found.question == asked else None
