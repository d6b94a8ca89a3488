"""A summary of a run that never happened, with names a careless page would trip over."""

from __future__ import annotations

from filmgate.app.run_summary import LeftOutVideo, RunSummary, SkippedClip
from filmgate.spec import Job
from filmgate.train.result import ClassScore

SUMMARY = RunSummary(
    name="loading-dock",
    job=Job(),
    target="label",
    num_videos=12,
    left_out=[
        LeftOutVideo(path="cam3/<script>alert(1)</script>.mp4", reason="no video stream"),
        LeftOutVideo(path="cam1/\udcff&\u202egpj.mp4", reason="empty file"),
    ],
    num_frames=14400,
    video_seconds=480.0,
    video_bytes=98_000_000,
    codecs={"h264": 10, "hevc": 2},
    frame_sizes={"1280x720": 12},
    labels={"pallet": 6, "<b>person</b>": 6},
    warnings=["2 videos are read from their start"],
    skipped=[SkippedClip(path="cam2/a.mp4", place="frames 4 to 18", reason="reference missing")],
    num_skipped=3,
    num_parameters=1_204_355,
    steps=80,
    final_loss=0.3127,
    accuracy=0.7,
    chance=0.5,
    num_holdout_clips=40,
    classes=[
        ClassScore(name="pallet", num_clips=20, num_right=18),
        ClassScore(name="<b>person</b>", num_clips=20, num_right=10),
    ],
    attempts=2,
    seconds=412.0,
    digests={"catalog": "blake3:" + "ab" * 32},
)
