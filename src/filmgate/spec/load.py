"""``job.toml`` in and out: read, checked, and the effective job written back."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import tomli_w
from msgspec.structs import replace

from filmgate.errors import JobError
from filmgate.records import write_file
from filmgate.spec.augment_rules import check_augment
from filmgate.spec.job import Job
from filmgate.spec.mismatch import mismatch_words

_TABLES: dict[str, type[msgspec.Struct]] = {
    field.name: field.type for field in msgspec.structs.fields(Job)
}

_PATHS = (
    ("prepare", "folder"),
    ("train", "commit_folder"),
    ("model", "weights"),
    ("generation", "prompts"),
    ("generation", "latents"),
)
"""Tables and keys that name a file or folder."""

NO_JOB_HINT = (
    "docs/job.md and examples/five_lines.toml show job files; without one the defaults hold"
)


def load_job(path: Path) -> Job:
    """Read and check a job file.

    Raises JobError (what, got, allowed, and for an unknown key the nearest valid one).
    """
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise JobError(f"{path} does not exist", hint=NO_JOB_HINT) from None
    except OSError as error:
        reason = error.strerror or error
        raise JobError(f"{path} cannot be read: {reason}", hint="name a TOML text file") from None
    except UnicodeDecodeError:
        raise JobError(f"{path} is not UTF-8 text", hint="save it as UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        raise JobError(f"{path} is no TOML: {error}", hint="mend the line named above") from None
    return _with_own_paths(parse_job(tables, origin=str(path)), path.absolute().parent)


def parse_job(tables: Mapping[str, Any], *, origin: str = "job") -> Job:
    """Check tables as TOML gives them. Raises JobError as ``load_job``."""
    _refuse_unknown(tables, _TABLES.keys(), origin, "table")
    for table, kind in _TABLES.items():
        keys = tables.get(table, {})
        if not isinstance(keys, Mapping):
            raise JobError(
                f"{origin}: {table} is {keys!r}, but it is a table",
                hint=f"write [{table}] on a line of its own, its keys below",
            )
        _refuse_unknown(keys, [field.name for field in msgspec.structs.fields(kind)], origin, table)
    try:
        job = msgspec.convert(tables, type=Job)
    except msgspec.ValidationError as error:
        raise JobError(
            f"{origin}: {mismatch_words(error, tables)}",
            hint="docs/job.md lists every key with its type and bounds",
        ) from None
    _check_clip_step(job, origin)
    _check_copy_size(job, origin)
    check_augment(job, origin)
    return _with_stride(job)


def write_job(path: Path, job: Job) -> None:
    """Write the effective job, unset keys left out, so that reading it gives the same job."""
    tables = msgspec.to_builtins(job)
    kept = {
        table: {key: value for key, value in keys.items() if value is not None}
        for table, keys in tables.items()
    }
    write_file(path, tomli_w.dumps(kept).encode())


def _with_own_paths(job: Job, folder: Path) -> Job:
    """The job with its paths made absolute, so that it means the same anywhere."""
    if job.data.weights.endswith(".csv"):
        job = replace(job, data=replace(job.data, weights=str(folder / job.data.weights)))
    for table, key in _PATHS:
        keys = getattr(job, table)
        if getattr(keys, key) is not None:
            there = replace(keys, **{key: str(folder / getattr(keys, key))})
            job = replace(job, **{table: there})
    return job


def _check_clip_step(job: Job, origin: str) -> None:
    if job.clip.sampling == "uniform":
        if job.clip.stride is not None or job.clip.fps is not None:
            raise JobError(
                f'{origin}: clip with `sampling = "uniform"` takes no `stride` and no `fps`',
                hint="remove it; the frames lie as far apart as the video is long",
            )
        return
    if job.clip.stride is not None and job.clip.fps is not None:
        raise JobError(
            f"{origin}: clip takes one of `stride` and `fps`, got both",
            hint="remove one; for example keep stride = 2",
        )


def _check_copy_size(job: Job, origin: str) -> None:
    if job.prepare.size is not None and job.prepare.short_side is not None:
        raise JobError(
            f"{origin}: prepare takes one of `size` and `short_side`, got both", hint="remove one"
        )


def _with_stride(job: Job) -> Job:
    """The job with the default stride where it says neither stride nor fps and needs one."""
    clip = job.clip
    if clip.sampling == "uniform" or clip.stride is not None or clip.fps is not None:
        return job
    return replace(job, clip=replace(clip, stride=Job().clip.stride))


def _refuse_unknown(keys: Mapping[str, Any], allowed: Any, origin: str, where: str) -> None:
    names = list(allowed)
    for key in keys:
        if key in names:
            continue
        nearest = difflib.get_close_matches(key, names, n=1, cutoff=0.5)
        place = f"table [{key}]" if where == "table" else f"key `{key}` in [{where}]"
        raise JobError(
            f"{origin}: unknown {place}; allowed: {', '.join(names)}",
            hint=f"did you mean `{nearest[0]}`?" if nearest else "remove it",
        )
