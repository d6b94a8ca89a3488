"""Training copies of a whole catalog: each video once, checked, and a catalog of the copies.

The folder holds ``copies/`` (named by what is in them: the source's content and the recipe), the
catalog's own files, and the list of work done. Preparing again makes only what is missing, so it
goes on after a kill, and follows sources that were added, changed or taken away.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import av
import pyarrow.parquet as pq

from filmgate.catalog import Catalog, LeftOut, VideoRow, open_catalog
from filmgate.catalog.find import refuse_root
from filmgate.catalog.read_file import stamp_of
from filmgate.catalog.rows import CopyFacts, FileStamp
from filmgate.catalog.store import frame_table_from_row, write_frame_tables
from filmgate.catalog.write import write_catalog
from filmgate.errors import UnreadableVideo, UserError
from filmgate.prepare.check import Likeness, WrongCopy, check_copy, mean_likeness
from filmgate.prepare.encode import write_copy
from filmgate.prepare.encoders import ENCODERS, Encoder, encoders_of, why_unusable
from filmgate.prepare.pictures import UnusablePicture, why_left_out
from filmgate.prepare.recipe import RECIPE_VERSION, Recipe, check_recipe
from filmgate.prepare.times import UnusableTimes, copy_times
from filmgate.records import Header, Record, digest_bytes, digest_file, write_file, write_record
from filmgate.video import FrameTable, VideoFacts
from filmgate.work import Limits, Outcome, Place, Task, do_work
from filmgate.work.executor import Executor
from filmgate.work.task import OnProgress

FILES = "copies"
USERS = "users"
"""Folder with a file for each catalog elsewhere that lists copies of this folder."""
PREPARED_FILE = "prepared.json"


class CopyMade(Record, frozen=True, kw_only=True):
    """One copy, as the list of work remembers it."""

    facts: VideoFacts
    """Of the copy."""
    content_digest: str
    """``blake3:`` digest of the copy's bytes."""
    num_frames: int
    """Frames that it shows."""
    duration_seconds: float
    """From the start of its first frame to the end of the last."""
    source_bytes: int
    """Size of the source's file."""
    size_bytes: int
    """Size of the copy's file."""
    likeness: Likeness
    """To the source's pictures at the copy's size, over a dozen of them."""


class Prepared(Record, frozen=True, kw_only=True):
    """What preparing copies came to, as ``prepared.json``."""

    header: Header
    """Its inputs are the source's catalog and the recipe."""
    folder: str
    """Absolute path; a catalog."""
    catalog_digest: str
    """Of the copies."""
    recipe: Recipe
    """What the copies are."""
    encoder: str
    """In FFmpeg's names."""
    num_videos: int
    """Copies in the catalog."""
    num_files: int
    """Different copies: videos of the same bytes share one."""
    num_made: int
    """Of these, made by this start; the others were there."""
    left_out: list[LeftOut]
    """Sources without a copy, each with the reason."""
    source_bytes: int
    """Of the sources that have a copy, those of the same bytes counted once."""
    bytes: int
    """Of the copies, each counted once."""
    likeness: Likeness
    """Mean over the videos."""
    num_as_they_are: int = 0
    """Videos in the catalog that could not be copied and are read as they are, the reason in
    ``left_out``."""
    chosen_by: str | None = None
    """File below the folder with the measurement that chose the layout, its digest among the
    inputs; None: the layout was named."""


@dataclass(frozen=True, kw_only=True)
class CopyJob:
    """What a worker needs for one copy."""

    catalog: Catalog
    row: int
    recipe: Recipe
    encoder_name: str
    output: str
    table_output: str


def prepare_copies(
    catalog: Catalog,
    out: Path | str,
    recipe: Recipe,
    *,
    executor: Executor | None = None,
    limits: Limits | None = None,
    on_progress: OnProgress | None = None,
    keep_uncopied: bool = False,
    chosen_by: tuple[str, str] | None = None,
    catalog_folder: Path | None = None,
) -> Prepared:
    """Make a training copy of every video of a catalog in the folder ``out``, with its catalog.

    A video that the recipe's policies or its own damage rule out is left out and listed, within
    ``limits.error_budget``; with ``keep_uncopied`` its source stands in the catalog of the copies.
    ``chosen_by`` is the file and digest of the measurement that chose the recipe. The catalog and
    its record go to ``catalog_folder`` where that is given, so that catalogs share copies.

    Raises UserError for a recipe that contradicts itself, without a usable encoder, when nothing
    can be copied, or when the folder is full or taken.
    """
    check_recipe(recipe)
    encoder = choose_encoder(recipe)
    out = Path(out).absolute()
    catalog_out = out if catalog_folder is None else catalog_folder.absolute()
    for folder in (out, catalog_out):
        _refuse_sources_folder(catalog, folder)
        folder.mkdir(parents=True, exist_ok=True)
    if catalog_out != out:
        note_user(out, catalog_out)
    rows_of_key = _rows_of_key(catalog, recipe, encoder)
    tasks = [_task(catalog, rows[0], key, recipe, encoder) for key, rows in rows_of_key.items()]
    made: dict[str, CopyMade] = {}
    num_made, faults = 0, dict[str, str]()
    for outcome in do_work(
        make_copy, tasks, out, row=CopyMade, executor=executor, limits=limits,
        on_progress=on_progress,
    ):  # fmt: skip
        num_made += _take(outcome, made, faults)
    sources = [(row, key) for key, rows in rows_of_key.items() for row in rows]
    copies = _Copies(
        catalog=catalog, out=out, recipe=recipe, encoder=encoder, tasks=tasks, made=made,
        keep_uncopied=keep_uncopied, chosen_by=chosen_by, catalog_out=catalog_out,
    )  # fmt: skip
    return copies.publish(sorted(sources), faults, num_made)


def choose_encoder(recipe: Recipe) -> Encoder:
    """The first encoder of the recipe's codec that works here, hardware before software.

    Raises UserError, with what was tried, when none does.
    """
    codec = recipe.layout.codec
    usable = encoders_of(codec)
    if not usable:
        tried = [why_unusable(one.name) or "" for one in ENCODERS if one.codec == codec]
        raise UserError(
            f"no encoder for {codec} works on this machine: {'; '.join(tried)}",
            hint="choose another codec; filmgate prepare --measure shows which work",
        )
    return usable[0]


def _refuse_sources_folder(catalog: Catalog, out: Path) -> None:
    if out == catalog.path.absolute():
        raise UserError(
            f"{out} is the catalog of the sources", hint="give the copies another folder"
        )
    refuse_root(catalog.header.roots, out)


def _rows_of_key(catalog: Catalog, recipe: Recipe, encoder: Encoder) -> dict[str, list[int]]:
    """Task key -> source rows with that content."""
    rows: dict[str, list[int]] = {}
    for row, digest in enumerate(catalog.column("content_digest").to_pylist()):
        text = f"copy\0{RECIPE_VERSION}\0{recipe.digest}\0{encoder.name}\0{digest}"
        rows.setdefault(digest_bytes(text.encode()), []).append(row)
    return rows


def _task(catalog: Catalog, row: int, key: str, recipe: Recipe, encoder: Encoder) -> Task[CopyJob]:
    facts, name = catalog.video(row), key.rpartition(":")[2][:32]
    output = f"{FILES}/{name[:2]}/{name}{encoder.suffix}"
    table_output = str(table_of_copy(Path(output)))
    return Task(
        key=key,
        name=facts.path,
        payload=CopyJob(
            catalog=catalog, row=row, recipe=recipe, encoder_name=encoder.name, output=output,
            table_output=table_output,
        ),
        outputs=(table_output, output),
        size_bytes=facts.stamp.size_bytes,
    )  # fmt: skip


def note_user(folder: Path, catalog_folder: Path) -> None:
    """Have pruning know that a catalog elsewhere lists copies of the folder."""
    place = str(catalog_folder).encode()
    (folder / USERS).mkdir(exist_ok=True)
    write_file(folder / USERS / digest_bytes(place).rpartition(":")[2][:32], place)


def table_of_copy(path: Path) -> Path:
    """Where the frame table of a copy lies: beside it."""
    return path.with_name(f"{path.stem}.frames.parquet")


def _take(
    outcome: Outcome[CopyJob, CopyMade], made: dict[str, CopyMade], faults: dict[str, str]
) -> int:
    """Note an outcome; 1 when it is a copy of this start."""
    if outcome.row is None:
        faults[outcome.task.key] = outcome.fault or ""
        return 0
    made[outcome.task.key] = outcome.row
    return 0 if outcome.reused else 1


def make_copy(job: CopyJob, place: Place) -> CopyMade:
    """One copy; runs in a worker. Raises UnreadableVideo, with the reason, for what has none."""
    facts, out = job.catalog.video(job.row), place.path(job.output)
    stamp = _stamp_of_indexed(facts)
    try:
        copy_facts, table, likeness = _encode(job, facts, out)
    except (UnusableTimes, UnusablePicture, WrongCopy) as error:
        raise UnreadableVideo(facts.path, str(error)) from None
    except av.FFmpegError as error:
        raise UnreadableVideo(facts.path, f"encoding it failed: {error}") from None
    if stamp_of(Path(facts.path)) != stamp:
        raise UnreadableVideo(facts.path, "it changed while it was copied", hint="index it again")
    digest = digest_file(out)
    write_frame_tables(place.path(job.table_output), [(facts.video_id, table)], digest)
    return CopyMade(
        facts=copy_facts,
        content_digest=digest,
        num_frames=table.num_frames,
        duration_seconds=table.duration_seconds,
        source_bytes=facts.stamp.size_bytes,
        size_bytes=out.stat().st_size,
        likeness=likeness,
    )


def _stamp_of_indexed(facts: VideoRow) -> FileStamp:
    """The stamp of a source that still has the content that was indexed."""
    stamp = stamp_of(Path(facts.path))
    if stamp is None:
        raise UnreadableVideo(facts.path, "it is not there any more", hint="index it again")
    if stamp != facts.stamp and digest_file(Path(facts.path)) != facts.content_digest:
        reason = "its content changed since it was indexed"
        raise UnreadableVideo(facts.path, reason, hint="index it again")
    return stamp


def _encode(job: CopyJob, facts: VideoRow, out: Path) -> tuple[VideoFacts, FrameTable, Likeness]:
    encoder = next(one for one in ENCODERS if one.name == job.encoder_name)
    why_not = why_left_out(facts, job.recipe, encoder)
    if why_not is not None:
        raise UnusablePicture(why_not)
    table = job.catalog.frame_table(job.row)
    times = copy_times(table, job.recipe.fps)
    written = write_copy(Path(facts.path), facts, table, times, job.recipe, encoder, out)
    return check_copy(out, times, written)


@dataclass(frozen=True, kw_only=True)
class _Copies:
    """Finished copies on their way into a catalog."""

    catalog: Catalog
    out: Path
    catalog_out: Path
    recipe: Recipe
    encoder: Encoder
    tasks: Sequence[Task[CopyJob]]
    made: Mapping[str, CopyMade]
    keep_uncopied: bool
    chosen_by: tuple[str, str] | None

    def publish(
        self, sources: Sequence[tuple[int, str]], faults: Mapping[str, str], num_made: int
    ) -> Prepared:
        """Write the catalog and the record. ``sources`` are (row, task key), in row order."""
        kept = [(row, key) for row, key in sources if key in self.made]
        left_out = [self._left_out(row, faults[key]) for row, key in sources if key in faults]
        if not kept:
            reasons = "; ".join(f"{one.video_id}: {one.reason}" for one in left_out[:3])
            raise UserError(
                f"none of {len(left_out)} videos could be copied ({reasons})",
                hint="choose another codec, or other policies for what the videos are",
            )
        job_of = {task.key: task.payload for task in self.tasks}
        listed = sources if self.keep_uncopied else kept
        rows = [self._row(row, self.made.get(key), job_of[key]) for row, key in listed]
        tables = (
            (row.video_id, self._table(number, self.made.get(key), job_of[key]))
            for row, (number, key) in zip(rows, listed, strict=True)
        )
        layout = self.recipe.layout
        facts = CopyFacts(
            catalog_digest=self.catalog.digest,
            recipe_digest=self.recipe.digest,
            layout=layout.label,
            encoder=self.encoder.name,
            reference_every=layout.reference_every,
        )
        write_catalog(
            self.catalog_out, rows, [] if self.keep_uncopied else left_out, tables,
            roots=self.catalog.header.roots, copy=facts,
        )  # fmt: skip
        return self._record(rows, [key for _, key in kept], left_out, num_made, facts)

    def _row(self, row: int, made: CopyMade | None, job: CopyJob) -> VideoRow:
        source, path = self.catalog.video(row), self.out / job.output
        if made is None:
            return source
        stamp = stamp_of(path)
        assert stamp is not None
        return VideoRow(
            **{name: getattr(made.facts, name) for name in VideoFacts.__struct_fields__},
            video_id=source.video_id,
            path=str(path),
            content_digest=made.content_digest,
            label=source.label,
            num_frames=made.num_frames,
            duration_seconds=made.duration_seconds,
            stamp=stamp,
            source_digest=source.content_digest,
            split=source.split,
        )

    def _table(self, row: int, made: CopyMade | None, job: CopyJob) -> FrameTable:
        if made is None:
            return self.catalog.frame_table(row)
        return frame_table_from_row(pq.read_table(self.out / job.table_output), 0)

    def _left_out(self, row: int, fault: str) -> LeftOut:
        source = self.catalog.video(row)
        return LeftOut(video_id=source.video_id, path=source.path, reason=fault, stamp=source.stamp)

    def _record(
        self,
        rows: Sequence[VideoRow],
        keys: Sequence[str],
        left_out: list[LeftOut],
        num_made: int,
        facts: CopyFacts,
    ) -> Prepared:
        inputs = {"catalog": facts.catalog_digest, "recipe": facts.recipe_digest}
        if self.chosen_by is not None:
            inputs["layouts"] = self.chosen_by[1]
        made = [self.made[key] for key in keys]
        files = [self.made[key] for key in dict.fromkeys(keys)]
        record = Prepared(
            header=Header(schema="filmgate.prepared", schema_version=1, inputs=inputs),
            folder=str(self.catalog_out),
            catalog_digest=open_catalog(self.catalog_out).digest,
            recipe=self.recipe,
            encoder=self.encoder.name,
            num_videos=len(made),
            num_files=len(files),
            num_made=num_made,
            left_out=left_out,
            source_bytes=sum(one.source_bytes for one in files),
            bytes=sum(one.size_bytes for one in files),
            likeness=mean_likeness([one.likeness for one in made]),
            num_as_they_are=len(rows) - len(made),
            chosen_by=None if self.chosen_by is None else self.chosen_by[0],
        )
        write_record(self.catalog_out / PREPARED_FILE, record)
        return record
