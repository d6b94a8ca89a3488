"""What ``filmgate bench storage`` is asked for: files, and the reads of a job's loader."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from filmgate.bench.ask import Ask, Trace
from filmgate.bench.trace import trace_of
from filmgate.catalog import open_catalog
from filmgate.catalog.tiers import is_url
from filmgate.errors import UserError
from filmgate.spec import Job, load_job
from filmgate.units import parse_bytes

CATALOG_FILE = "catalog.json"
NUM_CLIPS = 400
"""Clips whose reads are replayed."""
NUM_CLIPS_QUICK = 80


def storage_ask(
    paths: Sequence[Path],
    *,
    folder: Path | None,
    size: str | None,
    job: Path | None,
    catalog: Path | None,
    step_ms: float | None,
    quick: bool,
) -> Ask:
    """The same as a part understands it. Raises UserError for what does not go together."""
    if paths and folder:
        raise UserError(
            "files that are there and --dir were both named",
            hint="name files to read them, or --dir to have files laid out there",
        )
    if folder is not None and not folder.is_dir():
        raise UserError(f"{folder} is no folder", hint="name one that is there with --dir")
    return Ask(
        quick=quick,
        folder=folder,
        size_bytes=None if size is None else _size(size),
        videos=tuple(_files(paths)),
        trace=_trace(job, catalog, step_ms, quick=quick),
    )


def _size(text: str) -> int:
    try:
        found = parse_bytes(text)
    except ValueError as error:
        raise UserError(f"--size: {error}", hint="for example --size 8GiB") from None
    if found < 16 << 20:
        raise UserError(f"--size {text} is below 16 MiB", hint="for example --size 1GiB")
    return found


def _files(paths: Sequence[Path]) -> Iterator[Path]:
    for path in paths:
        if (path / CATALOG_FILE).exists():
            known = open_catalog(path).column("path").to_pylist()
            yield from (Path(one) for one in known if not is_url(one))
        elif path.is_dir():
            yield from (one for one in sorted(path.rglob("*")) if one.is_file())
        elif path.is_file():
            yield path
        else:
            raise UserError(f"{path} does not exist", hint="name a file, a folder, or a catalog")


def _trace(
    job_file: Path | None, catalog: Path | None, step_ms: float | None, *, quick: bool
) -> Trace | None:
    if catalog is None:
        if job_file is not None or step_ms is not None:
            raise UserError(
                "a job's reads were asked for, but of no catalog",
                hint="name what `filmgate index` wrote with --catalog",
            )
        return None
    if step_ms is not None and step_ms <= 0:
        raise UserError(f"--step-ms is {step_ms:g}", hint="give a time above 0")
    job = load_job(job_file) if job_file else Job()
    return trace_of(
        job,
        open_catalog(catalog),
        num_clips=NUM_CLIPS_QUICK if quick else NUM_CLIPS,
        demand_clips_per_second=None if step_ms is None else job.train.batch_size / step_ms * 1000,
    )
