"""Where checks work: the installed command, a folder of their own, the video corpus."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
FRAMEMD5 = ["-map", "0:V:0", "-autoscale", "0", "-fps_mode", "passthrough", "-f", "framemd5", "-"]


class CommandFailed(Exception):
    """A command that a check cannot do without did not end well."""


@dataclass(frozen=True, kw_only=True)
class Place:
    """What a check may use."""

    folder: Path
    """Empty, its own, removed afterwards."""
    corpus: Path | None
    """Folder with real/, synthetic/, broken/ and reference/; None where there is none."""
    filmgate: Path = Path(sys.executable).parent / "filmgate"
    """The installed entry point."""

    def run(
        self,
        *arguments: str | Path,
        deadline_seconds: float = 300,
        environment: Mapping[str, str] | None = None,
    ) -> subprocess.CompletedProcess[str]:
        """Run filmgate to its end, whatever the exit code. Raises subprocess.TimeoutExpired."""
        return subprocess.run(
            [str(self.filmgate), *map(str, arguments)],
            cwd=self.folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=deadline_seconds,
            check=False,
        )

    def record(self, *arguments: str | Path, deadline_seconds: float = 300) -> dict[str, Any]:
        """The record that filmgate prints with ``--json``. Raises CommandFailed."""
        done = self.run(*arguments, "--json", deadline_seconds=deadline_seconds)
        if done.returncode != 0:
            shown = " ".join(map(str, arguments))
            raise CommandFailed(f"filmgate {shown}: exit code {done.returncode}: {done.stderr}")
        record: dict[str, Any] = json.loads(done.stdout)
        return record

    def write_job(self, name: str, text: str) -> Path:
        """A job file in the place's folder."""
        path = self.folder / name
        path.write_text(text)
        return path


def ffmpeg(*arguments: str | Path, deadline_seconds: float = 300) -> str:
    """Standard output of the ffmpeg command line. Raises CommandFailed."""
    command: Sequence[str] = ["ffmpeg", "-nostdin", "-v", "error", *map(str, arguments)]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=deadline_seconds, check=False
    )
    if done.returncode != 0:
        raise CommandFailed(f"{' '.join(command)}: exit code {done.returncode}: {done.stderr}")
    return done.stdout


def ffmpeg_frame_hashes(video: Path) -> list[str]:
    """MD5 of every displayed frame in display order, as the ffmpeg command line decodes it."""
    return read_framemd5(ffmpeg("-noautorotate", "-i", video, *FRAMEMD5))


def read_framemd5(text: str) -> list[str]:
    """The hash column of ffmpeg's framemd5 format."""
    lines = (line for line in text.splitlines() if line and not line.startswith("#"))
    return [line.rsplit(",", 1)[1].strip() for line in lines]
