"""One of several processes that decode at once: ``python -m ...decode_process FOLDER NUMBER``."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from filmgate.bench.decode_timing import RandomClips
from filmgate.bench.processes import answer_file, request_file, tell_line
from filmgate.catalog import open_catalog
from filmgate.errors import DeadlineError
from filmgate.records import Record, read_record, write_record

LOOK_SECONDS = 0.002


class DecodeRequest(Record, frozen=True):
    """What all of them do."""

    catalog: str
    """Folder."""
    rows: list[int]
    """Videos that clips are taken from."""
    num_processes: int
    """That start together."""
    windows: int
    """That count, after one that does not."""
    window_seconds: float
    """Length of each."""
    timeout_seconds: float
    """For the others to be ready."""


class DecodeAnswer(Record, frozen=True):
    """What one of them did."""

    clips_per_second: list[float]
    """By the wall clock, one for each window."""


def main(folder: str, number: int) -> None:
    """Wait for the others, decode, and leave the answer."""
    request = read_record(request_file(Path(folder)), DecodeRequest)
    catalog = open_catalog(request.catalog)
    clips = RandomClips(catalog, request.rows, seed=number)
    with clips.reader:
        clips.read_one()
        _meet(Path(folder), number, request)
        rates = [_window(clips, request.window_seconds) for _ in range(request.windows + 1)]
    write_record(answer_file(Path(folder), number), DecodeAnswer(clips_per_second=rates[1:]))


def _meet(folder: Path, number: int, request: DecodeRequest) -> None:
    (folder / f"ready-{number}").touch()
    began = time.monotonic()
    while len(list(folder.glob("ready-*"))) < request.num_processes:
        if time.monotonic() - began > request.timeout_seconds:
            raise DeadlineError("the other decoders were not ready in time")
        time.sleep(LOOK_SECONDS)


def _window(clips: RandomClips, seconds: float) -> float:
    """Clips a second, of whole clips: it ends with the one that passes its end."""
    count, began = 0, time.perf_counter()
    while (spent := time.perf_counter() - began) < seconds:
        clips.read_one()
        count += 1
    tell_line()
    return count / spent


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
