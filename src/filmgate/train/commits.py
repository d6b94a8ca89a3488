"""Commits: durable checkpoints that are there whole or not at all.

::

    commits/
    |-- step-00000025/        a commit, renamed into place once every byte is on disk
    |   |-- __0_0.distcp      weights and optimizer, a file or more of each rank
    |   |-- .metadata         which tensor lies where
    |   |-- random-0.pt       small parts, as bytes; some of each rank
    |   |-- progress.json
    |   |-- manifest.json     header, and size and digest of each part
    |   `-- manifest.digest   digest of manifest.json
    |-- step-00000050.damaged kept aside for a person to look at, never read, never deleted
    |-- .saving-...           left by a killed save; removed at the next start
    `-- .removing-...         left by a killed removal; removed at the next start

Small parts are read into memory and checked there, so that the bytes that were checked are the
bytes that are used; files of tensors are checked where they lie.

On many ranks each writes and digests its own files; the first makes the folder, writes the manifest
and renames. What fails on one fails on all.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar, cast

import msgspec

from filmgate.errors import UserError
from filmgate.records import Header, Record, digest_bytes
from filmgate.records.digest import digest_file
from filmgate.records.files import fsync_folder
from filmgate.train.ranks import ALONE, Ranks
from filmgate.train.storage import TENSOR_FILES
from filmgate.units import format_bytes

SCHEMA = "filmgate.commit"
SCHEMA_VERSION = 2
T = TypeVar("T")
_COMMIT_NAME = re.compile(r"step-\d{8,}")
_LEFTOVER_PREFIXES = (".saving-", ".removing-")


class Part(Record, frozen=True):
    """One file of a commit."""

    size_bytes: int
    """Of the file."""
    digest: str
    """Of its bytes."""


class Manifest(Record, frozen=True):
    """What a commit holds."""

    header: Header
    """Its inputs are the digests of the job and the catalog."""
    step: int
    """Optimizer updates done."""
    parts: dict[str, Part]
    """File name -> size and digest."""


@dataclass(frozen=True, kw_only=True)
class Commit:
    """A commit in memory, every digest checked."""

    path: Path
    manifest: Manifest
    parts: dict[str, bytes]
    """File name -> content, files of tensors left out."""


WriteMore = Callable[[Path], None]
"""Writes files of tensors into a folder, synced to disk, all ranks together. Raises OSError."""


class CommitFolder:
    """The commits of one run, in one folder.

    ``keep`` newest commits stay; ``on_event`` hears a sentence about everything unusual.
    One run at a time, all its ranks together: the caller holds the run folder.
    """

    def __init__(
        self,
        path: Path,
        *,
        keep: int,
        on_event: Callable[[str], None],
        ranks: Ranks = ALONE,
    ) -> None:
        self.path = path
        self._keep = keep
        self._on_event = on_event
        self._ranks = ranks

    def open(self) -> None:
        """Create the folder, and remove what killed saves left. Raises UserError."""
        self._first_does(self._open)

    def _open(self) -> None:
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            for leftover in self._leftovers():
                shutil.rmtree(leftover)
                self._on_event(f"removed {leftover.name}, left by a save that was cut off")
        except OSError as error:
            raise _cannot_write(self.path, error) from None

    def save(
        self,
        step: int,
        parts: Mapping[str, bytes],
        inputs: Mapping[str, str],
        write_more: WriteMore | None = None,
        *,
        tensor_bytes: int = 0,
    ) -> int:
        """Write a commit and return its bytes; it is durable when this returns.

        Nothing is begun where ``tensor_bytes``, of this rank, do not fit with the others'.

        ``parts`` are this rank's own, ``inputs`` the digests that go into its header. On failure
        the older commits stay as they were. Raises UserError when the folder cannot be written or
        is full.
        """
        try:
            self._refuse_without_space(sum(self._ranks.exchange(tensor_bytes)))
            temporary = self._make_temporary(step)
            try:
                found = self._write_parts(temporary, parts, write_more)
                self._first_does(lambda: self._publish(temporary, step, found, inputs))
            except BaseException:
                shutil.rmtree(temporary, ignore_errors=True)
                raise
        except OSError as error:
            raise _cannot_write(self.path, error) from None
        self._first_does(self._remove_old)
        return sum(part.size_bytes for part in found.values())

    def _refuse_without_space(self, num_bytes: int) -> None:
        """Raise OSError: a disk that is filled to the last byte takes more down than a commit."""

        def look() -> None:
            """On the first rank."""
            if shutil.disk_usage(self.path).free < num_bytes:
                raise OSError(errno.ENOSPC, f"{format_bytes(num_bytes)} do not fit")

        self._first_does(look)

    def _make_temporary(self, step: int) -> Path:
        """The same folder on all ranks."""

        def make() -> str:
            """Its name."""
            prefix = f".saving-{_path_of(self.path, step).name}-"
            folder = Path(tempfile.mkdtemp(prefix=prefix, dir=self.path))
            folder.chmod(0o755)
            return folder.name

        return self.path / self._first_does(make)

    def _write_parts(
        self, folder: Path, parts: Mapping[str, bytes], write_more: WriteMore | None
    ) -> dict[str, Part]:
        """Every rank's files, with their digests."""
        if write_more is not None:
            write_more(folder)
        found: dict[str, Part] | OSError
        try:
            for name, content in parts.items():
                _write_durably(folder / name, content)
            own = {**dict.fromkeys(parts), **dict.fromkeys(self._own_tensor_files(folder))}
            found = {name: _part_of(folder / name) for name in own}
        except OSError as error:
            found = error
        everyone: dict[str, Part] = {}
        for rank, given in enumerate(self._ranks.exchange(found)):
            if isinstance(given, OSError):
                raise given if rank == self._ranks.rank else OSError(given.errno, str(given))
            everyone |= given
        return everyone

    def _own_tensor_files(self, folder: Path) -> list[str]:
        """What ``write_more`` wrote on this rank."""
        own = [path.name for path in folder.glob(f"__{self._ranks.rank}_*")]
        described = [".metadata"] if (folder / ".metadata").exists() else []
        return own + (described if self._ranks.is_first else [])

    def _publish(
        self, temporary: Path, step: int, parts: dict[str, Part], inputs: Mapping[str, str]
    ) -> None:
        manifest = Manifest(
            header=Header(schema=SCHEMA, schema_version=SCHEMA_VERSION, inputs=dict(inputs)),
            step=step,
            parts=parts,
        )
        described = msgspec.json.format(msgspec.json.encode(manifest), indent=2)
        _write_durably(temporary / "manifest.json", described)
        _write_durably(temporary / "manifest.digest", digest_bytes(described).encode())
        fsync_folder(temporary)
        temporary.rename(_path_of(self.path, step))
        fsync_folder(self.path)

    def _first_does(self, do: Callable[[], T]) -> T:
        """What rank 0 got; what it raised is raised on all."""
        given: T | OSError | UserError | None = None
        if self._ranks.is_first:
            try:
                given = do()
            except (OSError, UserError) as error:
                given = error
        if self._ranks.world_size > 1:
            given = self._ranks.from_first(given)
        if isinstance(given, OSError | UserError):
            raise given
        return cast("T", given)

    def newest(self) -> Commit | None:
        """The newest commit that is whole; damaged ones before it are set aside, with an event.

        Raises UserError when one was written by another version, or cannot be read or set aside.
        """
        return self._first_does(self._newest)

    def _newest(self) -> Commit | None:
        for path in sorted(self._commits(), key=_step_of, reverse=True):
            try:
                return _read_commit(path)
            except _DamagedError as damage:
                aside = self._set_aside(path)
                self._on_event(
                    f"commit {path.name} is damaged ({damage}); kept as {aside.name}, not used"
                )
        return None

    def digest_of(self, step: int) -> str:
        """The digest that stands for the whole commit of ``step``: that of its manifest."""
        return (_path_of(self.path, step) / "manifest.digest").read_text()

    def _commits(self) -> list[Path]:
        return [path for path in self.path.iterdir() if _COMMIT_NAME.fullmatch(path.name)]

    def _leftovers(self) -> list[Path]:
        return [path for path in self.path.iterdir() if path.name.startswith(_LEFTOVER_PREFIXES)]

    def _remove_old(self) -> None:
        for path in sorted(self._commits(), key=_step_of)[: -self._keep]:
            try:
                # Renamed first: a removal that is cut off must not look like a damaged commit.
                going = path.rename(path.with_name(f".removing-{path.name}"))
                shutil.rmtree(going)
            except OSError as error:
                self._on_event(f"old commit {path.name} could not be removed: {error}")

    def _set_aside(self, path: Path) -> Path:
        aside, number = path.with_name(f"{path.name}.damaged"), 1
        while aside.exists():
            number += 1
            aside = path.with_name(f"{path.name}.damaged-{number}")
        try:
            path.rename(aside)
            fsync_folder(self.path)
        except OSError as error:
            raise _cannot_write(self.path, error) from None
        return aside


class _DamagedError(Exception):
    """A commit is not what was written; the message is one clause."""


def _path_of(folder: Path, step: int) -> Path:
    return folder / f"step-{step:08d}"


def _step_of(path: Path) -> int:
    return int(path.name.removeprefix("step-"))


def _read_commit(path: Path) -> Commit:
    """Raises _DamagedError, or UserError for a commit of another version."""
    described = _read_bytes(path / "manifest.json")
    if digest_bytes(described).encode() != _read_bytes(path / "manifest.digest"):
        raise _DamagedError("manifest.json does not have its digest")
    version = msgspec.json.decode(described)["header"]["schema_version"]
    if version != SCHEMA_VERSION:
        raise UserError(
            f"{path} has layout {version}, this filmgate reads layout {SCHEMA_VERSION}",
            hint="continue with the version that wrote it, or choose another run folder",
        )
    manifest = msgspec.json.decode(described, type=Manifest)
    parts = {
        name: _read_part(path / name, part)
        for name, part in manifest.parts.items()
        if not name.endswith(TENSOR_FILES)
    }
    for name in manifest.parts.keys() - parts.keys():
        _check_file(path / name, manifest.parts[name])
    return Commit(path=path, manifest=manifest, parts=parts)


def _check_file(path: Path, part: Part) -> None:
    try:
        size_bytes, digest = path.stat().st_size, digest_file(path)
    except PermissionError:
        raise UserError(f"{path} cannot be read", hint="give yourself read permission") from None
    except OSError as error:
        raise _DamagedError(f"{path.name}: {error.strerror or error}") from None
    if size_bytes != part.size_bytes:
        raise _DamagedError(f"{path.name} has {size_bytes} bytes, expected {part.size_bytes}")
    if digest != part.digest:
        raise _DamagedError(f"{path.name} does not have its digest")


def _part_of(path: Path) -> Part:
    return Part(size_bytes=path.stat().st_size, digest=digest_file(path))


def _read_part(path: Path, part: Part) -> bytes:
    content = _read_bytes(path)
    if len(content) != part.size_bytes:
        raise _DamagedError(f"{path.name} has {len(content)} bytes, expected {part.size_bytes}")
    if digest_bytes(content) != part.digest:
        raise _DamagedError(f"{path.name} does not have its digest")
    return content


def _read_bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except PermissionError:
        raise UserError(f"{path} cannot be read", hint="give yourself read permission") from None
    except OSError as error:
        raise _DamagedError(f"{path.name}: {error.strerror or error}") from None


def _write_durably(path: Path, content: bytes) -> None:
    with path.open("xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _cannot_write(path: Path, error: OSError) -> UserError:
    return UserError(
        f"commits cannot be written to {path}: {error.strerror or error}; the older ones are whole",
        hint="free some space there or give yourself write permission, then start again",
    )
