"""Frames come out exactly as an independent decoder has them, in any order of asking."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

from benchmarks.acceptance.check import Outcome, all_hold, check, not_measured
from benchmarks.acceptance.place import Place, ffmpeg, ffmpeg_frame_hashes, read_framemd5

TOPIC = "Exact frames"
ORDERS: tuple[tuple[str, ...], ...] = ((), ("--order", "random", "--seed", "1"))
FILE_DEADLINE_SECONDS = 600

GENERATED = {
    "b-frames.mp4": "-c:v libx264 -bf 3 -g 25",
    "open-gop.mp4": "-c:v libx264 -bf 2 -g 12 -x264-params open-gop=1",
    "edit-list.mp4": "-c:v libx264 -bf 2 -g 30 -movflags +faststart",
    "hevc.mkv": "-c:v libx265 -x265-params log-level=error",
    "vp9.webm": "-c:v libvpx-vp9 -deadline realtime -cpu-used 8",
    "mpeg4.avi": "-c:v mpeg4 -bf 2 -g 20",
    "mpeg2.ts": "-c:v mpeg2video -bf 2 -g 15",
    "intra.mov": "-c:v mjpeg",
    "ten-bit.mkv": "-c:v libx264 -pix_fmt yuv420p10le -bf 2",
    "odd-444.mp4": "-c:v libx264 -pix_fmt yuv444p -vf crop=101:75:0:0",
    "fragmented.mp4": "-c:v libx264 -movflags frag_keyframe+empty_moov",
}
"""Name -> how the ffmpeg command line encodes the test pattern."""


@check(
    name="frames-corpus",
    topic=TOPIC,
    line="`filmgate frames --md5`, in order and at random, equals the reference hashes for every "
    "real and synthetic file of the corpus.",
    bar="every file, both orders",
)
def frames_of_the_corpus(place: Place) -> Outcome:
    if place.corpus is None:
        return not_measured("no corpus at ../shared/videos")
    references = {path.stem: path for path in sorted((place.corpus / "reference").glob("*"))}
    videos = [
        video
        for folder in ("real", "synthetic")
        for video in sorted((place.corpus / folder).iterdir())
        if video.name in references
    ]
    misses = [
        miss
        for video in videos
        for miss in differences(place, video, read_framemd5(references[video.name].read_text()))
    ]
    return all_hold(misses, of=len(videos) * len(ORDERS), what="listings (file x order)")


@check(
    name="frames-generated",
    topic=TOPIC,
    line="`filmgate frames --md5`, in order and at random, equals what the ffmpeg command line "
    "decodes from files it made itself.",
    bar="every file, both orders",
)
def frames_of_generated_files(place: Place) -> Outcome:
    if shutil.which("ffmpeg") is None:
        return not_measured("no ffmpeg on PATH")
    misses = []
    for name, encoding in GENERATED.items():
        video = place.folder / name
        pattern = ("-f", "lavfi", "-i", "testsrc2=size=128x96:rate=25:duration=3")
        ffmpeg(*pattern, *encoding.split(), video)
        misses += list(differences(place, video, ffmpeg_frame_hashes(video)))
    return all_hold(misses, of=len(GENERATED) * len(ORDERS), what="listings (file x order)")


@check(
    name="frames-columns",
    topic=TOPIC,
    line="Without --json, `filmgate frames --md5` prints index, seconds and hash, a line a frame, "
    "and the same frames as the record.",
    bar="every line",
)
def frames_as_columns(place: Place) -> Outcome:
    if shutil.which("ffmpeg") is None:
        return not_measured("no ffmpeg on PATH")
    video = place.folder / "clip.mp4"
    ffmpeg("-f", "lavfi", "-i", "testsrc2=size=128x96:rate=25:duration=2", video)
    rows = [line.split("\t") for line in place.run("frames", video, "--md5").stdout.splitlines()]
    frames = place.record("frames", video, "--md5")["frames"]
    misses = [
        f"line {number}: {row} is not {frame}"
        for number, (row, frame) in enumerate(zip(rows, frames, strict=True))
        if row != [str(frame["index"]), f"{frame['seconds']:.6f}", frame["md5"]]
    ]
    return all_hold(misses, of=len(frames), what="lines")


def differences(place: Place, video: Path, expected: list[str]) -> Iterator[str]:
    """One line for each order in which the listed hashes are not the expected ones."""
    for order in ORDERS:
        shown = f"{video.name} {' '.join(order) or 'in order'}"
        done = place.run(
            "frames", video, "--md5", *order,
            deadline_seconds=FILE_DEADLINE_SECONDS,
        )  # fmt: skip
        if done.returncode != 0:
            yield f"{shown}: exit code {done.returncode}: {done.stderr.strip()[-300:]!r}"
            continue
        found = [line.split("\t")[-1] for line in done.stdout.splitlines()]
        wrong = [
            at for at, pair in enumerate(zip(found, expected, strict=False)) if len(set(pair)) > 1
        ]
        if len(found) != len(expected):
            yield f"{shown}: {len(found)} frames, expected {len(expected)}"
        elif wrong:
            yield f"{shown}: {len(wrong)} of {len(expected)} frames differ, first at {wrong[0]}"
