"""``filmgate prepare``: a training copy of a catalog's videos, in a layout that was measured."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import msgspec

from filmgate.app.layouts_page import LAYOUTS_PAGE, write_layouts_page
from filmgate.app.machine_line import machine_line
from filmgate.app.terminal import Talk
from filmgate.catalog import Catalog, open_catalog
from filmgate.errors import UserError
from filmgate.prepare.candidates import candidates, named_recipe, remarks_on
from filmgate.prepare.choose import Needs
from filmgate.prepare.copies import Prepared, prepare_copies
from filmgate.prepare.layouts import (
    LAYOUTS_FILE,
    Layouts,
    earlier_layouts,
    find_layouts,
    question,
)
from filmgate.prepare.measure import SampleSize
from filmgate.prepare.prune import prune_copies
from filmgate.prepare.recipe import Recipe, check_recipe
from filmgate.records import digest_file, write_record
from filmgate.spec import Job, load_job
from filmgate.spec.job import Prepare
from filmgate.spec.mismatch import mismatch_words
from filmgate.units import counted, format_bytes, format_seconds
from filmgate.work import Limits, LocalExecutor, Progress
from filmgate.work.cores import num_usable_cores
from filmgate.work.executor import Executor
from filmgate.work.on_ray import RayExecutor

SCRATCH = ".measure"
"""Folder in the output folder for what is tried."""
MAX_DEMAND = 1e9
"""Clips per second; beyond it the demand is a slip."""
MAX_LEFT_OUT_LINES = 20
"""The rest is counted here, and listed in the record."""


@dataclass(frozen=True, kw_only=True)
class Wish:
    """What was asked for besides the layout."""

    clips: int | None = None
    """Clips that will be read from the copy over its life."""
    demand: float | None = None
    """Clips per second that the trainer takes."""
    cores: int | None = None
    """Cores that may decode; None: all of this machine."""
    workers: int | None = None
    """Processes; None: one per core."""
    ray: bool = False
    """Whether Ray makes the copies, on all nodes of its cluster."""
    prune: bool = False
    """Whether copies that no source needs are removed."""
    sample: SampleSize | None = None
    """How much is tried; None: as usual."""


def prepare_catalog(
    catalog_folder: Path, out: Path, job: Job, wish: Wish, talk: Talk
) -> tuple[Prepared, Layouts | None]:
    """Make the copy that ``job.prepare`` names, or that a measurement chooses, in ``out``.

    A measurement that ``out`` holds already is used again. Raises UserError when no copy pays or
    keeps the limits, and as ``prepare_copies``.
    """
    catalog = open_catalog(catalog_folder)
    refuse_copies(catalog, out)
    recipe = named_recipe(job.clip, job.prepare)
    layouts = None
    if recipe is None:
        layouts = _known_layouts(catalog, out, job, wish, talk) or measure_catalog(
            catalog, out, job, wish, talk
        )
        recipe = layouts.recipe
        talk.note(f"layout: {layouts.choice.label or 'none'}: {layouts.choice.why}")
        if recipe is None:
            _refuse(layouts, out)
    prepared = copy_with_progress(
        catalog, out, recipe, talk, executor=_executor(wish),
        chosen_by=None if layouts is None else (LAYOUTS_FILE, digest_file(out / LAYOUTS_FILE)),
    )  # fmt: skip
    if wish.prune:
        pruned = prune_copies(out)
        talk.note(f"pruned: {counted(pruned.num_files, 'copy')}, {format_bytes(pruned.bytes)}")
    return prepared, layouts


def measure_catalog(
    catalog: Catalog,
    out: Path,
    job: Job,
    wish: Wish,
    talk: Talk,
    *,
    recipes: list[Recipe] | None = None,
) -> Layouts:
    """Try recipes, all that suit the job when none is given, and write ``layouts.json`` and
    ``layouts.html`` into ``out``."""
    out.mkdir(parents=True, exist_ok=True)
    recipes = _candidates(job) if recipes is None else recipes
    needs = needs_of(out, job, wish)
    remarks = remarks_on(job.prepare, recipes)
    for remark in remarks:
        talk.note(f"layouts: {remark}")
    with talk.job("measure", "encodes") as progress:
        layouts = find_layouts(
            catalog, job.clip, recipes, needs, machine=machine_line(), sample=wish.sample,
            workers=wish.workers, scratch=out / SCRATCH, remarks=remarks, on_progress=progress,
            on_reading=lambda: progress.next_part("measure", "readings"),
        )  # fmt: skip
    write_layouts_page(out / LAYOUTS_PAGE, layouts)
    write_record(out / LAYOUTS_FILE, layouts)
    return layouts


def copy_with_progress(
    catalog: Catalog,
    out: Path,
    recipe: Recipe,
    talk: Talk,
    *,
    executor: Executor | None = None,
    chosen_by: tuple[str, str] | None = None,
    keep_uncopied: bool = False,
    catalog_folder: Path | None = None,
) -> Prepared:
    """``prepare_copies``, told on stderr as it goes; raises what that raises."""
    with talk.job("prepare", "videos") as progress:
        prepared = prepare_copies(
            catalog, out, recipe, executor=executor, limits=Limits(), chosen_by=chosen_by,
            keep_uncopied=keep_uncopied, catalog_folder=catalog_folder, on_progress=_told(progress),
        )  # fmt: skip
    talk.note(
        f"prepare: {copies_words(prepared)}, "
        f"{format_bytes(prepared.bytes)} for {format_bytes(prepared.source_bytes)}; "
        f"{counted(len(prepared.left_out), 'video')} without one"
    )
    for one in prepared.left_out[:MAX_LEFT_OUT_LINES]:
        talk.note(f"  without a copy: {one.path}: {one.reason}")
    if len(prepared.left_out) > MAX_LEFT_OUT_LINES:
        talk.note(f"  and {len(prepared.left_out) - MAX_LEFT_OUT_LINES} more: {out}")
    return prepared


def copies_words(prepared: Prepared) -> str:
    """How many copies, for how many videos: those of the same bytes share one."""
    copies = counted(prepared.num_files, "copy")
    shared = prepared.num_videos - prepared.num_files
    for_videos = f" for {counted(prepared.num_videos, 'video')}" if shared else ""
    same = f"; {shared} of the same bytes as another" if shared else ""
    return f"{copies}{for_videos} ({prepared.num_made} made now{same})"


def job_of(job_file: Path | None, told: dict[str, object]) -> Job:
    """The job, its [prepare] table overruled by what was told. Raises UserError for bad values."""
    job = load_job(job_file) if job_file else Job()
    own = msgspec.to_builtins(job.prepare)
    given = {key: value for key, value in told.items() if value is not None}
    if "size" in given and "short_side" in given:
        raise UserError("both a size and a short side are given", hint="give one of them")
    if "size" in given or "short_side" in given:
        own |= {"size": None, "short_side": None}
    try:
        prepare = msgspec.convert(own | given, Prepare)
    except msgspec.ValidationError as error:
        raise UserError(
            mismatch_words(error, own | given), hint="filmgate prepare --help lists what is allowed"
        ) from None
    return msgspec.structs.replace(job, prepare=prepare)


def needs_of(out: Path, job: Job, wish: Wish) -> Needs:
    """What the copy has to be good for, on the disk that ``out`` is on.

    Raises UserError for a demand that no machine meets.
    """
    if wish.demand is not None and not 0 < wish.demand <= MAX_DEMAND:
        raise UserError(
            f"a demand of {wish.demand} clips per second",
            hint=f"give --demand a number above 0, up to {MAX_DEMAND:.0f}",
        )
    return Needs(
        clips=wish.clips,
        clips_per_second=wish.demand,
        cores=num_usable_cores() if wish.cores is None else wish.cores,
        lowest_psnr_db=job.prepare.lowest_psnr_db,
        largest_size_share=job.prepare.largest_size_share,
        bytes_free=shutil.disk_usage(out).free,
    )


def refuse_copies(catalog: Catalog, out: Path) -> None:
    """Raises UserError when the catalog is of copies: a copy of a copy loses twice."""
    if catalog.header.copy is not None:
        raise UserError(
            f"{catalog.path} is a catalog of training copies",
            hint="name the catalog of their sources",
        )
    if out.exists() and not out.is_dir():
        raise UserError(f"{out} is a file", hint="--out names a folder")


def _candidates(job: Job) -> list[Recipe]:
    recipes = candidates(job.clip, job.prepare)
    for recipe in recipes:
        check_recipe(recipe)
    return recipes


def _known_layouts(catalog: Catalog, out: Path, job: Job, wish: Wish, talk: Talk) -> Layouts | None:
    if not out.exists():
        return None
    asked = question(catalog, job.clip, _candidates(job), needs_of(out, job, wish))
    layouts = earlier_layouts(out, asked)
    if layouts is not None:
        talk.note(f"layout as measured before ({out / LAYOUTS_FILE}); --measure measures anew")
    return layouts


def _refuse(layouts: Layouts, out: Path) -> NoReturn:
    if layouts.choice.label is None:
        hint = "allow more with --largest-size, --lowest-psnr or --cores, or name a --layout"
    else:
        hint = "train on the videos as they are, or name a --layout"
    raise UserError(
        f"no copy was made: {layouts.choice.why}", hint=f"{hint}; see {out / LAYOUTS_PAGE}"
    )


def _executor(wish: Wish) -> Executor:
    return RayExecutor() if wish.ray else LocalExecutor(workers=wish.workers)


def _told(progress: Callable[[int, int, str], None]) -> Callable[[Progress], None]:
    def tell(at: Progress) -> None:
        """One line for the bar."""
        left = "" if at.left_seconds is None else f", about {format_seconds(at.left_seconds)} left"
        done = f"{format_bytes(at.bytes_done)} of {format_bytes(at.bytes_total)}"
        progress(at.done, at.total, done + left)

    return tell
