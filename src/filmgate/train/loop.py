"""The training loop and the evaluation: ordinary PyTorch, one small function per stage.

Shapes: B clips, T frames, C channels, H height, W width, K classes.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

import torch
from torch.nn import functional

from filmgate.errors import FeedError, UserError
from filmgate.feed import Batch, Feed
from filmgate.records import digest_bytes
from filmgate.records.telemetry import FeedSnapshot, Step
from filmgate.spec import Job
from filmgate.train.inputs import augmented_inputs, moved, to_device
from filmgate.train.journal import Journal
from filmgate.train.learner import Learner, Progress, learning_rate_at
from filmgate.train.models import blames, check_logits
from filmgate.train.signals import StopRequest, StopWait

MAX_GRADIENT_NORM = 1.0
STEPS_PER_SNAPSHOT = 10
MAX_EMPTY_BATCHES = 100
"""So many batches in a row without one usable clip end the run."""


@dataclass(frozen=True, kw_only=True)
class Score:
    """What the held-out clips say of the model."""

    loss: float
    """Mean over the clips."""
    num_clips_K: list[int]
    """Clips of each class."""
    num_right_K: list[int]
    """How many of them were classified right."""

    @property
    def num_clips(self) -> int:
        """All clips."""
        return sum(self.num_clips_K)

    @property
    def accuracy(self) -> float:
        """Share classified right, 0..1."""
        return sum(self.num_right_K) / self.num_clips

    @property
    def chance(self) -> float:
        """Share of the most frequent class: what always guessing it would score."""
        return max(self.num_clips_K) / self.num_clips


class Stopwatch:
    """Seconds of each stage of a step; on a GPU it waits for the stage to be done."""

    def __init__(self, device: torch.device) -> None:
        self._is_cuda = device.type == "cuda"
        self.start()

    def start(self) -> None:
        """Begin a step."""
        self._started = self._lapped = time.perf_counter()
        self._seconds: dict[str, float] = {}

    def lap(self, stage: str) -> None:
        """End a stage."""
        if self._is_cuda:
            torch.cuda.synchronize()
        now = time.perf_counter()
        self._seconds[stage] = self._seconds.get(stage, 0.0) + now - self._lapped
        self._lapped = now

    def stop(self) -> dict[str, float]:
        """The fields of a telemetry step, and a new step begins."""
        fields = {f"{stage}_seconds": seconds for stage, seconds in self._seconds.items()}
        fields["total_seconds"] = self._lapped - self._started
        self._started = self._lapped
        self._seconds = {}
        return fields


@dataclass(kw_only=True)
class Loop:
    """One attempt at the steps of a job, from ``progress`` on."""

    job: Job
    learner: Learner
    feed: Feed
    journal: Journal
    stop: StopRequest
    progress: Progress
    """How far it is; replaced after every step."""
    epoch_clips: int
    """Training clips in one epoch."""
    save: Callable[[Progress], None]
    """Makes a commit."""
    on_step: Callable[[Step], None]
    before: Progress = field(init=False)
    """Where this attempt begins, and with it the feed's counters."""

    def __post_init__(self) -> None:
        self.before = self.progress

    def run(self) -> None:
        """Take steps up to the job's last, or until a stop is asked for; then commit."""
        saved_step = self.before.step
        watch = Stopwatch(self.learner.device)
        batches = self._batches()
        while self.progress.step < self.job.train.steps and not self.stop.is_asked:
            queued = self.feed.ready_batches
            try:
                with self.stop.breaks_wait():
                    batch = next(batches)
            except StopWait:
                break
            watch.lap("data_wait")
            self._step(batch, queued, watch)
            if self.progress.step % self.job.train.commit_every_steps == 0:
                self.save(self.progress)
                saved_step = self.progress.step
                watch.start()
        if self.progress.step > saved_step:
            self.save(self.progress)
        if self.progress.step > self.before.step:
            self._snapshot()

    def _step(self, batch: Batch, queued: int, watch: Stopwatch) -> None:
        step = self.progress.step + 1
        learning_rate = learning_rate_at(step, self.job)
        loss = update(self.learner, batch, learning_rate, step, watch)
        self.progress = self._after(batch, step, loss)
        self.journal.step = step
        line = self.journal.write(
            Step,
            step=step,
            epoch=int(self.progress.feed["next_sample"]) / self.epoch_clips,
            loss=loss,
            learning_rate=learning_rate,
            samples_digest=batch.samples_digest,
            feed_queue_batches=queued,
            **watch.stop(),
        )
        assert isinstance(line, Step)
        self.on_step(line)
        if step % STEPS_PER_SNAPSHOT == 0:
            self._snapshot()

    def _after(self, batch: Batch, step: int, loss: float) -> Progress:
        digests = (self.progress.samples_digest, batch.samples_digest)
        return Progress(
            step=step,
            feed=self.feed.state_dict(),
            samples_digest=digest_bytes("\n".join(digests).encode()),
            loss=loss,
            **self.before.counts_and(self.feed.stats()),
        )

    def _batches(self) -> Iterator[Batch]:
        """Batches with at least one usable clip. Raises FeedError when there is none for long."""
        num_empty, is_told = 0, False
        for batch in self.feed:
            if bool(batch.valid_B.any()):
                num_empty = 0
                yield batch
                continue
            if not is_told:
                self.journal.tell(
                    f"no clip of the batch at sample {batch.sample_start} can be used; such batches"
                    " are passed over, their clips are counted as skipped"
                )
            num_empty, is_told = num_empty + 1, True
            if num_empty == MAX_EMPTY_BATCHES:
                break
        raise FeedError(
            f"the feed gave no usable clip in {num_empty} batches in a row",
            hint="the skipped clips and their reasons are listed in the report",
        )

    def _snapshot(self) -> None:
        stats = self.feed.stats()
        self.journal.write(
            FeedSnapshot,
            step=self.progress.step,
            clips=stats.clips,
            frames_delivered=stats.frames_delivered,
            frames_decoded=stats.frames_decoded,
            bytes_read=stats.bytes_read,
            worker_busy_seconds=stats.worker_busy_seconds,
            worker_wait_seconds=stats.worker_wait_seconds,
            stage_seconds=stats.stage_seconds,
            skipped=stats.num_skipped,
            skipped_in_run=self.progress.num_skipped,
            worker_cpu_seconds=stats.worker_cpu_seconds,
            num_workers=stats.size.num_workers,
            depth_batches=stats.size.depth_batches,
            numa_node=stats.size.numa_node,
            clips_hot=stats.clips_hot,
            clips_cold=stats.clips_cold,
            bytes_hot=stats.bytes_hot,
            bytes_cold=stats.bytes_cold,
        )


def update(
    learner: Learner, batch: Batch, learning_rate: float, step: int, watch: Stopwatch
) -> float:
    """One optimizer update; its loss.

    Raises UserError, with the weights as they were, when loss or gradient is not finite.
    """
    frames_BTCHW, targets = _inputs(learner, batch, watch)
    learner.model.train()
    loss = functional.cross_entropy(predict(learner, frames_BTCHW), targets)
    watch.lap("forward")
    learner.optimizer.zero_grad(set_to_none=True)
    with blames(learner.factory, "the backward pass"):
        torch.autograd.backward(loss)
    watch.lap("backward")
    norm = torch.nn.utils.clip_grad_norm_(learner.model.parameters(), MAX_GRADIENT_NORM)
    if not math.isfinite(loss.item()) or not math.isfinite(norm.item()):
        raise _diverged(step, batch, loss.item(), norm.item())
    for group in learner.optimizer.param_groups:
        group["lr"] = learning_rate
    learner.optimizer.step()
    watch.lap("optimizer")
    return loss.item()


def _inputs(learner: Learner, batch: Batch, watch: Stopwatch) -> tuple[torch.Tensor, torch.Tensor]:
    """Frames and targets; changing them on the device counts with the forward pass."""
    augmentation = batch.augmentation
    if augmentation is None:
        frames_BTCHW, targets = to_device(batch, learner.device)
        watch.lap("transfer")
        return frames_BTCHW, targets
    batch = moved(batch, learner.device)
    watch.lap("transfer")
    return augmented_inputs(batch, augmentation, learner.num_classes)


def predict(learner: Learner, frames_BTCHW: torch.Tensor) -> torch.Tensor:
    """Logits (B, K). Raises UserError when the model gives anything else, or fails."""
    with blames(learner.factory, "the model's forward"):
        logits = learner.model(frames_BTCHW)
    return check_logits(logits, learner.factory, (len(frames_BTCHW), learner.num_classes))


@torch.no_grad()
def evaluate(
    learner: Learner, batches: Iterable[Batch], *, windows_per_clip: int = 1
) -> Score | None:
    """The score over all usable clips, each counted once; None when there is none.

    A short video has fewer different clips than are asked of it; the list then repeats them, and a
    repeat tells nothing new. With several windows of a clip each window is one.
    """
    learner.model.eval()
    num_classes = learner.num_classes
    losses, clips_K, right_K = 0.0, _zeros(num_classes), _zeros(num_classes)
    times_seen: Counter[tuple[int, bytes]] = Counter()
    for batch in batches:
        is_new_B = _is_new(batch, times_seen, windows_per_clip)
        if not bool(is_new_B.any()):
            continue
        frames_BTCHW, labels_B = to_device(batch, learner.device, is_new_B)
        logits_BK = predict(learner, frames_BTCHW)
        losses += functional.cross_entropy(logits_BK, labels_B, reduction="sum").item()
        is_right_B = (logits_BK.argmax(dim=1) == labels_B).cpu()
        clips_K += torch.bincount(labels_B.cpu(), minlength=num_classes)
        right_K += torch.bincount(labels_B.cpu()[is_right_B], minlength=num_classes)
    if not clips_K.any():
        return None
    return Score(
        loss=losses / int(clips_K.sum()),
        num_clips_K=clips_K.tolist(),
        num_right_K=right_K.tolist(),
    )


def _is_new(
    batch: Batch, times_seen: Counter[tuple[int, bytes]], windows_per_clip: int
) -> torch.Tensor:
    """(B,) usable clips whose frames were not scored before in as many windows as there are."""
    is_new_B = batch.valid_B.clone()
    for row in range(len(is_new_B)):
        clip = int(batch.video_B[row]), batch.frame_indices_BT[row].numpy().tobytes()
        times_seen[clip] += 1
        is_new_B[row] &= times_seen[clip] <= windows_per_clip
    return is_new_B


def _zeros(num_classes: int) -> torch.Tensor:
    return torch.zeros(num_classes, dtype=torch.int64)


def _diverged(step: int, batch: Batch, loss: float, norm: float) -> UserError:
    clips = [
        f"{video_id} frames {int(indices_T[0])}..{int(indices_T[-1])}"
        for video_id, indices_T in zip(batch.video_ids, batch.frame_indices_BT, strict=True)
    ]
    return UserError(
        f"training diverged at step {step}: loss {loss}, gradient norm {norm};"
        f" samples: {'; '.join(clips)}; the commits are untouched",
        hint="lower learning_rate in [train], or look at the clips named above",
    )
