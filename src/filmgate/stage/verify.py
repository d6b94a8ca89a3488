"""Hot files that were written to, or went bad on their disk."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from filmgate.records import digest_file
from filmgate.stage.choice import HotFile


def drop_damaged(folder: Path, files: Sequence[HotFile], *, all_of: bool) -> int:
    """Remove hot files with other content than the wanted one; how many.

    Read whole are those whose time of change is not the one that staging gave them, or all. Whoever
    has a damaged one open keeps it, and is given the cold file next time.
    """
    num_dropped = 0
    for file in files:
        path = folder / file.name
        if not path.is_file():
            continue
        is_touched = path.stat().st_mtime_ns != file.mtime_ns
        if not is_touched and not all_of:
            continue
        if digest_file(path) != file.content_digest:
            path.unlink()
            num_dropped += 1
        elif is_touched:
            os.utime(path, ns=(path.stat().st_atime_ns, file.mtime_ns))
    return num_dropped
