"""Whether a run trains from a training copy: decided once, kept, and told."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from msgspec.structs import replace

from filmgate.app.prepare import Wish, copy_with_progress, measure_catalog
from filmgate.app.run_summary import RunCopies
from filmgate.app.terminal import Talk
from filmgate.catalog import Catalog, open_catalog
from filmgate.catalog.tiers import is_staged
from filmgate.errors import UserError
from filmgate.prepare.candidates import candidates, named_recipe
from filmgate.prepare.layouts import LAYOUTS_FILE, Layouts
from filmgate.prepare.measure import SampleSize, clip_cpu_seconds
from filmgate.prepare.recipe import Recipe
from filmgate.prepare.stretches import clip_span_frames
from filmgate.records import Header, read_record, write_record
from filmgate.spec import Job
from filmgate.units import format_seconds

PREPARE_FILE = "prepare.json"
COPIES = "copies"
"""Folder in the run folder: the catalog of the copies, and the copies unless they are shared."""
MEASURE_SHARE = 0.05
"""Of the CPU time that reading the run's clips takes: the most that measuring may take."""
PAYS_TIMES = 1.5
"""How often the run's clips have to pay for a copy: a short sample errs."""
ENCODE_OVER_DECODE = 4.0
"""CPU time to decode and encode a frame over that of decoding it, for the forecast; our choice."""
QUICK = SampleSize(
    num_videos=6, seconds=2.0, rounds=1, clips_per_round=2, round_seconds=0.2, yuv=False
)
MAX_SAMPLE_SECONDS = 10.0


class _DoesNotPay(Exception):
    """Says why no copy is made."""


def training_catalog(
    job: Job, catalog: Catalog, folder: Path, talk: Talk
) -> tuple[Catalog, RunCopies]:
    """The catalog that the run trains on, and what was decided; kept as ``prepare.json``.

    A run that goes on keeps its decision and finishes its copies. Raises UserError when a copy is
    wanted in any case and cannot be made.
    """
    file = folder / PREPARE_FILE
    if file.exists():
        decision = read_record(file, RunCopies)
    else:
        decision = _decide(job, catalog, folder, talk)
        write_record(file, decision)
    talk.note(f"training copy: {'yes' if decision.recipe else 'no'}: {decision.why}")
    if decision.recipe is None:
        return catalog, decision
    out = folder / COPIES
    shared = out if job.prepare.folder is None else Path(job.prepare.folder)
    copy_with_progress(
        catalog, shared, decision.recipe, talk, keep_uncopied=True, catalog_folder=out,
    )  # fmt: skip
    return open_catalog(out), decision


def _decide(job: Job, catalog: Catalog, folder: Path, talk: Talk) -> RunCopies:
    began = time.monotonic()
    recipe, layouts = None, None
    try:
        recipe, why, layouts = _choose(job, catalog, folder, talk)
    except _DoesNotPay as reason:
        why = str(reason)
    return RunCopies(
        header=Header(
            schema="filmgate.run-copies", schema_version=1, inputs={"catalog": catalog.digest}
        ),
        recipe=recipe,
        why=why,
        num_clips=num_clips(job, catalog),
        layouts=None if layouts is None else f"{COPIES}/{LAYOUTS_FILE}",
        seconds=time.monotonic() - began,
    )


def _choose(
    job: Job, catalog: Catalog, folder: Path, talk: Talk
) -> tuple[Recipe | None, str, Layouts | None]:
    mode = job.prepare.mode
    if mode == "never":
        raise _DoesNotPay("the job says never")
    if catalog.header.copy is not None:
        raise _DoesNotPay("the videos are training copies already")
    if mode != "always" and is_staged(catalog.path):
        raise _DoesNotPay("the videos are staged; make a copy first, and stage that")
    named = named_recipe(job.clip, job.prepare)
    if mode == "always" and named is not None:
        return named, f"the job says always, and names {named.layout.label}", None
    recipes = candidates(job.clip, job.prepare, quick=True) if named is None else [named]
    if mode == "always":
        wish = Wish(sample=QUICK)
        layouts = measure_catalog(catalog, folder / COPIES, job, wish, talk, recipes=recipes)
        if layouts.recipe is None:
            raise UserError(
                f"the job says always, and {layouts.choice.why}",
                hint="allow more in [prepare], or name a layout there",
            )
        return layouts.recipe, f"the job says always; {layouts.choice.why}", layouts
    sample = _affordable(job, catalog, len(recipes))
    wish = Wish(clips=visits(job, catalog), sample=sample)
    try:
        layouts = measure_catalog(catalog, folder / COPIES, job, wish, talk, recipes=recipes)
    except UserError as error:
        raise _DoesNotPay(f"nothing could be measured: {error.message}") from None
    return _worth_it(layouts, wish.clips or 0), layouts.choice.why, layouts


def _worth_it(layouts: Layouts, clips: int) -> Recipe:
    chosen = layouts.choice.chosen
    if layouts.recipe is None or chosen is None:
        raise _DoesNotPay(layouts.choice.why)
    needed = math.ceil(PAYS_TIMES * (chosen.pays_from_clips or math.inf))
    if clips < needed:
        raise _DoesNotPay(
            f"{clips} clips hardly pay for a copy: {chosen.trial.label} would take about as much "
            f"CPU time as the videos as they are, up to {needed} clips"
        )
    return layouts.recipe


def num_clips(job: Job, catalog: Catalog) -> int:
    """Clips that the run reads: training and, at the end, scoring."""
    held_out = job.data.eval_clips_per_video * catalog.num_videos if job.data.holdout else 0
    return job.train.steps * job.train.batch_size + held_out


def visits(job: Job, catalog: Catalog) -> int:
    """The same, those of several epochs that are made in one visit to a video counted once."""
    return math.ceil(num_clips(job, catalog) / job.data.lookahead)


@dataclass(frozen=True, kw_only=True)
class _Bound:
    """What is known of the decoding before anything is decoded."""

    num_frames: int
    """Of the whole set: a copy decodes each once."""
    frames_per_clip: float
    """Decoded for a clip, at most."""


def _bound(job: Job, catalog: Catalog) -> _Bound:
    between = catalog.column("max_frames_between_entry_points").to_numpy()
    span = clip_span_frames(job.clip, catalog)
    if job.clip.sampling == "uniform":
        span = int(catalog.num_frames.mean())
    return _Bound(
        num_frames=int(catalog.num_frames.sum()),
        frames_per_clip=float(np.minimum(between + span, catalog.num_frames).mean()),
    )


def _affordable(job: Job, catalog: Catalog, num_recipes: int) -> SampleSize:
    """The largest sample within ``MEASURE_SHARE``. Raises _DoesNotPay when there is none."""
    bound, clips = _bound(job, catalog), visits(job, catalog)
    decoded = clips * bound.frames_per_clip
    if decoded < bound.num_frames:
        raise _DoesNotPay(
            f"the run visits videos {clips} times and decodes at most {decoded:.0f} frames; "
            f"a copy decodes all {bound.num_frames} once"
        )
    try:
        seconds_per_clip = clip_cpu_seconds(catalog, job.clip)
    except UserError as error:
        raise _DoesNotPay(f"nothing could be measured: {error.message}") from None
    reading = clips * seconds_per_clip
    per_frame = seconds_per_clip / bound.frames_per_clip
    fps = bound.num_frames / max(1.0, float(catalog.column("duration_seconds").to_numpy().sum()))
    frames = max(QUICK.seconds * fps, 2 * clip_span_frames(job.clip, catalog))
    per_video = num_recipes * (frames * per_frame * ENCODE_OVER_DECODE + seconds_per_clip)
    fitting = (MEASURE_SHARE * reading - _reading_cost(seconds_per_clip, num_recipes)) / per_video
    if fitting < 1:
        raise _DoesNotPay(
            f"reading the run's {clips} clips takes about {format_seconds(reading)} of CPU time, "
            f"too little to measure a copy for"
        )
    seconds = QUICK.seconds * max(1.0, fitting / QUICK.num_videos)
    return replace(
        QUICK,
        num_videos=min(QUICK.num_videos, int(fitting)),
        seconds=min(MAX_SAMPLE_SECONDS, seconds),
    )


def _reading_cost(seconds_per_clip: float, num_recipes: int) -> float:
    """CPU time of all rounds of the source and of each copy."""
    least = QUICK.round_seconds
    source = max(least, QUICK.clips_per_round * seconds_per_clip)
    return (QUICK.rounds + 1) * (source + num_recipes * least)
