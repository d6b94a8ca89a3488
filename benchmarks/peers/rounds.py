"""Runs the readers in turns: filmgate, a peer, filmgate, the next peer, and at last filmgate again.

So each sample of a peer has one of filmgate before it and one after it, taken within minutes (the
forms of one package, with the decoder opened each time or kept, follow one another). Their ratio
is what is reported: what else the machine does weighs on both.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import msgspec
import numpy as np

from benchmarks.footage import CACHE, LAYOUTS, Layout, recipe_digest, videos
from benchmarks.machine import ROOT
from benchmarks.peers.clips import CLIP_FRAMES, Clip, random_clips
from benchmarks.peers.compare import Check, beside, check, with_neighbours
from benchmarks.peers.readers import OURS, READERS
from benchmarks.peers.rows import SEED, Row
from benchmarks.peers.task import Answer, Mode, Task
from filmgate.catalog import Catalog, index_videos
from filmgate.records import write_file

ANSWER_DEADLINE_SECONDS = 900
WARM_UP_CLIPS = 1
WARM_UP_CLIPS_WITH_WORKERS = 8
CHECKED_CLIPS = 5


@dataclass(frozen=True, kw_only=True)
class Turn:
    """One sample of another reader, and filmgate's on both sides of it."""

    reader: str
    answer: Answer
    before: Answer
    after: Answer


@dataclass(frozen=True, kw_only=True)
class Place:
    """What the measuring processes are given."""

    python: str
    """The Python that has the other readers."""
    paths: dict[Layout, list[str]]
    catalogs: dict[Layout, str]
    mappings: str


def prepare(python: str) -> Place:
    """Make the videos, their catalogs and torchcodec's frame mappings, where they are missing."""
    folder = CACHE / recipe_digest()
    paths = {layout: [str(path.resolve()) for path in videos(layout)] for layout in LAYOUTS}
    catalogs: dict[Layout, str] = {}
    for layout in LAYOUTS:
        catalogs[layout] = str(folder / f"{layout}-catalog")
        catalog = index_videos(
            [Path(path) for path in paths[layout]], Path(catalogs[layout]), labels=None, workers=0
        )
        for row in range(catalog.num_videos):
            _write_mapping(catalog, row, folder / "mappings")
    return Place(python=python, paths=paths, catalogs=catalogs, mappings=str(folder / "mappings"))


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


def run_round(place: Place, row: Row, count: int) -> list[Turn]:
    """One sample of every other reader of a row; filmgate before and after each package."""
    turns: list[Turn] = []
    before = _mine(place, row, count)
    if not row.others:
        return [Turn(reader=row.ours, answer=before, before=before, after=before)]
    for _, readers in groupby(row.others, key=lambda name: READERS[name][0]):
        workers = row.workers if row.others_workers is None else row.others_workers
        answers = {
            reader: _ask(place, _task(place, row, reader, row.mode, workers, count))
            for reader in readers
        }
        is_measured = any(answer.clips for answer in answers.values())
        after = _mine(place, row, count) if is_measured else before
        turns += [
            Turn(reader=reader, answer=answer, before=before, after=after)
            for reader, answer in answers.items()
        ]
        before = after
    return turns


def _mine(place: Place, row: Row, count: int) -> Answer:
    mode = row.ours_mode or row.mode
    return _ask(place, _task(place, row, row.ours, mode, row.workers, count, row.lookahead))


def _task(
    place: Place, row: Row, reader: str, mode: Mode, workers: int, count: int, lookahead: int = 1
) -> Task:
    warm_up, tail = WARM_UP_CLIPS, 0
    if mode == "visits":
        warm_up = 4
    if workers:
        warm_up, tail = WARM_UP_CLIPS_WITH_WORKERS, 8 * workers
    return Task(
        reader=reader,
        mode=mode,
        paths=place.paths[row.layout],
        clips=row.clips(warm_up + row.num_clips(count) + tail),
        warm_up=warm_up,
        catalog=place.catalogs[row.layout],
        mappings=place.mappings,
        workers=workers,
        lookahead=lookahead,
    )


def _ask(place: Place, task: Task) -> Answer:
    """Start a process for the task; its answer, or what became of it."""
    source = str(ROOT / "src")
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    try:
        done = subprocess.run(
            [place.python, "-m", "benchmarks.peers.one"],
            input=msgspec.json.encode(task),
            capture_output=True,
            cwd=ROOT,
            env=os.environ | threads | {"PYTHONPATH": source},
            timeout=ANSWER_DEADLINE_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Answer(error=f"no answer within {ANSWER_DEADLINE_SECONDS} s")
    if done.returncode or not done.stdout.strip():
        return Answer(error=f"exit code {done.returncode}: {done.stderr.decode()[-400:]}")
    return msgspec.json.decode(done.stdout.strip().splitlines()[-1], type=Answer)


def check_frames(place: Place, layout: Layout, readers: list[str]) -> dict[str, Check | str]:
    """Frames of each reader against filmgate's; a sentence where it gave none.

    The last one is a control: the first reader that works, asked for the frames next to the ones
    it is then held against. Nearly all of its frames have to be found wrong.
    """
    clips = random_clips(CHECKED_CLIPS, SEED + 1)
    reference = _pixels(place, layout, OURS, with_neighbours(clips))
    if isinstance(reference, str):
        return dict.fromkeys(readers, f"no frames of filmgate to compare with: {reference}")
    found: dict[str, Check | str] = {}
    for reader in readers:
        frames = _pixels(place, layout, reader, clips)
        if isinstance(frames, str):
            found[reader] = frames
        elif frames.shape[1] != CLIP_FRAMES:
            found[reader] = f"gave {frames.shape[1]} frames of {CLIP_FRAMES}"
        else:
            found[reader] = check(frames, reference)
        print(f"  frames, {layout}, {reader}: {found[reader]}", file=sys.stderr, flush=True)
    control = next((name for name in readers if isinstance(found[name], Check)), None)
    if control is not None:
        frames = _pixels(place, layout, control, beside(clips))
        name = f"control: {control}, one frame off"
        found[name] = frames if isinstance(frames, str) else check(frames, reference)
        print(f"  frames, {layout}, {name}: {found[name]}", file=sys.stderr, flush=True)
    return found


def _pixels(
    place: Place, layout: Layout, reader: str, clips: list[Clip]
) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]] | str:
    with tempfile.TemporaryDirectory(prefix="filmgate-peers-") as folder:
        out = Path(folder) / "frames.npy"
        task = Task(
            reader=reader,
            mode="frames",
            paths=place.paths[layout],
            clips=clips,
            warm_up=0,
            catalog=place.catalogs[layout],
            mappings=place.mappings,
            out=str(out),
        )
        answer = _ask(place, task)
        if answer.missing or answer.error:
            return answer.missing or answer.error or ""
        pixels: np.ndarray[tuple[int, ...], np.dtype[np.uint8]] = np.load(out)
        return pixels
