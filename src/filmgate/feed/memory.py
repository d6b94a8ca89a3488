"""Resident memory of a group of processes, in which a shared page counts once."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path


def proportional_bytes(process_ids: Iterable[int]) -> int | None:
    """Resident bytes of this process and the others together; None where the kernel tells none.

    Each process counts its share of a page (PSS), so the shares add up to the page. A process that
    ended meanwhile counts nothing. Source: proc_pid_smaps(5), ``smaps_rollup``.
    """
    own = _proportional_bytes(os.getpid())
    if own is None:
        return None
    return own + sum(_proportional_bytes(process_id) or 0 for process_id in process_ids)


def _proportional_bytes(process_id: int) -> int | None:
    try:
        lines = Path(f"/proc/{process_id}/smaps_rollup").read_text().splitlines()
    except OSError:
        return None
    for line in lines:
        if line.startswith("Pss:"):
            return int(line.split()[1]) * 1024
    return None
