"""``filmgate pack``: many small images as a few shards, told on stderr as it goes."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

from filmgate.app.output import path_from_here
from filmgate.app.show import print_rows
from filmgate.app.terminal import Talk
from filmgate.catalog.labels import Labels
from filmgate.errors import UserError
from filmgate.pack import PackHeader
from filmgate.pack.annotate import AnnotationRules
from filmgate.pack.find import Kind
from filmgate.pack.make import pack_images
from filmgate.units import counted, format_bytes, parse_bytes
from filmgate.work import LocalExecutor

MAX_LEFT_OUT_LINES = 20
"""The rest is counted here, and listed in the record."""


def pack_with_progress(
    folder: Path,
    out: Path,
    talk: Talk,
    *,
    kind: Kind,
    labels: Labels,
    annotations: Sequence[str],
    rules: AnnotationRules,
    fps: str,
    shard_size: str,
    workers: int | None,
) -> PackHeader:
    """``pack_images``; raises what that raises."""
    with talk.job("pack", "shards") as progress:
        pack = pack_images(
            folder,
            out,
            kind=kind,
            labels=labels,
            annotations=annotations,
            rules=rules,
            fps=_fraction(fps),
            shard_bytes=_bytes(shard_size, "--shard-size"),
            executor=LocalExecutor(workers),
            on_progress=lambda at: progress(at.done, at.total, format_bytes(at.bytes_done)),
        )
    header = pack.header
    talk.note(f"pack: {counted(header.num_images, 'image')}, {len(header.left_out)} left out")
    for one in header.left_out[:MAX_LEFT_OUT_LINES]:
        talk.note(f"  left out: {one.path}: {one.reason}")
    if len(header.left_out) > MAX_LEFT_OUT_LINES:
        talk.note(f"  and {len(header.left_out) - MAX_LEFT_OUT_LINES} more: {out / 'pack.json'}")
    return header


def show_pack(header: PackHeader, out: Path) -> None:
    """A pack at a glance, then what did not fit."""
    rows = [
        ("pack", path_from_here(out)),
        ("images", f"{header.num_images} ({len(header.left_out)} left out)"),
        ("videos", f"{header.num_videos} {_KINDS[header.kind]}"),
        ("size", f"{format_bytes(header.bytes)} in {counted(len(header.shards), 'shard')}"),
        ("written now", counted(header.num_made, "shard")),
    ]
    if header.gaps:
        missing = sum(gap.num_missing for gap in header.gaps)
        first = header.gaps[0]
        where = f"the first at frame {first.first_missing} of {first.video_id}"
        rows.append(("missing frames", f"{missing} in {counted(len(header.gaps), 'gap')}, {where}"))
    facts = header.annotations
    if facts is not None:
        rows.append(
            ("annotations", f"{counted(facts.num_objects, 'object')} of "
             f"{counted(len(facts.classes), 'class')} on {counted(facts.num_images, 'image')}, "
             f"{counted(facts.num_tracks, 'track')}")
        )  # fmt: skip
        rows += [
            (f"{fault.done}: {fault.count}", f"{fault.kind} (e.g. {'; '.join(fault.examples[:3])})")
            for fault in facts.faults
        ]
    print_rows(rows)


_KINDS = {"images": "(each image is one)", "frames": "(each folder of frames is one)"}


def _bytes(text: str, option: str) -> int:
    try:
        return parse_bytes(text)
    except ValueError as error:
        raise UserError(f"{option}: {error}", hint=f"for example {option} 128MB") from None


def _fraction(text: str) -> Fraction:
    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise UserError(
            f"{text!r} frames a second", hint="a number or a fraction, for example 30000/1001"
        ) from None
