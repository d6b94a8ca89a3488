"""The videos that the benchmarks read, made once from the demo footage and kept in build/footage.

    python -m benchmarks.footage [LAYOUT ...]

``source``: 12 videos, 1280x720, 30 fps, 12 s, as x264 makes them when nobody thinks of training
(preset medium, key frames up to 250 apart). The others are training copies of these at 456x256, a
key frame every 16 frames, tuned for fast decoding: ``training`` of CRF 18 without B-frames;
``temporal`` of CRF 20, blocks of 16x16 and one reference, with 3 B-frames that nothing refers to
between two references, so that a clip of stride 4 that starts on a multiple of 4 needs hardly any
of them.

The folder's name is a digest of the recipe, the encoder's version and the demo files, so another
recipe makes other files and never mixes with old ones.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

from benchmarks.machine import ROOT
from filmgate.app.footage import demo_videos
from filmgate.errors import UserError
from filmgate.records import digest_bytes

Layout = Literal["source", "training", "temporal"]

CACHE = ROOT / "build" / "footage"
NUM_VIDEOS = 12
SECONDS = 12
FPS = 30
NUM_FRAMES = SECONDS * FPS
SOURCE_SIZE = (1280, 720)
CLIP_SIZE = (456, 256)
"""Width and height of clips and of training copies."""
ENCODE_DEADLINE_SECONDS = 900
CLIP_NAMES = ("bigbuckbunny.mp4", "bigbuckbunny.mp4", "bikes.mp4")
"""Taken in turn: two thirds animation, one third a hand-held camera."""

_X264 = ("-an", "-c:v", "libx264", "-preset", "medium", "-pix_fmt", "yuv420p")
_SHORT_GOP = ("-tune", "fastdecode", "-g", "16", "-keyint_min", "16",
              "-sc_threshold", "0")  # fmt: skip
_SQUARE = "setsar=1"
"""Pixels that are not square would be made so by filmgate, and by nobody else."""
_SCALE = ("-vf", f"scale={CLIP_SIZE[0]}:{CLIP_SIZE[1]}:flags=bicubic+accurate_rnd,{_SQUARE}")
_COPY_OPTIONS: dict[Layout, tuple[str, ...]] = {
    "training": (*_SCALE, *_X264, "-crf", "18", *_SHORT_GOP, "-bf", "0"),
    "temporal": (
        *_SCALE, *_X264, "-crf", "20", *_SHORT_GOP, "-bf", "3", "-b_strategy", "0",
        "-x264-params", "b-pyramid=none:weightp=0:ref=1:partitions=none",
    ),
}  # fmt: skip
LAYOUTS: tuple[Layout, ...] = ("source", "training", "temporal")


def videos(layout: Layout, cache: Path = CACHE) -> list[Path]:
    """Paths of the 12 videos of a layout, in order; those that are missing are encoded first.

    Raises UserError without ffmpeg, without libx264 or without the demo footage.
    """
    folder = cache / recipe_digest() / layout
    paths = [folder / f"{layout}{number:02}.mp4" for number in range(NUM_VIDEOS)]
    for number, path in enumerate(paths):
        if not path.exists():
            folder.mkdir(parents=True, exist_ok=True)
            _encode(list(_arguments(layout, number, cache)), path)
    return paths


def recipe_digest() -> str:
    """Names a set of videos: the options of every encode, the encoder, the demo files."""
    demo = {path.name: path.stat().st_size for path in demo_videos()}
    options = [_source_options(number) for number in range(NUM_VIDEOS)]
    recipe = [options, sorted(_COPY_OPTIONS.items()), sorted(demo.items()), _encoder_version()]
    return digest_bytes(repr(recipe).encode()).rpartition(":")[2][:16]


def _arguments(layout: Layout, number: int, cache: Path) -> Iterator[str]:
    if layout == "source":
        found = {path.name: path for path in demo_videos()}
        offset, options = _source_options(number)
        yield from ("-stream_loop", "4", "-ss", offset)
        yield from ("-i", str(found[CLIP_NAMES[number % len(CLIP_NAMES)]]), *options)
    else:
        yield from ("-i", str(videos("source", cache)[number]), *_COPY_OPTIONS[layout])


def _source_options(number: int) -> tuple[str, tuple[str, ...]]:
    """Where the loop of the demo clip begins, and how it is cut: each video looks different."""
    width, height = SOURCE_SIZE
    share = f"(1-0.03*{number})"
    filters = (
        f"fps={FPS},scale={width}:{height},"
        f"crop=iw*{share}:ih*{share}:iw*0.015*{number}:ih*0.01*{number},scale={width}:{height}"
    )
    mirrored = ",hflip" if number % 2 else ""
    return f"0.{number}", ("-t", str(SECONDS), "-vf", f"{filters}{mirrored},{_SQUARE}", *_X264)


def _encode(arguments: Sequence[str], path: Path) -> None:
    part = path.with_suffix(f".{os.getpid()}.part.mp4")
    command = ["ffmpeg", "-nostdin", "-v", "error", "-y", *arguments, str(part)]
    print(f"making {path.parent.name}/{path.name}", file=sys.stderr, flush=True)
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=ENCODE_DEADLINE_SECONDS, check=False
    )
    if done.returncode:
        part.unlink(missing_ok=True)
        raise UserError(
            f"ffmpeg could not make {path.name}: {done.stderr.strip()[-400:]}",
            hint="the benchmarks need an ffmpeg with libx264",
        )
    part.replace(path)


def _encoder_version() -> str:
    if shutil.which("ffmpeg") is None:
        raise UserError("no ffmpeg command", hint="apt-get install ffmpeg, then run it again")
    done = subprocess.run(
        ["ffmpeg", "-version"], capture_output=True, text=True, timeout=60, check=True
    )
    return done.stdout.splitlines()[0]


def main(names: Sequence[str]) -> int:
    """Make the layouts named, or all; exit code 2 for an unknown one."""
    unknown = sorted(set(names) - set(LAYOUTS))
    if unknown:
        print(f"error: no layout {', '.join(unknown)}\nhint: one of {LAYOUTS}", file=sys.stderr)
        return 2
    for layout in LAYOUTS:
        if not names or layout in names:
            paths = videos(layout)
            print(f"{layout}: {sum(path.stat().st_size for path in paths)} bytes, {paths[0]}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
