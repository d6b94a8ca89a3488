"""The fixed jobs of a baseline, each a function that does one round and says what came out.

Shapes: B clips, P tokens of the prompt, D width of a token.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import torch

from filmgate.catalog import open_catalog
from filmgate.feed import open_feed
from filmgate.machine.baseline.record import Workload
from filmgate.records import Record, digest_bytes
from filmgate.spec import Job
from filmgate.train.learner import make_learner
from filmgate.train.repeatable import repeatable
from filmgate.train.update import Stopwatch, update
from filmgate.train.video_transformer import (
    LATENT_CHANNELS,
    PIXELS_PER_LATENT,
    PROMPT_TOKENS,
    WIDTH,
    VideoTransformer,
    sample,
)

LEARNING_RATE = 1e-3
DoRound = Callable[[], bytes]
"""Does one round, and returns what it computed."""


class Request(Record, frozen=True):
    """What one process of a baseline is to do."""

    workload: Workload
    """The job."""
    prompt: str
    """Its text."""
    catalog: str | None
    """Folder of the clips; null for a job without."""
    rounds: int
    """How often, the warm-up included."""


@contextmanager
def open_job(request: Request) -> Iterator[DoRound]:
    """The job, ready to do rounds with fixed seed, threads and device. Raises as the feed."""
    workload = request.workload
    device = torch.device(str(workload.device))
    with repeatable(int(workload.seed or 0), int(workload.threads or 1), device):
        if workload.job == "sample":
            yield _sampling(request, device)
        else:
            with _training(request, device) as do_round:
                yield do_round


def _sampling(request: Request, device: torch.device) -> DoRound:
    workload = request.workload
    model = VideoTransformer().to(device).eval()
    shape = (
        workload.batch_size, workload.frames, LATENT_CHANNELS,
        (workload.height or 0) // PIXELS_PER_LATENT, (workload.width or 0) // PIXELS_PER_LATENT,
    )  # fmt: skip
    noise_BTCHW = torch.randn(msgspec.convert(shape, tuple[int, ...])).to(device)
    prompt_BPD = _embedding(request.prompt).expand(noise_BTCHW.shape[0], -1, -1).to(device)
    steps = workload.steps or 1

    def do_round() -> bytes:
        """The same clips from the same noise every time."""
        return sample(model, noise_BTCHW, prompt_BPD, steps).cpu().numpy().tobytes()

    return do_round


def _embedding(prompt: str) -> torch.Tensor:
    """(1, P, D) numbers that are drawn from the text: a text encoder's place, not its meaning."""
    seed = int(digest_bytes(prompt.encode()).removeprefix("blake3:")[:15], 16)
    return torch.randn((1, PROMPT_TOKENS, WIDTH), generator=torch.Generator().manual_seed(seed))


@contextmanager
def _training(request: Request, device: torch.device) -> Iterator[DoRound]:
    job, steps = training_job(request.workload), request.workload.steps or 1
    catalog = open_catalog(str(request.catalog))
    with open_feed(job, catalog, split="train", device=device) as feed:
        learner, watch = make_learner(job, feed.num_classes, device), Stopwatch(device)
        batches = iter(feed)
        done = 0

        def do_round() -> bytes:
            """The next steps of one run."""
            nonlocal done
            losses = []
            for _ in range(steps):
                done += 1
                losses.append(update(learner, next(batches), LEARNING_RATE, done, watch))
            return " ".join(loss.hex() for loss in losses).encode()

        yield do_round


def training_job(workload: Workload) -> Job:
    """The job file that the workload stands for; clips are made in the training process."""
    tables = {
        "job": {"seed": workload.seed},
        "clip": {
            "frames": workload.frames, "stride": 1,
            "width": workload.width, "height": workload.height,
        },
        "train": {"batch_size": workload.batch_size, "device": workload.device},
        "limits": {"workers": 0, "train_threads": workload.threads},
    }  # fmt: skip
    return msgspec.convert(tables, Job)


def clips_digest(catalog_folder: Path) -> str:
    """Over the contents of the videos, wherever they lie."""
    contents = open_catalog(catalog_folder).column("content_digest").to_pylist()
    return digest_bytes("\n".join(sorted(contents)).encode())
