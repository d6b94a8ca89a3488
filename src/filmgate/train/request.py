"""What decides the outcome of a run, as flat keys, so that a resume can name what differs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from filmgate.errors import UserError
from filmgate.records import Record, digest_bytes, digest_file
from filmgate.spec import Job

Value = str | int | float | bool | list[float | str] | None

_FREE_KEYS = frozenset(
    {
        "job.name",
        "data.error_budget",
        "train.commit_every_steps",
        "train.keep_commits",
        "train.commit_in_background",
        "train.commit_within_seconds",
        "train.commit_folder",
        "train.commit_beside_videos",
        "train.device",
        "generation.latents",
        "generation.sample_clips",
        "generation.sample_steps",
        "train.accumulation",
        "train.checkpointing",
        "train.compile",
        "train.parallel",
    }
)
"""May change from one attempt to the next, as may all of [limits]; the samples stay the same, and
so does what is computed but for its last digits."""
_FREE_TABLES = ("limits", "prepare", "outputs")
"""What was prepared counts by the catalog's digest."""


def outcome_keys(job: Job, catalog_digest: str) -> dict[str, Value]:
    """``table.key`` of the job -> value, and ``catalog`` -> digest; without what may change.

    Weights in a CSV file count by its content. Raises UserError when it cannot be read.
    """
    tables: dict[str, dict[str, Any]] = msgspec.json.decode(msgspec.json.encode(job))
    tables["data"]["weights"] = _weights_value(job.data.weights)
    flat = {
        name: value
        for table, keys in tables.items()
        if table not in _FREE_TABLES
        for name, value in _leaves(table, keys)
    }
    kept = {key: value for key, value in flat.items() if key not in _FREE_KEYS}
    return kept | {"catalog": catalog_digest}


def _leaves(name: str, value: Any) -> Iterator[tuple[str, Value]]:
    """``table.key`` -> value, and ``table.key.key`` where a key is a table itself."""
    if not isinstance(value, dict):
        yield name, value
        return
    for key, inner in value.items():
        yield from _leaves(f"{name}.{key}", inner)


def _weights_value(weights: str) -> str:
    if not weights.endswith(".csv"):
        return weights
    try:
        return digest_file(Path(weights))
    except OSError as error:
        raise UserError(
            f"{weights} cannot be read: {error.strerror}",
            hint="weights in [data] names a CSV file; a path is taken from the job file's folder",
        ) from None


def keys_digest(keys: Mapping[str, Value]) -> str:
    """The digest of all keys and values."""
    return digest_bytes(msgspec.json.encode(keys, order="sorted"))


def refuse_other_job(there: Mapping[str, Value], now: Mapping[str, Value], place: Path) -> None:
    """Raise UserError, naming the differing keys, when ``place`` holds another job's work.

    A key that ``place`` does not have is younger than it: its default is what was done there.
    """
    there = outcome_keys(Job(), "") | dict(there)
    different = [key for key in {**now, **there} if there.get(key) != now.get(key)]
    if different:
        listed = ", ".join(
            f"{key} ({there.get(key)!r} there, {now.get(key)!r} now)" for key in different
        )
        raise UserError(
            f"{place} holds the work of another job; different: {listed}",
            hint="choose another run folder, or give the job and the videos that it began with",
        )


class Origin(Record, frozen=True):
    """Where a commit was made."""

    keys: dict[str, Value]
    """What ``outcome_keys`` gave."""
    device: str
    """``cpu`` or the name of the GPU."""
    train_threads: int
    """CPU threads of the training process."""
    torch_version: str
    """As torch tells it."""
    world_size: int = 1
    """Ranks."""

    def differences(self, other: Origin) -> list[str]:
        """What of the machine and software is not the same, a clause each."""
        return [
            f"{name.replace('_', ' ')} {getattr(self, name)} there, {getattr(other, name)} here"
            for name in ("device", "train_threads", "torch_version", "world_size")
            if getattr(self, name) != getattr(other, name)
        ]
