"""Staging as the command does it: sizes as people write them, progress, and what stayed cold."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from filmgate.app.interrupt import interruptible
from filmgate.app.output import path_from_here
from filmgate.app.show import print_rows
from filmgate.app.terminal import Talk
from filmgate.catalog import open_catalog
from filmgate.errors import UserError
from filmgate.spec import load_job
from filmgate.stage.choice import Wanted
from filmgate.stage.outcome import Staged
from filmgate.stage.progress import StageProgress
from filmgate.stage.stage import StageRules, stage_videos
from filmgate.units import counted, format_bytes, format_seconds, parse_bytes

MAX_LINES = 20
"""Of videos that failed and files that were kept; the rest is in the record."""


@dataclass(frozen=True, kw_only=True)
class Wish:
    """What was asked for, as it was typed."""

    source: str | None
    where: str | None
    job: Path | None
    budget: str | None
    rate: str | None
    parallel: int
    chunk: str
    stall_seconds: float
    evict: bool
    check: bool
    pin: bool | None


def stage_catalog(catalog: Path, out: Path, wish: Wish, talk: Talk) -> Staged:
    """``stage.stage_videos``, told on stderr as it goes; raises what that raises."""
    wanted = Wanted(
        where=wish.where,
        job=None if wish.job is None else load_job(wish.job),
        budget_bytes=None if wish.budget is None else _bytes(wish.budget, "--budget", "500GB"),
    )
    rules = StageRules(
        source=wish.source,
        parallel=wish.parallel,
        bytes_per_second=None if wish.rate is None else _bytes(wish.rate, "--rate", "200MB"),
        chunk_bytes=_bytes(wish.chunk, "--chunk", "16MiB"),
        stall_seconds=wish.stall_seconds,
        evict=wish.evict,
        check=wish.check,
        pin=wish.pin,
    )
    opened = open_catalog(catalog)
    with interruptible(), talk.job("stage", "files") as progress:

        def tell(at: StageProgress) -> None:
            """On the bar."""
            progress(at.files_done, at.files_total, _note(at))

        staged = stage_videos(
            opened, out, wanted, rules, on_progress=tell,
            on_warning=lambda warning: talk.note(f"warning: {warning}"),
        )  # fmt: skip
    for failed in staged.failed[:MAX_LINES]:
        talk.note(f"  stays cold: {failed.video_id}: {failed.reason}")
    for kept in staged.kept[:MAX_LINES]:
        talk.note(f"  not evicted: {kept.name}: {kept.reason}")
    return staged


def show_staged(staged: Staged) -> None:
    """What is hot, what is cold and why."""
    rate = staged.bytes_fetched / staged.seconds if staged.seconds else 0.0
    rows = [
        ("hot", f"{_files(staged.num_hot)}{_sharing(staged)}, {format_bytes(staged.bytes_hot)}"),
        ("fetched now", f"{_files(staged.num_staged)}, {format_bytes(staged.bytes_fetched)} in "
         f"{format_seconds(staged.seconds)}, {format_bytes(rate)}/s"),
        ("over budget",
         f"{_files(staged.num_over_budget)}, {format_bytes(staged.bytes_over_budget)}"),
        ("not selected", counted(staged.num_not_selected, "video")),
        ("never shown", counted(staged.num_never_shown, "video")),
        ("failed", _files(len(staged.failed))),
        ("damaged", f"{counted(staged.num_damaged_chunks, 'chunk')}, "
         f"{_files(staged.num_dropped)}"),
        ("evicted", f"{_files(staged.num_evicted)}, {format_bytes(staged.bytes_evicted)}"),
        ("kept", f"{_files(len(staged.kept))} that were to be evicted"),
    ]  # fmt: skip
    told = [(name, text) for name, text in rows if name == "hot" or not text.startswith("0 ")]
    warnings = [("warning", warning) for warning in staged.warnings]
    print_rows([*told, *warnings, ("catalog", path_from_here(staged.folder))])


def _files(number: int) -> str:
    return counted(number, "file")


def _sharing(staged: Staged) -> str:
    if not staged.num_sharing:
        return ""
    return f" ({counted(staged.num_sharing, 'video')} of the same bytes as another)"


def _note(at: StageProgress) -> str:
    """Bytes, rate and forecast: files say little where one of them is large."""
    note = f"{format_bytes(at.bytes_done)} of {format_bytes(at.bytes_total)}"
    if at.bytes_per_second is not None:
        note += f", {format_bytes(at.bytes_per_second)}/s"
    if at.left_seconds is not None:
        note += f", {format_seconds(at.left_seconds)} left"
    return note


def _bytes(text: str, option: str, example: str) -> int:
    try:
        number = parse_bytes(text)
    except ValueError as error:
        raise UserError(f"{option}: {error}", hint=f"for example {option} {example}") from None
    if number <= 0:
        raise UserError(f"{option} is {text}", hint="name a size above 0")
    return number
