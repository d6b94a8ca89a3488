"""What `filmgate bench` measures of decoding, number formats and the exchange of gradients."""

from __future__ import annotations

import json
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.acceptance.check import Outcome, all_hold, check
from benchmarks.acceptance.place import ROOT, CommandFailed, Place
from benchmarks.ddp_rank import DdpAnswer, DdpRequest
from filmgate.bench.processes import run_together
from filmgate.work.cores import num_usable_cores

TOPIC = "Bench"
ALLOWED = 0.25
RANKS = 2
MODELS = ((1024, 8, 64), (1024, 24, 64), (512, 40, 256))
"""Width, depth and batch: gradients of 34, 101 and 42 MB, in few large and many small parts."""
TURNS, STEPS = 3, 12
FORMULA = "2 (ranks - 1) / ranks"


@check(
    name="bench-sync-formula",
    topic=TOPIC,
    line="All-reduce bandwidth is counted as nccl-tests does, every sum is checked, every figure "
    "has warm-up, repetitions and spread.",
    bar="8 B to 64 MiB on 2 processes, each of 5 values and more",
)
def bench_sync_formula(place: Place) -> Outcome:
    part = _part(place, "sync", "--device", "cpu")
    sizes = [m for m in part["measures"] if m["name"].startswith("all-reduce-gloo-")]
    sweep = [m for m in sizes if "fit" not in m["name"]]
    misses = [*_untold(part), *(m["name"] for m in sweep if FORMULA not in m["definition"])]
    wanted = {"all-reduce-gloo-8-B", "all-reduce-gloo-64-MiB", "all-reduce-gloo-fit-latency"}
    misses += sorted(wanted - {m["name"] for m in sizes})
    if "every sum was right" not in part["facts"]["gloo"]:
        misses.append(part["facts"]["gloo"])
    outcome = all_hold(misses, of=len(sizes), what="figures")
    return Outcome(figure=outcome.figure, holds=outcome.holds,
                   details=(*outcome.details, *part["says"]))  # fmt: skip


@dataclass(kw_only=True)
class _Run:
    """What DDP and the predictions came to for one model."""

    width: int
    depth: int
    batch: int
    answers: list[DdpAnswer] = field(default_factory=list)
    predicted: list[dict[str, float]] = field(default_factory=list)

    def median(self, name: str) -> float:
        """Over all steps of all turns, on rank 0."""
        values: list[float] = [v for answer in self.answers for v in getattr(answer, name)]
        return statistics.median(values)

    def share(self, clock: str) -> float:
        """What the exchange takes of a step."""
        with_it = self.median(f"{clock}_with")
        return 1 - self.median(f"{clock}_without") / with_it

    def prediction(self, name: str) -> float:
        """Median of the turns."""
        return statistics.median(one[name] for one in self.predicted)


@check(
    name="bench-sync-ddp",
    topic=TOPIC,
    line="On 2 processes over gloo the predicted share of a step that exchanges gradients is that "
    "of a real DDP run.",
    bar=f"within {ALLOWED:.0%} for each of {len(MODELS)} models",
)
def bench_sync_ddp(place: Place) -> Outcome:
    runs = [_Run(width=width, depth=depth, batch=batch) for width, depth, batch in MODELS]
    for _ in range(TURNS):
        for run in runs:
            run.answers.append(_ddp(run))
            run.predicted.append(_predict(place, run))
    # Ranks that fill all cores hide nothing; with cores to spare, they do.
    clock = "core" if num_usable_cores() <= RANKS else "wall"
    name = {"core": "predicted-core-share", "wall": "predicted-step-share-overlapped"}[clock]
    worst = max((run.prediction(name) / run.share(clock) - 1 for run in runs), key=abs)
    return Outcome(
        figure=f"{worst:+.0%} at worst, of {clock} time",
        holds=abs(worst) <= ALLOWED,
        details=tuple(map(_ddp_words, runs)),
    )


def _ddp(run: _Run) -> DdpAnswer:
    request = DdpRequest(
        num_ranks=RANKS, width=run.width, depth=run.depth, batch=run.batch, steps=STEPS
    )
    answers = run_together(
        "benchmarks.ddp_rank",
        request,
        DdpAnswer,
        num_processes=RANKS,
        deadline_seconds=300,
        environment={"PYTHONPATH": f"{ROOT}:{ROOT / 'src'}", "GLOO_SOCKET_IFNAME": "lo"},
    )
    return answers[0]


def _predict(place: Place, run: _Run) -> dict[str, float]:
    """What the command says of the gradient and of the computing measured so far."""
    part = _part(
        place, "sync", "--device", "cpu", "--quick",
        "--gradient-bytes", str(run.answers[0].gradient_bytes),
        "--step-ms", str(1000 * run.median("core_without")),
    )  # fmt: skip
    return {m["name"]: m["median"] for m in part["measures"] if m["name"].startswith("predicted")}


def _ddp_words(run: _Run) -> str:
    return (
        f"{run.answers[0].gradient_bytes / 1e6:.0f} MB: core time predicted "
        f"{run.prediction('predicted-core-share'):.3f}, DDP {run.share('core'):.3f}; wall clock "
        f"predicted {run.prediction('predicted-step-share-overlapped'):.3f} with and "
        f"{run.prediction('predicted-step-share'):.3f} without overlap, "
        f"DDP {run.share('wall'):.3f} "
        f"(other programs made a step take "
        f"{run.median('wall_without') / run.median('core_without'):.1f} times its core time)"
    )


@check(
    name="bench-decode-runs",
    topic=TOPIC,
    line="Decoding is measured for every codec that this machine can encode, on one core and on "
    "all, and NVDEC or why there is none.",
    bar="six codecs, or the reason",
)
def bench_decode_runs(place: Place) -> Outcome:
    part = _part(place, "decode", "--quick")
    names = [m["name"] for m in part["measures"]]
    misses = _untold(part)
    for codec in ("h264", "hevc", "av1", "vp9", "mpeg4", "jpeg"):
        both = {f"{codec}-1280x720-frames", f"{codec}-1280x720-clips"} <= set(names)
        if not both and not any(name.startswith(codec) for name in part["unknown"]):
            misses.append(f"{codec}: neither figures nor a reason")
    if not any("nvdec" in name for name in [*names, *part["unknown"]]):
        misses.append("nvdec: neither figures nor a reason")
    outcome = all_hold(misses, of=8, what="subjects")
    told = [f"{m['name']}: {m['median']:.4g} {m['unit']}" for m in part["measures"]]
    return Outcome(
        figure=outcome.figure, holds=outcome.holds, details=(*outcome.details, *told[:12])
    )


@check(
    name="bench-precision-correct",
    topic=TOPIC,
    line="No format has a speed that is not right against fp64; what does not run or is not right "
    "is said, and nothing else is.",
    bar="every format has speed and error, or a reason",
)
def bench_precision_correct(place: Place) -> Outcome:
    part = _part(place, "precision", "--quick")
    measures = {m["name"]: m for m in part["measures"]}
    devices = [name for name in ("cpu", "cuda") if name in part["facts"]]
    misses, total = _untold(part), 0
    for device in devices:
        for op in ("matmul", "attention"):
            for form in ("fp32", "tf32", "bf16", "fp16", "fp8"):
                name, total = f"{op}-{form}-{device}", total + 1
                error = measures.get(f"{name}-error")
                if name not in measures and name in part["unknown"]:
                    continue
                if name not in measures or error is None:
                    misses.append(f"{name}: no speed with error, and no reason")
                elif error["median"] > float(error["conditions"]["allowed"]):
                    misses.append(f"{name}: error {error['median']}")
    outcome = all_hold(misses, of=total, what="formats")
    reasons = [f"{name}: {why}" for name, why in part["unknown"].items()]
    return Outcome(
        figure=outcome.figure, holds=outcome.holds,
        details=(*outcome.details, *part["says"], *reasons),
    )  # fmt: skip


def _part(place: Place, name: str, *options: str) -> dict[str, Any]:
    """The record's one part. Raises CommandFailed."""
    record = place.record("bench", name, *options, deadline_seconds=900)
    parts: Sequence[dict[str, Any]] = record["parts"]
    if len(parts) != 1 or parts[0]["status"] != "measured":
        raise CommandFailed(f"bench {name}: {json.dumps(parts)[:400]}")
    return parts[0]


def _untold(part: dict[str, Any]) -> list[str]:
    """Figures without spread, definition, or warm-up where they are repeated."""
    found = []
    for measure in part["measures"]:
        is_predicted = measure["name"].startswith("predicted")
        is_single = measure["name"].endswith("-error")
        if not measure["definition"]:
            found.append(f"{measure['name']}: no definition")
        if len(measure["values"]) < 3 and not is_single:
            found.append(f"{measure['name']}: {len(measure['values'])} values")
        if not measure["warm_up"] and not is_predicted and not is_single:
            found.append(f"{measure['name']}: no warm-up")
    return found
