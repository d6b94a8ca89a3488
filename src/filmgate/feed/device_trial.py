"""A trial of two lanes: do they give the same samples, and what does a clip take in each?"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from filmgate.catalog import Catalog
from filmgate.feed.backend import Trial
from filmgate.feed.device_lane import DeviceLane
from filmgate.feed.device_samples import chroma_levels, luma_levels, samples_of
from filmgate.feed.geometry import Size
from filmgate.feed.nvdec import NvdecCapabilities, why_not_nvdec

NUM_VIDEOS = 4
"""Videos of a trial, spread evenly over those that NVDEC decodes."""
MAX_VIDEOS_LOOKED_AT = 200
FRAMES_PER_CLIP = 16
STRIDE = 2
ROUNDS = 2
"""Every clip is made so often by each decoder, in turns, after once to warm up."""


@dataclass(frozen=True, kw_only=True)
class TrialClip:
    """Frames of one video."""

    video: int
    frame_indices: list[int]


def trial_clips(catalog: Catalog, capabilities: NvdecCapabilities) -> list[TrialClip]:
    """A clip from the middle of a few videos that NVDEC decodes; the same ones every time."""
    step = max(1, catalog.num_videos // MAX_VIDEOS_LOOKED_AT)
    rows = [
        row
        for row in range(0, catalog.num_videos, step)
        if why_not_nvdec(catalog.video(row), capabilities) is None
    ]
    chosen = rows[:: max(1, -(-len(rows) // NUM_VIDEOS))]
    return [
        TrialClip(video=row, frame_indices=middle_frames(int(catalog.num_frames[row])))
        for row in chosen
    ]


def middle_frames(num_frames: int) -> list[int]:
    """At most FRAMES_PER_CLIP frames, STRIDE apart, around the middle."""
    span = min(num_frames, (FRAMES_PER_CLIP - 1) * STRIDE + 1)
    first = (num_frames - span) // 2
    return list(range(first, first + span, STRIDE))


def hold_trial(
    clips: Sequence[TrialClip],
    nvdec: DeviceLane,
    cpu: DeviceLane,
    size: Size | None,
    short_side: int | None,
) -> Trial:
    """Make the clips in both lanes and compare. Raises VideoError for one that does not come."""
    assert clips
    are_equal = all(_are_equal(clip, nvdec, cpu) for clip in clips)
    spent = {lane: [0.0, 0.0] for lane in (nvdec, cpu)}
    for number in range(ROUNDS + 1):
        for clip in clips:
            for lane in (nvdec, cpu):
                wall, own = _cost(clip, lane, size, short_side)
                if number > 0:
                    spent[lane][0] += wall
                    spent[lane][1] += own
    num_clips = ROUNDS * len(clips)
    return Trial(
        num_clips=num_clips,
        frames_per_clip=len(clips[0].frame_indices),
        nvdec_seconds_per_clip=spent[nvdec][0] / num_clips,
        nvdec_cpu_seconds_per_clip=spent[nvdec][1] / num_clips,
        cpu_seconds_per_clip=spent[cpu][1] / num_clips,
        are_equal=are_equal,
    )


def _are_equal(clip: TrialClip, nvdec: DeviceLane, cpu: DeviceLane) -> bool:
    # A frame's memory is the next one's as well, so its samples are compared before that.
    pairs = zip(
        nvdec.frames(clip.video, clip.frame_indices),
        cpu.frames(clip.video, clip.frame_indices),
        strict=True,
    )
    return all(
        torch.equal(luma_levels(one).cpu(), luma_levels(other).cpu())
        and torch.equal(chroma_levels(one).cpu(), chroma_levels(other).cpu())
        for one, other in ((samples_of(a), samples_of(b)) for (_, a), (_, b) in pairs)
    )


def _cost(
    clip: TrialClip, lane: DeviceLane, size: Size | None, short_side: int | None
) -> tuple[float, float]:
    """Wall and CPU seconds of one clip, until it lies on the device."""
    wall, own = time.perf_counter(), time.thread_time()
    lane.read(clip.video, [clip.frame_indices], size, short_side)
    if lane.device.type == "cuda":
        torch.cuda.synchronize(lane.device)
    return time.perf_counter() - wall, time.thread_time() - own
