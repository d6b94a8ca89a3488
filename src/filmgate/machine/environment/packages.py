"""What Python distributions are installed, with digests that are the same on every machine."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Iterator
from importlib import metadata
from pathlib import PurePosixPath

from filmgate.machine.environment.facts import Package
from filmgate.records import digest_bytes

MAX_ALTERED = 20
_INSTALLERS = {"INSTALLER", "REQUESTED", "RECORD", "direct_url.json"}
"""Files of a dist-info folder that the installer writes and the wheel does not hold."""
_EDITABLE = "installed in place from a folder (editable), so its files are not recorded"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_EXTRA = re.compile(r"""extra\s*==\s*['"]""")


def installed_packages(uses: Iterable[str] = (), *, deep: bool = False) -> list[Package]:
    """Every distribution that Python finds, by name; the first of a name hides the others.

    ``uses`` are packages that the user's own code imports; one that is not installed has no row.
    Files are held against what was installed by size, with ``deep`` by content.
    """
    found = _distributions()
    needed = _needed(found, {"filmgate", *(canonical(name) for name in uses)})
    return [
        _package(name, found[name], is_needed=name in needed, deep=deep) for name in sorted(found)
    ]


def canonical(name: str) -> str:
    """The name as PEP 503 writes it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _distributions() -> dict[str, metadata.Distribution]:
    found: dict[str, metadata.Distribution] = {}
    for distribution in metadata.distributions():
        name = distribution.metadata["Name"]
        if name:
            found.setdefault(canonical(name), distribution)
    return found


def _needed(found: dict[str, metadata.Distribution], roots: set[str]) -> set[str]:
    """The roots and all that they require, as far as it is installed.

    Extras of the roots count: what of them is installed is there to be used.
    """
    needed: set[str] = set()
    todo = [(name, True) for name in roots]
    while todo:
        name, is_root = todo.pop()
        if name in needed or name not in found:
            continue
        needed.add(name)
        for requirement in found[name].requires or []:
            wanted = _NAME.match(requirement)
            is_extra = _EXTRA.search(requirement) is not None
            if wanted and not (is_extra and (not is_root or _is_for_development(requirement))):
                todo.append((canonical(wanted.group()), False))
    return needed


def _is_for_development(requirement: str) -> bool:
    return re.search(r"""extra\s*==\s*['"](dev|demo|docs?|tests?)['"]""", requirement) is not None


def _package(
    name: str, distribution: metadata.Distribution, *, is_needed: bool, deep: bool
) -> Package:
    files = distribution.files
    editable = '"editable": true' in (distribution.read_text("direct_url.json") or "").lower()
    kept = [] if files is None or editable else sorted(_wheel_files(files), key=str)
    altered = list(_altered(kept, deep=deep))
    hashed = [f"{file}:{file.hash.value}" for file in kept if file.hash]
    reason = _EDITABLE if editable else "its installer left no list of files with hashes"
    return Package(
        name=name,
        version=distribution.version,
        digest=digest_bytes("\n".join(hashed).encode()) if hashed else None,
        why_no_digest=None if hashed else reason,
        is_needed=is_needed,
        altered=altered[:MAX_ALTERED],
        num_altered=len(altered),
    )


def _wheel_files(files: Iterable[metadata.PackagePath]) -> Iterator[metadata.PackagePath]:
    """Those that the wheel holds: scripts carry the path of this Python, caches come later."""
    for file in files:
        path = PurePosixPath(file)
        if ".." in path.parts or path.suffix == ".pyc" or path.is_absolute():
            continue
        if path.parent.suffix == ".dist-info" and path.name in _INSTALLERS:
            continue
        yield file


def _altered(files: Iterable[metadata.PackagePath], *, deep: bool) -> Iterator[str]:
    for file in files:
        place = file.locate()
        try:
            size = place.stat().st_size  # type: ignore[attr-defined]
        except OSError:
            yield f"{file}: missing"
            continue
        if file.size is not None and size != file.size:
            yield f"{file}: {size} bytes, installed with {file.size}"
        elif deep and file.hash and file.hash.mode == "sha256" and _sha256(file) != file.hash.value:
            yield f"{file}: other content than installed"


def _sha256(file: metadata.PackagePath) -> str:
    hasher = hashlib.sha256()
    with open(file.locate(), "rb") as content:  # noqa: PTH123  locate gives a SimplePath
        while block := content.read(1 << 20):
            hasher.update(block)
    return base64.urlsafe_b64encode(hasher.digest()).rstrip(b"=").decode()
