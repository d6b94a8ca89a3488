"""Xid messages of the NVIDIA driver in the kernel's log, since it was opened.

Sources: Documentation/ABI/testing/dev-kmsg; NVIDIA, "Xid Errors".
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from filmgate.closing import Closing
from filmgate.machine.facts import words

KERNEL_LOG = Path("/dev/kmsg")
XID = re.compile(r"NVRM: Xid \(PCI:([0-9a-fA-F:.]+)\): (\d+)")
MAX_RECORDS = 10_000
"""At one look; a flood of messages must not hold the soak up."""


class KernelLog(Closing):
    """Where it cannot be read, usually without root, ``why_unreadable`` says why."""

    def __init__(self, path: Path = KERNEL_LOG) -> None:
        self.why_unreadable: str | None = "it is not open"
        self._path = path
        self._descriptor: int | None = None

    def open(self) -> None:
        """From here on; never raises."""
        try:
            self._descriptor = os.open(self._path, os.O_RDONLY | os.O_NONBLOCK)
            os.lseek(self._descriptor, 0, os.SEEK_END)
            self.why_unreadable = None
        except OSError as error:
            self.why_unreadable = words(error)

    def xids(self) -> list[str] | None:
        """Those since the last look, ``79 at 0000:65:00``; None where the log cannot be read."""
        if self._descriptor is None:
            return None
        found: list[str] = []
        for _ in range(MAX_RECORDS):
            try:
                record = os.read(self._descriptor, 8192)
            except BlockingIOError:
                break
            except BrokenPipeError:
                continue  # Records were overwritten before they were read; the next one follows.
            except OSError as error:
                self.why_unreadable = words(error)
                self.close()
                return found or None
            if not record:
                break
            text = record.decode(errors="replace")
            found += [f"{number} at {place.lower()}" for place, number in XID.findall(text)]
        return found

    def close(self) -> None:
        """Let the log go."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
