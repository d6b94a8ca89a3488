"""Whether the hot tier is another disk than the one it is to be faster than."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from filmgate.catalog.tiers import is_url


def nearest_folder(out: Path) -> Path:
    """The folder itself, or the first one above it that is there."""
    return next(folder for folder in (out, *out.parents) if folder.is_dir())


def device_warnings(out: Path, sources: Sequence[str], nearest: Path) -> list[str]:
    """What is odd about where ``out`` lies, a sentence each; ``nearest`` was there before it.

    A fast disk that is not mounted leaves its mount point, or nothing, on the slow one.
    """
    warnings = []
    if nearest != out and nearest != out.parent:
        warnings.append(
            f"{out.parent} did not exist: it was made on the disk of {nearest}; is the fast disk "
            "mounted?"
        )
    device = nearest.stat().st_dev
    local = [source for source in sources if not is_url(source)]
    folders = {folder: _device_of(folder) for folder in {Path(source).parent for source in local}}
    num_beside = sum(folders[Path(source).parent] == device for source in local)
    if num_beside:
        warnings.append(
            f"{out} lies on the same disk as {num_beside} of {len(sources)} files that it is to be "
            "faster than: name a folder on another one"
        )
    return warnings


def _device_of(folder: Path) -> int | None:
    """None where it cannot be reached."""
    try:
        return folder.stat().st_dev
    except OSError:
        return None
