"""Asks the readers in turns: filmgate, a package, filmgate, the next package, and filmgate again.

So each sample of another reader has one of filmgate before it and one after it, taken within a
minute (the forms of one package follow one another). Their ratio is what is reported: what else
the machine does weighs on both.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.footage import CACHE, LAYOUTS, Layout, recipe_digest, videos
from benchmarks.peer_readers.clips import Clip, checked_clips
from benchmarks.peer_readers.compare import Check, beside, cells_of, check, with_neighbours
from benchmarks.peer_readers.jobs import feed_clips
from benchmarks.peer_readers.others import OTHERS
from benchmarks.peer_readers.ours import rows_of
from benchmarks.peer_readers.process import ReaderProcess
from benchmarks.peer_readers.readers import READERS, REFERENCE
from benchmarks.peer_readers.rows import SEED, Row, Size, ask_of
from benchmarks.peer_readers.task import Answer, Ask, Entry, Setup
from filmgate.catalog import Catalog, index_videos, open_catalog
from filmgate.errors import FilmgateError
from filmgate.records import write_file

STREAM_CLIPS = 3000
"""Clips of the feed that loaders are given; they begin again after these."""


@dataclass(frozen=True, kw_only=True)
class Turn:
    """One sample of another reader, and those of filmgate on both sides of it."""

    label: str
    answer: Answer
    before: dict[str, Answer]
    """Label of each of filmgate's entries -> its sample."""
    after: dict[str, Answer]


@dataclass(frozen=True, kw_only=True)
class Place:
    """What the measuring processes are given."""

    python: str
    """The Python that has the other readers."""
    paths: dict[Layout, list[str]]
    catalogs: dict[Layout, str]
    mappings: str
    stream: list[Clip]
    checks: dict[tuple[Layout, str], Check | str] = field(default_factory=dict)
    """What is known of the frames of a reader in a layout; the control has a name of its own."""


def prepare(python: str) -> Place:
    """Make the videos, their catalogs and torchcodec's frame mappings, where they are missing."""
    folder = CACHE / recipe_digest()
    paths = {layout: [str(path.resolve()) for path in videos(layout)] for layout in LAYOUTS}
    catalogs: dict[Layout, Catalog] = {}
    for layout in LAYOUTS:
        catalogs[layout] = _catalog(folder / f"{layout}-catalog", paths[layout])
        for row in range(catalogs[layout].num_videos):
            _write_mapping(catalogs[layout], row, folder / "mappings")
    source = catalogs["source"]
    return Place(
        python=python,
        paths=paths,
        catalogs={layout: str(folder / f"{layout}-catalog") for layout in LAYOUTS},
        mappings=str(folder / "mappings"),
        stream=feed_clips(source, rows_of(source, paths["source"]), STREAM_CLIPS),
    )


def _catalog(folder: Path, paths: list[str]) -> Catalog:
    """The one that is there when it is of these videos, otherwise a new one."""
    if folder.exists():
        try:
            found = open_catalog(folder)
            if {found.video(row).path for row in range(found.num_videos)} == set(paths):
                return found
        except FilmgateError:
            pass  # of another version: made anew
    return index_videos([Path(path) for path in paths], folder, labels=None, workers=0)


def _write_mapping(catalog: Catalog, row: int, folder: Path) -> None:
    """The frame table in the words of ffprobe's JSON, which torchcodec reads."""
    table = catalog.frame_table(row)
    ends = [*table.pts[1:].tolist(), table.end_ticks]
    frames = [
        {"pts": pts, "duration": end - pts, "key_frame": int(is_key)}
        for pts, end, is_key in zip(table.pts.tolist(), ends, table.is_key.tolist(), strict=True)
    ]
    folder.mkdir(exist_ok=True)
    path = folder / Path(catalog.video(row).path).with_suffix(".json").name
    write_file(path, json.dumps({"frames": frames}).encode())


@contextmanager
def processes(place: Place, entries: tuple[Entry, ...]) -> Iterator[dict[str, ReaderProcess]]:
    """Label -> its process, not started yet; ended on leaving."""
    made = {entry.label: ReaderProcess(place.python, _setup(place, entry)) for entry in entries}
    try:
        yield made
    finally:
        for process in made.values():
            process.close()


def _setup(place: Place, entry: Entry) -> Setup:
    return Setup(
        entry=entry,
        paths=place.paths[entry.layout],
        catalog=place.catalogs[entry.layout],
        mappings=place.mappings,
        stream=place.stream if entry.mode == "loader" else [],
    )


def run_round(
    row: Row,
    size: Size,
    number: int,
    readers: dict[str, ReaderProcess],
    told: Callable[[str], None],
) -> list[Turn]:
    """One sample of every other reader of a row; filmgate before and after each package."""

    def sample(entry: Entry) -> Answer:
        told(entry.label)
        return readers[entry.label].ask(ask_of(entry, size, number))

    def mine() -> dict[str, Answer]:
        return {entry.label: sample(entry) for entry in row.ours}

    turns: list[Turn] = []
    before = mine()
    if not row.others:
        return [
            Turn(label=label, answer=answer, before=before, after=before)
            for label, answer in before.items()
        ]
    for _, package in groupby(row.others_of(size), key=lambda entry: READERS[entry.reader][0]):
        answers = {entry.label: sample(entry) for entry in package}
        is_measured = any(answer.clips for answer in answers.values())
        after = mine() if is_measured else before
        turns += [
            Turn(label=label, answer=answer, before=before, after=after)
            for label, answer in answers.items()
        ]
        before = after
    return turns


def check_frames(place: Place, row: Row, size: Size, readers: dict[str, ReaderProcess]) -> None:
    """Hold the frames of each other reader of a row against filmgate's, unless that was done.

    The control is the first reader that works, asked for the frames next to the ones it is then
    held against. Nearly all of its frames have to be found wrong.
    """
    todo = [
        entry
        for entry in row.others_of(size)
        if entry.reader in OTHERS and (entry.layout, entry.reader) not in place.checks
    ]
    if not todo:
        return
    layout, clips = todo[0].layout, checked_clips(SEED)
    ours = Entry(label=REFERENCE, reader=REFERENCE, layout=layout)
    with processes(place, (ours,)) as own:
        reference = _frames(own[REFERENCE], with_neighbours(clips))
    has_control = False
    for entry in todo:
        place.checks[layout, entry.reader] = _check(readers[entry.label], clips, reference)
        if not has_control and isinstance(place.checks[layout, entry.reader], Check):
            has_control, name = True, f"control: {entry.reader}, one frame off"
            found = _frames(readers[entry.label], beside(clips))
            if not isinstance(found, str) and not isinstance(reference, str):
                place.checks[layout, name] = check(found, reference)


def _check(
    process: ReaderProcess, clips: list[Clip], reference: NDArray[np.float32] | str
) -> Check | str:
    if isinstance(reference, str):
        return f"no frames of filmgate to compare with: {reference}"
    frames = _frames(process, clips)
    if isinstance(frames, str):
        return frames
    if frames.shape[1] != len(clips[0].frames):
        return f"gave {frames.shape[1]} frames of {len(clips[0].frames)}"
    return check(frames, reference)


def _frames(process: ReaderProcess, clips: list[Clip]) -> NDArray[np.float32] | str:
    """The cells of the frames; a sentence where there are none."""
    with tempfile.TemporaryDirectory(prefix="filmgate-peers-") as folder:
        out = Path(folder) / "frames.npy"
        answer = process.ask(Ask(clips=clips, out=str(out)))
        if answer.missing or answer.error:
            return answer.missing or answer.error or ""
        return cells_of(np.load(out, mmap_mode="r"))
