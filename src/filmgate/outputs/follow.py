"""The telemetry as it grows: whole lines from a place on."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import msgspec

from filmgate.outputs.points import Point, points_of
from filmgate.records.telemetry import AnyLine, Finish

MOST_BYTES = 256 * 1024
"""Read at a time, so that a long backlog goes out in pieces."""
_DECODER = msgspec.json.Decoder(AnyLine)


@dataclass(frozen=True, kw_only=True)
class Stretch:
    """A stretch of telemetry."""

    points: list[Point]
    """Its numbers, without those of steps that were there before."""
    last_steps: dict[str, int]
    """Kind of line -> newest step, up to and with this stretch."""
    end_bytes: int
    """Where the next one begins."""
    has_finish: bool
    """Whether the run comes to its end in it."""
    unreadable_lines: int
    """Torn by a kill, or of another version."""


def read_stretch(path: Path, start_bytes: int, last_steps: dict[str, int]) -> Stretch | None:
    """The next whole lines; None where there are none yet. An OSError is the caller's."""
    if not path.exists():
        return None
    with path.open("rb") as file:
        file.seek(start_bytes)
        content = file.read(MOST_BYTES)
    end = content.rfind(b"\n") + 1
    if end == 0:
        return None
    points: list[Point] = []
    newest, has_finish, unreadable = dict(last_steps), False, 0
    for raw in content[:end].split(b"\n"):
        try:
            line = _DECODER.decode(raw) if raw else None
        except msgspec.DecodeError:
            unreadable += 1
            continue
        if line is None:
            continue
        has_finish = has_finish or isinstance(line, Finish)
        kind = str(line.__struct_config__.tag)
        if line.step > newest.get(kind, -1):
            points += points_of(line)
            newest[kind] = line.step
    return Stretch(
        points=points,
        last_steps=newest,
        end_bytes=start_bytes + end,
        has_finish=has_finish,
        unreadable_lines=unreadable,
    )
