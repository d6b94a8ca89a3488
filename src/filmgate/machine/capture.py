"""A capture: what the readers looked at on one machine, in a file for another one.

It holds the files that were read, the answers to calls, and those of NVML. Serial numbers, UUIDs,
MAC addresses and names of servers are never read, or are replaced before anything is written;
mount points and names of interfaces stay.
"""

from __future__ import annotations

import errno
import io
import re
import tarfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import msgspec

from filmgate.errors import UserError
from filmgate.machine.filesystems import without_server
from filmgate.machine.host import Host
from filmgate.machine.machine import Source, read_machine, this_source
from filmgate.machine.nvml import Nvml
from filmgate.machine.tree import FolderTree, MemoryTree, Tree
from filmgate.records import Header, Record, write_file

CAPTURE = "capture.json"
FILES = "files"
NO_CAPTURE_HINT = "make one on that machine with: filmgate machine capture FILE"
MAX_MEMBERS = 500_000
MAX_TOTAL_BYTES = 256 * 2**20


class Capture(Record, frozen=True):
    """What stands beside the files."""

    header: Header
    host: Host | None
    """Answers to calls."""
    nvml: Nvml | None
    """Answers of NVML."""
    errors: dict[str, int]
    """Path -> errno, of what could not be read or was only listed."""


class RecordingTree(Tree):
    """Reads through another tree and remembers what was looked at."""

    def __init__(self, inner: FolderTree) -> None:
        self._inner = inner
        self.files: dict[str, bytes] = {}
        self.links: dict[str, str] = {}
        self.errors: dict[str, int] = {}
        self._listed: set[str] = set()

    def _content(self, path: str) -> bytes:
        try:
            self.files[path] = self._inner._content(path)
        except OSError as error:
            if error.errno not in (errno.ENOENT, errno.ENOTDIR):
                self.errors[path] = error.errno or errno.EIO
            raise
        return self.files[path]

    def _children(self, path: str) -> list[str]:
        names = self._inner._children(path)
        self._listed.update(f"{path}/{name}" for name in names)
        return names

    def _link(self, path: str) -> str | None:
        target = self._inner._link(path)
        if target is not None:
            self.links[path] = target
        return target

    def _is_there(self, path: str) -> bool:
        if not self._inner._is_there(path):
            return False
        self._listed.add(path)
        return True

    def finish(self) -> None:
        """Keep what was only seen by name as present, and not to be read."""
        for path in self._listed - self.files.keys() - self.errors.keys():
            if self._link(path) is None:
                self.errors[path] = errno.ENODATA


def capture_machine(out: Path) -> Capture:
    """Read this machine and write its capture, in one step. Raises OSError, which names ``out``."""
    recording = RecordingTree(FolderTree(Path("/")))
    source = this_source(recording)
    read_machine(source)
    recording.finish()
    capture, packed = _packed(source, recording)
    write_file(out, packed)
    return capture


def pack(source: Source, recording: RecordingTree) -> bytes:
    """The capture as bytes: what was read through ``recording``, scrubbed."""
    return _packed(source, recording)[1]


def _packed(source: Source, recording: RecordingTree) -> tuple[Capture, bytes]:
    scrub = Scrub()
    capture = Capture(
        header=Header(schema="filmgate.capture", schema_version=1),
        host=source.host and _scrubbed_host(source.host, scrub),
        nvml=source.nvml,
        errors={scrub(path): code for path, code in sorted(recording.errors.items())},
    )
    return capture, _pack(capture, recording, scrub)


def _scrubbed_host(host: Host, scrub: Scrub) -> Host:
    return msgspec.json.decode(scrub(msgspec.json.encode(host).decode()), type=Host)


class Scrub:
    """Replaces what names a machine, the same thing by the same word everywhere."""

    _PATTERNS = (
        re.compile(r"\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b"),
        re.compile(r"\b[0-9a-fA-F]{2}(?::[0-9a-fA-F]{2}){5,19}\b"),
        re.compile(r"\b(?:[0-9]{1,3}\.){3}[0-9]{1,3}(?=[:/,\s\"]|$)"),
        re.compile(r"(?<=enx)[0-9a-f]{12}\b"),
        re.compile(r"(?<![0-9a-zA-Z])(?=[0-9]*[a-fA-F])(?=[a-fA-F]*[0-9])[0-9a-fA-F]{16,}\b"),
    )

    def __init__(self) -> None:
        self._words: dict[str, str] = {}

    def __call__(self, text: str) -> str:
        """The text with numbers in place of names."""
        for pattern in self._PATTERNS:
            text = pattern.sub(self._word, text)
        return text

    def _word(self, match: re.Match[str]) -> str:
        return self._words.setdefault(match.group(0), f"removed-{len(self._words) + 1}")

    def mounts(self, text: str) -> str:
        """A table of mounts without servers, and without options but those of cgroups."""
        return "\n".join(self._mount(line) for line in text.splitlines())

    def _mount(self, line: str) -> str:
        before, dash, after = line.partition(" - ")
        words = after.split(" ")
        if not dash or len(words) != 3:
            return self(line)
        kind, source, options = words
        kept = options if kind == "cgroup" else "removed"
        return self(f"{before} - {kind} {without_server(source)} {kept}")


def _pack(capture: Capture, recording: RecordingTree, scrub: Scrub) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        _add(archive, CAPTURE, msgspec.json.format(msgspec.json.encode(capture), indent=2))
        for path, content in sorted(recording.files.items()):
            _add(archive, f"{FILES}/{scrub(path)}", _scrubbed(path, content, scrub))
        for path, target in sorted(recording.links.items()):
            link = tarfile.TarInfo(f"{FILES}/{scrub(path)}")
            link.type, link.linkname = tarfile.SYMTYPE, scrub(target)
            archive.addfile(link)
    return packed.getvalue()


def _add(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size = len(content)
    archive.addfile(member, io.BytesIO(content))


def _scrubbed(path: str, content: bytes, scrub: Scrub) -> bytes:
    if path.endswith("/config"):  # binary; numbers of kinds of devices, and where they are mapped
        return content
    text = content.decode(errors="replace")
    if path.endswith("/dm/uuid"):  # LVM-<uuid>: its kind is all that is wanted
        return text.split("-")[0].encode()
    said = scrub.mounts(text) if path.endswith(("mountinfo", "mounts")) else scrub(text)
    return said.encode()


def open_capture(path: Path) -> Source:
    """A capture that filmgate wrote, an unpacked tree, or a tar of one (as hwloc gathers them).

    Nothing is unpacked on disk. Raises UserError for anything else.
    """
    if path.is_dir():
        if not (path / "proc").is_dir() and not (path / "sys").is_dir():
            raise _no_capture(path, "it has neither proc nor sys")
        return Source(name=path.name, tree=FolderTree(path), host=None, nvml=None)
    try:
        members = _unpack(path)
    except FileNotFoundError:
        raise UserError(f"{path} does not exist", hint=NO_CAPTURE_HINT) from None
    except tarfile.ReadError:  # its text tells of every way of packing that was tried
        raise _no_capture(path, "it is no tar file") from None
    except (tarfile.TarError, EOFError, OSError, ValueError) as error:
        raise _no_capture(path, str(error)) from None
    return _own_source(path, members) if CAPTURE in members.files else _foreign(path, members)


@dataclass
class _Members:
    """What a tar holds."""

    files: dict[str, bytes]
    links: dict[str, str]
    folders: list[str]

    def below(self, top: str, errors: dict[str, int]) -> MemoryTree:
        """The tree whose root is a folder of the tar."""
        start = f"{top}/" if top else ""

        def inside(names: Iterable[str]) -> list[str]:
            """Those below the folder."""
            return [name for name in names if name.startswith(start)]

        return MemoryTree(
            {name.removeprefix(start): self.files[name] for name in inside(self.files)},
            {name.removeprefix(start): self.links[name] for name in inside(self.links)},
            errors,
            [name.removeprefix(start) for name in inside(self.folders)],
        )


def _own_source(path: Path, members: _Members) -> Source:
    try:
        capture = msgspec.json.decode(members.files[CAPTURE], type=Capture)
    except msgspec.DecodeError as error:
        raise _no_capture(path, f"{CAPTURE}: {error}") from None
    tree = members.below(FILES, capture.errors)
    return Source(name=path.name, tree=tree, host=capture.host, nvml=capture.nvml)


def _foreign(path: Path, members: _Members) -> Source:
    tops = {name.split("/", 1)[0] for name in members.files}
    top = "" if tops & {"proc", "sys"} else next(iter(sorted(tops)), "")
    tree = members.below(top, {})
    if not tree.has("proc") and not tree.has("sys"):
        raise _no_capture(path, "it has neither proc nor sys")
    return Source(name=path.name, tree=tree, host=None, nvml=None)


def _unpack(path: Path) -> _Members:
    """Files, links and folders of a tar, in memory and within bounds."""
    members = _Members(files={}, links={}, folders=[])
    total = 0
    with tarfile.open(path) as archive:
        for number, member in enumerate(archive):
            total += member.size
            if number >= MAX_MEMBERS or total > MAX_TOTAL_BYTES:
                raise ValueError(f"it holds more than {MAX_TOTAL_BYTES} bytes or too many files")
            name = "/".join(part for part in member.name.split("/") if part not in ("", "."))
            if member.isfile():
                file = archive.extractfile(member)
                members.files[name] = file.read() if file else b""
            elif member.issym():
                members.links[name] = member.linkname
            elif member.isdir():
                members.folders.append(name)
    return members


def _no_capture(path: Path, why: str) -> UserError:
    return UserError(
        f"{path} is no capture of a machine: {why}",
        hint="name what `filmgate machine capture` wrote, an hwloc XML file, or a tree of /proc "
        "and /sys",
    )
