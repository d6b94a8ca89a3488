"""``filmgate bench storage``: what a folder's storage reads, past the page cache.

Patterns take turns within each round, so that a machine that is busy for a while is not taken for a
slow pattern.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from msgspec.structs import replace

from filmgate.bench.ask import Ask, Tell, Trace
from filmgate.bench.files import MOST_SHARDS, FileSet, existing, laid_out
from filmgate.bench.ground import Ground, ground_of
from filmgate.bench.names_rate import small_files
from filmgate.bench.page_cache import cached_share
from filmgate.bench.rounds import measure_in_turns
from filmgate.bench.storage_class import class_words, demand_words
from filmgate.bench.storage_figures import FULL, MOST_CACHED, QUICK, storage_figures
from filmgate.machine.measured import BenchPart, Measure
from filmgate.units import format_bytes, format_share
from filmgate.work.cores import num_usable_cores

LIKE_CACHE = 0.8
"""Share of the page cache's rate from which on something below is suspected to be a cache."""


def bench_storage(ask: Ask, tell: Tell) -> BenchPart:
    """Sequential, whole-file and random reads, the loader's own reads, and the rate of names.

    Raises UserError where the folder is main memory, has no room, or holds no file to read.
    """
    effort = QUICK if ask.quick else FULL
    size = ask.size_bytes or effort.total_bytes
    folder = ask.videos[0].parent if ask.videos else (ask.folder or Path())
    ground = ground_of(folder)
    readers = min(num_usable_cores(), MOST_SHARDS)
    with ExitStack() as stack:
        if ask.videos:
            files = existing(ask.videos, size)
        else:
            files = stack.enter_context(laid_out(folder, size, readers, tell))
        names = () if ask.videos else stack.enter_context(small_files(folder, effort.small_files))
        logs = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="filmgate-bench-")))
        before = cached_share(files.files)
        figures, unknown, facts = storage_figures(files, ask.trace, names, effort, readers, logs)
        measures = measure_in_turns(figures, effort.rounds, tell)
        facts = _facts(ground, files, before) | facts
    return BenchPart(
        name="storage",
        status="measured" if any(_is_of_storage(one) for one in measures) else "could not measure",
        why=unknown.get("sequential-read", ""),
        measures=[_doubted(one, measures) for one in measures],
        facts=facts,
        says=_says(measures, ask.trace, before),
        unknown=unknown,
    )


def _is_of_storage(measure: Measure) -> bool:
    return measure.unit == "bytes/s" and measure.name != "page-cache-read"


def _facts(ground: Ground, files: FileSet, before: float | None) -> dict[str, str]:
    lay = (
        "unknown: the kernel does not tell"
        if before is None
        else f"{format_share(before)} of the bytes lay in it before"
    )
    facts = {"filesystem": ground.says, "files": files.says, "page cache": lay}
    return facts | ({"caution": "; ".join(ground.notes)} if ground.notes else {})


def _doubted(one: Measure, measures: Sequence[Measure]) -> Measure:
    """The measure with a note where it looks like one of a cache."""
    cache = next(other for other in measures if other.name == "page-cache-read")
    if not _is_of_storage(one) or one.median < LIKE_CACHE * cache.median:
        return one
    note = (
        f"it is {one.median / cache.median:.2g} times what the page cache gives: something below "
        "may answer from memory"
    )
    return replace(one, notes=[*one.notes, note])


def _says(measures: Sequence[Measure], trace: Trace | None, before: float | None) -> list[str]:
    by_name = {one.name: one for one in measures}
    said = []
    sequential = by_name.get("sequential-read")
    if sequential is not None:
        said.append(
            f"sequential read {format_bytes(sequential.median)}/s: {class_words(sequential.median)}"
        )
    if before is not None and before > MOST_CACHED:
        said.append(
            f"{format_share(before)} of the files lay in the page cache; every read counted here "
            "went past it or was made after it was emptied of them"
        )
    if trace is not None:
        said += demand_words(trace, by_name.get("loader-read"))
    return said
