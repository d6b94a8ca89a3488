"""The one entry to a machine's record: this machine, or any kind of copy of another one."""

from __future__ import annotations

from pathlib import Path

from filmgate.machine.capture import open_capture
from filmgate.machine.hwloc import read_hwloc
from filmgate.machine.machine import Machine, read_machine, this_source
from filmgate.records import read_record


def open_machine(path: Path | None) -> Machine:
    """This machine where ``path`` is None; otherwise what a capture, an hwloc XML file, a tree of
    /proc and /sys, or a saved record of a machine tells.

    Raises UserError for anything else.
    """
    if path is None:
        return read_machine(this_source())
    if path.suffix == ".xml":
        return read_hwloc(path)
    if path.suffix == ".json":
        return read_record(path, Machine)
    return read_machine(open_capture(path))
