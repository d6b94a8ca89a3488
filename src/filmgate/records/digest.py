"""Content digests: BLAKE3, written ``blake3:<hex>``."""

from __future__ import annotations

from pathlib import Path
from threading import Event

from blake3 import blake3

BLOCK_BYTES = 1 << 20
"""Read at a time: copied into the cache that is quicker than mapping every page of a file."""


def digest_bytes(*parts: bytes) -> str:
    """The digest of the parts, one after another."""
    hasher = blake3()
    for part in parts:
        hasher.update(part)
    return f"blake3:{hasher.hexdigest()}"


def digest_file(path: Path, unwanted: Event | None = None) -> str:
    """The digest of a file's bytes, on one thread (the caller spreads files over cores).

    Raises OSError when the file cannot be read, InterruptedError once ``unwanted`` is set.
    """
    hasher, block = blake3(), memoryview(bytearray(BLOCK_BYTES))
    with path.open("rb", buffering=0) as file:
        while num_bytes := file.readinto(block):
            hasher.update(block[:num_bytes])
            if unwanted is not None and unwanted.is_set():
                raise InterruptedError(f"nobody wants the digest of {path} any more")
    return f"blake3:{hasher.hexdigest()}"
