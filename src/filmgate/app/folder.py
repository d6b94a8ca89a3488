"""The run folder: which one a command means, who holds it, and whether it is the same request."""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import msgspec

from filmgate.catalog.labels import Labels
from filmgate.errors import UserError
from filmgate.records import Header, Record, digest_bytes, read_record, write_record
from filmgate.records.files import remove_unfinished
from filmgate.spec import Job, write_job
from filmgate.units import format_bytes

RUNS_FOLDER = Path("runs")
MIN_FREE_BYTES = 200_000_000


class Request(Record, frozen=True):
    """What was asked for; the same request in the same folder is the same run."""

    header: Header
    videos: list[str]
    """Absolute paths as given."""
    labels: str
    """``folder``, ``none``, or the absolute path of a CSV."""
    job_digest: str
    """Digest of the job without its limits and outputs, which may change from start to resume."""

    def differs_from(self, other: Request) -> list[str]:
        """Names of what is not the same."""
        return [
            name
            for name in ("videos", "labels", "job_digest")
            if getattr(self, name) != getattr(other, name)
        ]


def make_request(videos: list[Path], labels: Labels, job: Job) -> Request:
    """The request as a record."""
    lasting = msgspec.to_builtins(job) | {"limits": None}
    del lasting["outputs"]
    job_digest = digest_bytes(msgspec.json.encode(lasting, order="sorted"))
    return Request(
        header=Header(schema="filmgate.request", schema_version=1, inputs={"job": job_digest}),
        videos=[str(path.absolute()) for path in videos],
        labels=str(labels.absolute()) if isinstance(labels, Path) else labels or "none",
        job_digest=job_digest,
    )


def choose_folder(out: Path | None, name: str, request: Request) -> Path:
    """``out`` where given; else the unfinished run of the same request, else a new one in runs/.

    Raises UserError when ``out`` holds a run of another request, or something that is no run.
    """
    if out is not None:
        _refuse_other_content(out, request)
        return out
    numbered = _numbered_folders(name)
    for _, folder in sorted(numbered, reverse=True):
        earlier = _read_request(folder)
        if earlier and not earlier.differs_from(request) and not (folder / "run.json").exists():
            return folder
    last = max((number for number, _ in numbered), default=0)
    return RUNS_FOLDER / f"{name}-{last + 1:03d}"


def _numbered_folders(name: str) -> list[tuple[int, Path]]:
    """(number, folder) of every run of that name, and of no name that only begins like it."""
    pattern = re.compile(re.escape(name) + r"-([0-9]{3,})")
    matches = [(pattern.fullmatch(path.name), path) for path in RUNS_FOLDER.glob("*")]
    return [(int(match[1]), path) for match, path in matches if match]


def open_folder(folder: Path) -> None:
    """Create the folder. Raises UserError when it cannot be written or the disk is nearly full."""
    with _writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        free = os.statvfs(folder)
        if free.f_bavail * free.f_frsize < MIN_FREE_BYTES:
            raise UserError(
                f"{folder} has {format_bytes(free.f_bavail * free.f_frsize)} free; "
                f"a run wants at least {format_bytes(MIN_FREE_BYTES)}",
                hint="free some space, or choose another folder with --out",
            )


def keep_request(folder: Path, request: Request, job: Job) -> None:
    """Write ``request.json`` and the effective ``job.toml``; the caller holds the folder.

    What killed writes left in it is removed. Raises UserError when the folder holds another
    request by now, or cannot be written.
    """
    _refuse_other_request(folder, request)
    with _writing(folder):
        remove_unfinished(folder)
        remove_unfinished(folder / "catalog")
        write_job(folder / "job.toml", job)
        if _read_request(folder) is None:
            write_record(folder / "request.json", request)


@contextmanager
def _writing(folder: Path) -> Iterator[None]:
    """Raises UserError for an OSError inside."""
    try:
        yield
    except OSError as error:
        raise UserError(
            f"{folder} cannot be written: {error.strerror or error}",
            hint="choose a folder you may write to with --out",
        ) from None


@contextmanager
def hold_folder(folder: Path) -> Iterator[None]:
    """Hold the folder's lock; it goes with the process, however that ends.

    Raises UserError when another process holds it.
    """
    with ExitStack() as stack:
        with _writing(folder):
            file = stack.enter_context((folder / ".lock").open("w"))
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UserError(
                f"{folder} is in use by another filmgate run",
                hint="wait for it to end, or choose another folder with --out",
            ) from None
        yield


def _read_request(folder: Path) -> Request | None:
    path = folder / "request.json"
    return read_record(path, Request) if path.exists() else None


def _refuse_other_content(out: Path, request: Request) -> None:
    if not out.exists():
        return
    if not out.is_dir():
        raise UserError(f"{out} is a file", hint="--out names a folder")
    if _read_request(out) is None and any(path.name != ".lock" for path in out.iterdir()):
        raise UserError(
            f"{out} is not empty and holds no filmgate run",
            hint="--out names a new folder, or one that filmgate wrote",
        )
    _refuse_other_request(out, request)


def _refuse_other_request(out: Path, request: Request) -> None:
    earlier = _read_request(out)
    different = earlier.differs_from(request) if earlier else []
    if different:
        words = {"videos": "other videos", "labels": "other labels", "job_digest": "another job"}
        raise UserError(
            f"{out} holds a run of {', '.join(words[name] for name in different)}",
            hint="choose another folder with --out, or repeat the command it was started with "
            f"(see {out / 'request.json'} and {out / 'job.toml'})",
        )
