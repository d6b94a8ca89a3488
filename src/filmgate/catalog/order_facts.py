"""Everything that decides the samples of a split, as one record."""

from __future__ import annotations

from typing import Literal

import msgspec
from blake3 import blake3

from filmgate.catalog.clip_frames import Short, Split
from filmgate.catalog.held_out import HeldOutBy
from filmgate.records import Record, digest_bytes
from filmgate.spec import Augment, Clip, Job

ORDER_VERSION = 1
"""Raised when the same facts give other samples than before."""


PURPOSES = (
    "epoch", "clip", "substitute", "parts", "turns", "resized crop", "augmentation",
)  # fmt: skip
"""What chance is drawn for; each has a key of its own, so that none depends on another."""


class OrderFacts(Record, frozen=True, kw_only=True):
    """Everything that decides the samples; two orders with equal facts are the same order."""

    version: int = ORDER_VERSION
    """Version of the arithmetic."""
    catalog_digest: str
    """The videos: contents, labels and frame counts, in row order."""
    seed: int
    """The job's."""
    split: Split
    """Which part of each video."""
    frames: int
    """Frames per clip (T)."""
    stride: int | None
    """Source frames from one clip frame to the next; None when ``fps`` is set."""
    fps: float | None
    """Clip frames per second of source time; None when ``stride`` is set."""
    crop: Literal["random", "centre", "random-resized"]
    """Where the window of a training clip lies."""
    flip: bool
    """Whether half of the training clips are mirrored."""
    holdout: float
    """Share of each video's frames that is kept for evaluation."""
    clips_per_video: int
    """Training clips of each video in one epoch, on average with ``weights``."""
    eval_clips_per_video: int
    """Held-out clips of each held-out video."""
    short: Short
    """What a clip does that is longer than its range."""
    sampling: Literal["random", "uniform", "dense"] = "random"
    """How the frames of a clip are chosen."""
    eval_crops: int = 1
    """Windows of each held-out clip."""
    weights: Literal["equal", "class-balanced", "csv"] = "equal"
    """How often each video is shown."""
    weights_digest: str | None = None
    """The numbers of the CSV file, in row order; None without one."""
    augment: Augment = Augment()
    """Random changes to training clips; of the held-out split always none."""
    start_multiple: int = 1
    """Clips begin on multiples of so many frames, where a whole clip has room for it: on the
    references of a training copy that is laid out for this stride. 1: anywhere."""
    held_out_by: HeldOutBy = "time"
    """What is evaluated: the end of each video, or whole rows, by chance or as their split says."""

    @property
    def digest(self) -> str:
        """Over all of them. Orders by time have the digest that they had before there were others,
        so that what was begun goes on."""
        told = msgspec.to_builtins(self)
        if self.held_out_by == "time":
            del told["held_out_by"]
        return digest_bytes(msgspec.json.encode(told))


def order_facts(
    job: Job,
    split: Split,
    catalog_digest: str,
    weights_digest: str | None = None,
    reference_every: int = 1,
) -> OrderFacts:
    """The facts of a job's clips over a catalog."""
    clip, data = job.clip, job.data
    return OrderFacts(
        catalog_digest=catalog_digest,
        seed=job.job.seed,
        split=split,
        frames=clip.frames,
        stride=clip.stride,
        fps=clip.fps,
        crop=clip.crop,
        flip=clip.flip,
        holdout=data.holdout,
        clips_per_video=data.clips_per_video,
        eval_clips_per_video=data.eval_clips_per_video,
        short=data.short,
        sampling=clip.sampling,
        eval_crops=data.eval_crops,
        weights=_weights_kind(data.weights),
        weights_digest=weights_digest,
        augment=job.augment if split == "train" else Augment(),
        start_multiple=_start_multiple(clip, reference_every),
    )


def _start_multiple(clip: Clip, reference_every: int) -> int:
    """Frames between references where every frame of a clip can fall on one; otherwise 1."""
    by_stride = clip.stride is not None and clip.sampling != "uniform"
    return reference_every if by_stride and (clip.stride or 1) % reference_every == 0 else 1


def _weights_kind(weights: str) -> Literal["equal", "class-balanced", "csv"]:
    kinds: dict[str, Literal["equal", "class-balanced"]]
    kinds = {"equal": "equal", "class-balanced": "class-balanced"}
    return kinds.get(weights, "csv")


def order_keys(facts: OrderFacts) -> dict[str, bytes]:
    """One key per purpose, from what the user calls the same run: catalog, seed and split."""
    root = f"{facts.version} {facts.catalog_digest} {facts.seed} {facts.split}"
    return {
        purpose: blake3(f"filmgate order {root} {purpose}".encode()).digest()
        for purpose in PURPOSES
    }
