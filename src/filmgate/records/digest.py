"""Content digests: BLAKE3, written ``blake3:<hex>``."""

from __future__ import annotations

import mmap
from pathlib import Path

from blake3 import blake3


def digest_bytes(*parts: bytes) -> str:
    """The digest of the parts, one after another."""
    hasher = blake3()
    for part in parts:
        hasher.update(part)
    return f"blake3:{hasher.hexdigest()}"


def digest_file(path: Path) -> str:
    """The digest of a file's bytes, on one thread (the caller spreads files over cores).

    Raises OSError when the file cannot be read.
    """
    hasher = blake3()
    with path.open("rb") as file:
        if file.seek(0, 2) == 0:
            return f"blake3:{hasher.hexdigest()}"
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as view:
            hasher.update(view)
    return f"blake3:{hasher.hexdigest()}"
