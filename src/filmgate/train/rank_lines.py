"""What a rank tells the process that started it, a line of JSON each."""

from __future__ import annotations

import msgspec

RENDEZVOUS = "FILMGATE_RENDEZVOUS"
"""Environment variable with the place where the ranks of ``filmgate run --ranks`` meet: a file on
this machine."""


class StepLine(msgspec.Struct, frozen=True, kw_only=True, tag="step"):
    """A step was done."""

    step: int
    """Steps done."""
    steps: int
    """Steps in all."""
    said: str
    """For people."""


class EventLine(msgspec.Struct, frozen=True, kw_only=True, tag="event"):
    """Something unusual."""

    text: str
    """One sentence."""


class FaultLine(msgspec.Struct, frozen=True, kw_only=True, tag="fault"):
    """Why the rank ends before the run's end."""

    message: str
    """What, got, allowed."""
    hint: str
    """What to do next."""


RankLine = StepLine | EventLine | FaultLine
