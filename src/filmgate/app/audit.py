"""``filmgate audit``: needs put together, the checklist judged, answers of people kept."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from msgspec.structs import replace

from filmgate.app.bench_needs import with_bench
from filmgate.errors import UserError
from filmgate.machine import Audit, Machine, Needs, audit_machine, open_machine
from filmgate.machine.attested import Attestation, keep_attested, parse_answer, read_attested
from filmgate.machine.checklist import CHECKS, questions
from filmgate.machine.needs import needs_of
from filmgate.spec import load_job
from filmgate.units import parse_bytes

ATTESTED = Path("attested.json")


@dataclass(frozen=True, kw_only=True)
class Wish:
    """What the command line asks for."""

    capture: Path | None = None
    job: Path | None = None
    dataset: Path | None = None
    checkpoints: Path | None = None
    second_copy: Path | None = None
    nodes: int = 1
    need_vram: str | None = None
    need_read: str | None = None
    measured_read: str | None = None
    bench: Path | None = None
    attest: tuple[str, ...] = ()
    by: str | None = None
    ask: bool = False
    attested: Path | None = None


def audit_with(wish: Wish) -> Audit:
    """The audit, after new answers were kept. Raises UserError for what cannot be understood."""
    needs = needs_from(wish)
    new = _told_answers(wish)
    if wish.ask and not sys.stdin.isatty():
        raise UserError("--ask needs a terminal", hint='answer with --attest "LINE=yes: note"')
    machine = open_machine(wish.capture)
    if wish.bench is not None:
        needs = with_bench(needs, wish.bench, machine)
    file = wish.attested or (ATTESTED if wish.capture is None else None)
    if file is None and (new or wish.ask):
        raise UserError(
            "answers about another machine need a file of their own",
            hint="name it with --attested, so that they are never taken for this machine's",
        )
    answers = read_attested(file) if file is not None else []
    answers = _newest(answers, new)
    if wish.ask:
        asked = _ask(machine, needs, answers, wish)
        new, answers = [*new, *asked], _newest(answers, asked)
    if file is not None and new:
        keep_attested(file, answers, new)
    return audit_machine(machine, needs, answers)


def has_failed(audit: Audit, *, strict: bool) -> bool:
    """Whether the command ends with exit code 1."""
    bad = ("fail", "warn", "unknown") if strict else ("fail",)
    return any(item.status in bad for item in audit.items)


def needs_from(wish: Wish) -> Needs:
    """The job's needs, and what the command line tells beside them."""
    needs = needs_of(load_job(wish.job)) if wish.job else Needs()
    is_here = wish.capture is None
    return replace(
        needs,
        dataset=_path(wish.dataset, is_here=is_here),
        checkpoints=_path(wish.checkpoints, is_here=is_here),
        second_copy=_path(wish.second_copy, is_here=is_here),
        num_nodes=wish.nodes,
        vram_bytes=_bytes("--need-vram", wish.need_vram),
        read_bytes_per_second=_bytes("--need-read", wish.need_read),
        measured_read_bytes_per_second=_bytes("--measured-read", wish.measured_read),
    )


def _path(path: Path | None, *, is_here: bool) -> str | None:
    """Links followed on this machine; on another one the path is taken as it is."""
    if path is None:
        return None
    if not is_here:
        if path.is_absolute():
            return str(path)
        raise UserError(f"{path} is not absolute", hint="name it as it is on that machine")
    if not path.exists():
        raise UserError(f"{path} does not exist", hint="name a folder that is there")
    return str(path.resolve())


def _bytes(option: str, text: str | None) -> int | None:
    if text is None:
        return None
    try:
        return parse_bytes(text.removesuffix("/s"))
    except ValueError as error:
        raise UserError(f"{option}: {error}", hint=f"for example {option} 2GB") from None


def _told_answers(wish: Wish) -> list[Attestation]:
    if not wish.attest:
        return []
    allowed = [check.name for check in CHECKS]
    answers = [parse_answer(text, wish.by or "", _today(), allowed) for text in wish.attest]
    if not wish.by:
        raise UserError("an answer is kept with a name", hint="say who attests with --by")
    return answers


def _today() -> str:
    return datetime.now(UTC).date().isoformat()


def _newest(old: list[Attestation], new: list[Attestation]) -> list[Attestation]:
    return list({answer.item: answer for answer in [*old, *new]}.values())


def _ask(
    machine: Machine, needs: Needs, answers: list[Attestation], wish: Wish
) -> list[Attestation]:
    """One question for each line that only people know; an empty answer leaves it unknown."""
    open_questions = questions(audit_machine(machine, needs, answers))
    if not open_questions:
        return []
    who = wish.by or _line("Your name: ")
    given = []
    for name, question in open_questions:
        said = _line(f"{question} yes or no, and a note after a colon; empty: unknown: ")
        if said:
            given.append(parse_answer(f"{name}={said}", who, _today(), [name]))
    return given


def _line(prompt: str) -> str:
    print(prompt, end="", file=sys.stderr, flush=True)  # noqa: T201 - talk goes to stderr
    return sys.stdin.readline().strip()
