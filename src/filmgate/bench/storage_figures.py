"""What ``filmgate bench storage`` measures once a round, and what it cannot measure here."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from filmgate.bench.ask import Trace
from filmgate.bench.files import BLOCK_BYTES, FileSet
from filmgate.bench.fio import HOW_TO_GET, Fio, Pattern, find_fio, read_for, replay
from filmgate.bench.names_rate import open_rate, stat_rate
from filmgate.bench.own_reader import can_read_directly, read_once, read_sequentially
from filmgate.bench.page_cache import cached_share, forget
from filmgate.bench.rounds import Figure
from filmgate.bench.trace import write_logs
from filmgate.units import format_bytes, format_share

SEQUENTIAL = Pattern(rw="read", block_bytes=BLOCK_BYTES, depth=32)
WHOLE_FILES = Pattern(rw="read", block_bytes=BLOCK_BYTES, depth=8)
RANDOM = Pattern(rw="randread", block_bytes=128 << 10, depth=32, order="random")
MOST_CACHED = 0.01
"""Share of the bytes in the page cache from which on a read through it is no read of storage."""
CACHE_BYTES = 256 << 20
"""How much is read to see what the page cache gives."""
NO_DIRECT = (
    "the filesystem cannot be read past the page cache (O_DIRECT), where a second pass would be "
    "memory"
)


@dataclass(frozen=True, kw_only=True)
class Effort:
    """How long it is measured."""

    rounds: int
    seconds: float
    """Of each pattern in a round, counted."""
    ramp_seconds: float
    """Before that, not counted."""
    total_bytes: int
    """Of the files that are laid out, or read of those that are there."""
    small_files: int


FULL = Effort(rounds=5, seconds=5.0, ramp_seconds=1.0, total_bytes=4 << 30, small_files=10_000)
QUICK = Effort(rounds=3, seconds=1.0, ramp_seconds=0.5, total_bytes=1 << 30, small_files=2_000)


def storage_figures(
    files: FileSet,
    trace: Trace | None,
    names: Sequence[str],
    effort: Effort,
    readers: int,
    logs: Path,
) -> tuple[list[Figure], dict[str, str], dict[str, str]]:
    """What is measured, what cannot be and why, and how it is read."""
    fio = find_fio(files.files[0])
    direct = can_read_directly(files.files[0])
    unknown: dict[str, str] = {}
    facts = {"reader": f"{fio.version}, {fio.engine}" if fio else f"own, without fio: {HOW_TO_GET}"}
    shards = _dealt(files.shards, readers)
    if fio is not None and fio.direct:
        figures = _fio_figures(fio, files, shards, effort, readers)
        if trace is not None:
            figures.append(_trace_figure(fio, trace, write_logs(logs, trace), effort))
    else:
        why = NO_DIRECT if fio else f"fio is not installed; {HOW_TO_GET}"
        unknown |= dict.fromkeys(
            ["whole-file-read", "random-128k-read", *(["loader-read"] if trace else [])], why
        )
        own = _own_direct(files, effort, readers) if direct else _own_buffered(files, readers)
        figures = [] if isinstance(own, str) else [own]
        if isinstance(own, str):
            unknown["sequential-read"] = own
    figures.append(_cache_figure(files, readers))
    if names:
        figures += _name_figures(list(names))
    else:
        unknown |= dict.fromkeys(
            ["stat", "open"], "measured where files may be laid out: name a folder with --dir"
        )
    return figures, unknown, facts


def _fio_figures(
    fio: Fio, files: FileSet, shards: list[list[Path]], effort: Effort, readers: int
) -> list[Figure]:
    shuffled = list(files.clips)
    random.Random(0).shuffle(shuffled)
    clips = _dealt(shuffled, readers)

    def figure(name: str, counted: str, groups: list[list[Path]], pattern: Pattern) -> Figure:
        """One that fio measures."""
        return Figure(
            name=name, unit="bytes/s", anchor="fio",
            run=lambda number: read_for(
                fio, groups, pattern, seconds=effort.seconds, ramp_seconds=effort.ramp_seconds
            ).bytes_per_second,
            definition=f"bytes read past the page cache over {effort.seconds:g} s, {counted}",
            conditions={
                "block": f"{pattern.block_bytes >> 10} KiB", "readers": str(len(groups)),
                "depth of each": "1" if fio.engine == "psync" else str(pattern.depth),
            },
            warm_up=f"{effort.ramp_seconds:g} s before each repetition",
        )  # fmt: skip

    return [
        figure("sequential-read", "file after file from its start", shards, SEQUENTIAL),
        figure(
            "whole-file-read", "whole files of a clip's size in random order", clips, WHOLE_FILES
        ),
        figure("random-128k-read", "at random places of files of a clip's size", clips, RANDOM),
    ]


def _trace_figure(fio: Fio, trace: Trace, logs: Sequence[Path], effort: Effort) -> Figure:
    return Figure(
        name="loader-read", unit="bytes/s", anchor="fio (read_iolog)",
        run=lambda number: replay(fio, logs, seconds=effort.seconds).bytes_per_second,
        definition=f"bytes of the reads that the loader makes for {trace.num_clips} clips, replayed"
        " past the page cache as fast as they come back, over the time that it took",
        conditions={"block": "up to 128 KiB", "readers": str(len(logs)), "depth of each": "1"},
        notes=("planned from the frame tables: headers of containers are not in it",),
    )  # fmt: skip


def _own_direct(files: FileSet, effort: Effort, readers: int) -> Figure:
    threads = max(readers, 8)
    return Figure(
        name="sequential-read", unit="bytes/s", anchor="",
        run=lambda number: read_sequentially(files.shards, threads=threads, seconds=effort.seconds),
        definition=f"bytes read past the page cache over {effort.seconds:g} s, file after file",
        conditions={"block": "1024 KiB", "readers": str(threads), "depth of each": "1"},
        notes=("read by filmgate's own threads, which may give less than fio on quick drives",),
    )  # fmt: skip


def _own_buffered(files: FileSet, readers: int) -> Figure | str:
    """Each file once through a page cache that was emptied of it; or why that tells nothing."""
    forget(files.shards)
    left = cached_share(files.shards)
    if left is None:
        return "the kernel does not tell what lies in the page cache, so that it may be all"
    if left > MOST_CACHED:
        return f"{format_share(left)} of the files stay in the page cache and cannot be dropped"

    def run(number: int) -> float:
        """The rate of a pass."""
        forget(files.shards)
        return read_once(files.shards, threads=readers)

    return Figure(
        name="sequential-read", unit="bytes/s", anchor="", run=run,
        definition="bytes of all files, each read once, over the time that it took",
        conditions={"block": "1024 KiB", "readers": str(readers)},
        notes=("read through the page cache, from which the files were dropped before each pass, "
               "as the filesystem has no O_DIRECT",),
    )  # fmt: skip


def _cache_figure(files: FileSet, readers: int) -> Figure:
    some: list[Path] = []
    total = 0
    for path in files.files:
        size = path.stat().st_size
        if some and total + size > CACHE_BYTES:
            break
        some, total = [*some, path], total + size

    def run(number: int) -> float:
        """The rate of the second of two passes; the files are dropped afterwards."""
        read_once(some, threads=readers)
        rate = read_once(some, threads=readers)
        forget(some)
        return rate

    return Figure(
        name="page-cache-read", unit="bytes/s", anchor="", run=run,
        definition=f"bytes of {format_bytes(total)} that were read just before, over the time: "
        "main memory and no storage, to compare with",
        conditions={"readers": str(readers)},
        warm_up="the same files read once before each repetition",
    )  # fmt: skip


def _name_figures(names: list[str]) -> list[Figure]:
    return [
        _name_figure("stat", lambda number: stat_rate(names, number), "whose size was asked for",
                     len(names)),
        _name_figure("open", lambda number: open_rate(names, number), "opened and closed",
                     len(names)),
    ]  # fmt: skip


def _name_figure(name: str, run: Callable[[int], float], what: str, count: int) -> Figure:
    return Figure(
        name=name, unit="files/s", anchor="", run=run,
        definition=f"files {what}, in random order, over the time",
        conditions={"files": str(count), "threads": "1"},
        notes=("the names were just made, so the kernel has them in memory; cold ones are slower",),
    )  # fmt: skip


def _dealt(paths: Sequence[Path], readers: int) -> list[list[Path]]:
    """The files dealt to readers in turn."""
    return [list(paths[number::readers]) for number in range(min(readers, len(paths)))]
