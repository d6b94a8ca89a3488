"""fio, asked through its JSON. Source: https://fio.readthedocs.io/en/latest/fio_doc.html"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filmgate.bench.files import farm
from filmgate.errors import DeadlineError, UserError

HOW_TO_GET = "install fio: `apt-get install fio`, `dnf install fio`, or your cluster's module"
ENGINES = ("io_uring", "libaio", "psync")
"""Asynchronous ones first; the last one has one read under way at a time and job."""
MOST_OPEN = 64
"""Files that a reader has open at a time."""
MORE_SECONDS = 120.0
"""What fio may take beyond the time that it is told to run, to open and lay out."""


@dataclass(frozen=True, kw_only=True)
class Fio:
    """An fio that works here."""

    command: str
    """Its path."""
    version: str
    """``fio-3.33``."""
    engine: str
    """How it reads."""
    direct: bool
    """Whether it reads past the page cache."""


@dataclass(frozen=True, kw_only=True)
class Pattern:
    """What one run of fio reads."""

    rw: str
    """``read`` or ``randread``."""
    block_bytes: int
    depth: int
    """Reads under way at a time, of each reader."""
    order: str = "sequential"
    """Which file is next: ``sequential``: one to its end, then the next; ``random``."""


@dataclass(frozen=True, kw_only=True)
class Reading:
    """What one run of fio found."""

    bytes_per_second: float
    operations_per_second: float
    p99_seconds: float | None
    """Time that 99 of 100 reads stayed below; None where fio did not tell."""


def find_fio(probe: Path) -> Fio | None:
    """An fio and an engine that can read the file ``probe``; None where fio is not installed.

    Raises UserError where it is installed and cannot read the file in any way.
    """
    command = shutil.which("fio")
    if command is None:
        return None
    version = subprocess.run(
        [command, "--version"], capture_output=True, text=True, timeout=30, check=True
    ).stdout.strip()
    said = []
    for direct in (True, False):
        for engine in ENGINES:
            fio = Fio(command=command, version=version, engine=engine, direct=direct)
            try:
                _run(fio, ["--name=probe", f"--filename={_escaped(probe)}", "--rw=read",
                           "--bs=4096", "--size=4096", "--iodepth=1"], 0)  # fmt: skip
            except UserError as error:
                said.append(f"{engine}: {error.message}")
                continue
            return fio
    raise UserError(f"fio cannot read {probe}: {said[-1]}", hint="try fio by hand on that file")


def read_for(
    fio: Fio,
    groups: Sequence[Sequence[Path]],
    pattern: Pattern,
    *,
    seconds: float,
    ramp_seconds: float,
) -> Reading:
    """Read files over and over for some seconds, those of the ramp not counted.

    Each group of files has a reader (a thread of fio) of its own. Raises UserError with fio's own
    words where it fails, DeadlineError where it does not end.
    """
    options = [
        f"--rw={pattern.rw}", f"--bs={pattern.block_bytes}", f"--iodepth={pattern.depth}",
        f"--file_service_type={pattern.order}", "--filename_format=file.$filenum",
        "--norandommap=1", "--time_based", f"--runtime={round(seconds * 1000)}ms",
        f"--ramp_time={round(ramp_seconds * 1000)}ms",
    ]  # fmt: skip
    with ExitStack() as stack:
        for number, group in enumerate(groups):
            folder = stack.enter_context(farm(group))
            num_open = min(len(group), MOST_OPEN)
            options += [f"--name=reader{number}", f"--directory={_escaped(folder)}",
                        f"--nrfiles={len(group)}", f"--openfiles={num_open}"]  # fmt: skip
        return _run(fio, options, seconds + ramp_seconds)


def replay(fio: Fio, logs: Sequence[Path], *, seconds: float) -> Reading:
    """Do the reads that the logs (fio's iolog, version 2) list, one thread a log, at once.

    ``seconds`` is about how long it takes. Raises as ``read_for``.
    """
    jobs = [
        word
        for number, log in enumerate(logs)
        for word in (f"--name=worker{number}", f"--read_iolog={_escaped(log)}", "--iodepth=1")
    ]
    return _run(fio, jobs, seconds)


def _run(fio: Fio, options: Sequence[str], seconds: float) -> Reading:
    with tempfile.TemporaryDirectory(prefix="filmgate-fio-") as folder:
        out = Path(folder) / "fio.json"
        command = [fio.command, "--readonly", "--thread", f"--direct={int(fio.direct)}",
                   f"--ioengine={fio.engine}", "--group_reporting", "--output-format=json",
                   f"--output={out}", *options]  # fmt: skip
        deadline = 3 * seconds + MORE_SECONDS
        try:
            # Its own folder: fio leaves files where it is started.
            done = subprocess.run(
                command, cwd=folder, capture_output=True, text=True, timeout=deadline, check=False
            )
        except subprocess.TimeoutExpired:
            raise DeadlineError(
                f"fio had not ended after {deadline:.0f} s", hint="is the storage still there?"
            ) from None
        text = out.read_text() if out.exists() else ""
    if done.returncode != 0:
        words = (done.stderr.strip() or text.strip() or done.stdout.strip()).splitlines()
        said = "; ".join(words[:2]) or f"exit code {done.returncode}"
        raise UserError(f"fio failed: {said}", hint=f"{fio.version}; try it by hand")
    return _reading(_parse(text))


def _parse(text: str) -> dict[str, Any]:
    """fio's JSON; warnings may stand before it."""
    start = re.search(r"^\{", text, re.MULTILINE)
    if start is None:
        raise UserError(f"fio told no figures: {text[:200]}", hint=HOW_TO_GET)
    found: dict[str, Any] = json.loads(text[start.start() :])
    return found


def _reading(answer: dict[str, Any]) -> Reading:
    read = answer["jobs"][0]["read"]
    share = read["clat_ns"].get("percentile", {}).get("99.000000")
    return Reading(
        bytes_per_second=float(read["bw_bytes"]),
        operations_per_second=float(read["iops"]),
        p99_seconds=None if share is None else share / 1e9,
    )


def _escaped(path: Path) -> str:
    """fio splits paths at colons."""
    return str(path).replace("\\", "\\\\").replace(":", "\\:")
