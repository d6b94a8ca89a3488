"""What only people know: asked once, kept with name and date."""

from __future__ import annotations

import re
from pathlib import Path

from filmgate.errors import UserError
from filmgate.records import Header, Record, read_record, write_record


class Attestation(Record, frozen=True):
    """One answer of a person."""

    item: str
    """Name of the line of the checklist."""
    holds: bool
    """Whether it holds, as that person says."""
    who: str
    """Name."""
    date: str
    """``2026-11-30``."""
    note: str
    """In that person's words."""


class Attested(Record, frozen=True):
    """``attested.json``: the answers that were given for a machine."""

    header: Header
    answers: list[Attestation]
    """One for each line, the newest."""


def read_attested(path: Path) -> list[Attestation]:
    """The answers in a file; none where there is no file. Raises UserError for another content."""
    return read_record(path, Attested).answers if path.exists() else []


def keep_attested(path: Path, answers: list[Attestation], new: list[Attestation]) -> None:
    """Write the answers, new ones in place of old ones to the same line."""
    by_item = {answer.item: answer for answer in [*answers, *new]}
    header = Header(schema="filmgate.attested", schema_version=1)
    write_record(path, Attested(header=header, answers=[by_item[name] for name in sorted(by_item)]))


def parse_answer(text: str, who: str, date: str, allowed: list[str]) -> Attestation:
    """``power-cooling=yes: two circuits of 16 A``. Raises UserError."""
    match = re.fullmatch(r"\s*([a-z-]+)\s*=\s*(yes|no)\s*(?::\s*(.*))?", text, re.DOTALL)
    if match is None:
        raise UserError(
            f"{text!r} is no answer; it reads LINE=yes or LINE=no, and a note after a colon",
            hint='for example --attest "power-cooling=yes: two circuits of 16 A"',
        )
    if match[1] not in allowed:
        raise UserError(
            f"{match[1]} is no line of the checklist; allowed: {', '.join(allowed)}",
            hint="`filmgate audit` lists them",
        )
    return Attestation(
        item=match[1], holds=match[2] == "yes", who=who, date=date, note=(match[3] or "").strip()
    )
