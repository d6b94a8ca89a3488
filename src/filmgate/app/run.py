"""``filmgate run``: the whole road on one machine, every artifact in one run folder."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path

from filmgate.app.folder import (
    choose_folder,
    hold_folder,
    keep_request,
    make_request,
    open_folder,
)
from filmgate.app.footage import demo_videos
from filmgate.app.index import index_with_progress
from filmgate.app.interrupt import interruptible
from filmgate.app.machine_line import machine_line
from filmgate.app.output import path_from_here
from filmgate.app.outputs import sending
from filmgate.app.report import write_report
from filmgate.app.run_copies import training_catalog
from filmgate.app.run_summary import (
    LeftOutVideo,
    RunCopies,
    RunSummary,
    SkippedClip,
    describe_held_out,
)
from filmgate.app.terminal import Talk
from filmgate.catalog import Catalog, open_catalog, summarise
from filmgate.catalog.find import check_roots
from filmgate.catalog.labels import Labels
from filmgate.catalog.order_over import order_over
from filmgate.catalog.summary import Warned
from filmgate.diagnose import Verdict, diagnose
from filmgate.diagnose.judge import TELEMETRY
from filmgate.feed.targets import choose_targets
from filmgate.outputs.start import check_outputs
from filmgate.records import Header, digest_file, read_record, write_record
from filmgate.records.telemetry import read_telemetry
from filmgate.spec import Job, load_job
from filmgate.train import TrainResult
from filmgate.train.launch import Request, train_on_ranks
from filmgate.units import counted

RUN_FILE = "run.json"
DEMO_NAME = "demo"


class RunRecord(RunSummary, frozen=True, kw_only=True):
    """What ``filmgate run`` came to, as ``run.json``: the summary, the verdict, and where it is."""

    header: Header
    """Its inputs are the digests of the artifacts it was made from."""
    run_folder: str
    """Absolute path."""
    report: str
    """Absolute path of the page."""
    samples_digest: str
    """Digest over every training sample in order; interruptions do not change it."""
    verdict: Verdict
    """What held the run back."""


def walk(
    videos: Sequence[Path],
    job_file: Path | None,
    out: Path | None,
    labels: Labels,
    talk: Talk,
    *,
    num_ranks: int = 1,
) -> RunRecord:
    """Index, feed, train, evaluate, diagnose; goes on where the same request was cut off.

    ``videos`` are folders or files; none means the demo footage. Raises UserError for what the
    user can mend, FeedError when too many clips fail, Interrupted after a signal.
    """
    job = load_job(job_file) if job_file else Job()
    check_outputs(job)
    paths = list(videos) or demo_videos()
    check_roots(paths, hint="name a catalog, a folder of videos, or a video")
    request = make_request(paths, labels, job)
    folder = choose_folder(out, _name(videos, job, job_file), request).absolute()
    open_folder(folder)
    with hold_folder(folder), interruptible():
        talk.note(f"run folder: {path_from_here(folder)}")
        if (folder / RUN_FILE).exists():
            talk.note("this run is finished; choose another --out to run again")
            return read_record(folder / RUN_FILE, RunRecord)
        keep_request(folder, request, job)
        catalog = _catalog_of(paths, folder, labels, talk)
        for warning in warning_sentences(summarise(catalog).warnings):
            talk.note(f"warning: {warning}")
        read, copies = training_catalog(job, catalog, folder, talk)
        with sending(job, folder, talk):
            if num_ranks == 1:
                result = _train(job, read, folder, talk)
            else:
                result = _train_on_ranks(num_ranks, read, folder, talk)
        return _conclude(job, (catalog, read, copies), result, folder, talk)


def _catalog_of(paths: list[Path], folder: Path, labels: Labels, talk: Talk) -> Catalog:
    """The catalog that was named, for example a staged one, or a new one of the videos."""
    if len(paths) == 1 and (paths[0] / "catalog.json").is_file():
        return open_catalog(paths[0].absolute())
    return index_with_progress(paths, folder / "catalog", labels, talk)


def _name(videos: Sequence[Path], job: Job, job_file: Path | None) -> str:
    if job_file or job.job.name != "run":
        return job.job.name
    if not videos:
        return DEMO_NAME
    name = "".join(c if c.isalnum() or c in "._-" else "-" for c in videos[0].resolve().stem)
    return name.strip("._-") or "run"


def _train(job: Job, catalog: Catalog, folder: Path, talk: Talk) -> TrainResult:
    from filmgate.train.run import train_run  # torch takes a second that bad input need not wait

    # The user's model may print; stdout is the record's alone.
    with talk.job("train", "steps") as progress, redirect_stdout(sys.stderr):
        return train_run(
            job,
            catalog,
            folder,
            on_progress=progress,
            on_scoring=lambda: progress.next_part("score", "held-out clips"),
            on_event=talk.note,
        )


def _train_on_ranks(num_ranks: int, catalog: Catalog, folder: Path, talk: Talk) -> TrainResult:
    request = Request(
        job_file=folder / "job.toml",
        catalog=catalog.path,
        run_folder=folder,
        num_ranks=num_ranks,
    )
    with talk.job("train", "steps") as progress:
        train_on_ranks(request, progress, talk.note)
    return read_record(folder / "train.json", TrainResult)


Sources = tuple[Catalog, Catalog, RunCopies]
"""The videos as they are, what was trained on, and why."""


def _conclude(
    job: Job, sources: Sources, result: TrainResult, folder: Path, talk: Talk
) -> RunRecord:
    verdict = diagnose(folder)
    write_record(folder / "verdict.json", verdict)
    summary = _summary(job, sources, result, verdict, folder)
    report = write_report(folder, summary, verdict)
    record = RunRecord(
        **{name: getattr(summary, name) for name in summary.__struct_fields__},
        header=Header(schema="filmgate.run", schema_version=1, inputs=summary.digests),
        run_folder=str(folder),
        report=str(report),
        samples_digest=result.samples_digest,
        verdict=verdict,
    )
    write_record(folder / RUN_FILE, record)
    return record


def _summary(
    job: Job, sources: Sources, result: TrainResult, verdict: Verdict, folder: Path
) -> RunSummary:
    catalog, videos, copies = sources
    facts = summarise(catalog)
    held_out = order_over(job, videos, "holdout", videos.frame_table)
    return RunSummary(
        name=folder.name,
        job=job,
        target=choose_targets(job.data.target, catalog).kind,
        num_videos=catalog.num_videos,
        left_out=[LeftOutVideo(path=one.path, reason=one.reason) for one in catalog.left_out],
        num_frames=facts.num_frames,
        video_seconds=facts.hours * 3600,
        video_bytes=facts.size_bytes,
        codecs=facts.codecs,
        frame_sizes=facts.sizes,
        labels=facts.labels,
        warnings=warning_sentences(facts.warnings),
        skipped=[
            SkippedClip(path=one.path, place=one.place, reason=one.reason) for one in result.skipped
        ],
        num_skipped=result.skipped_clips,
        num_padded=result.padded_clips,
        device=result.device,
        machine=machine_line(),
        num_parameters=result.num_parameters,
        steps=result.steps,
        final_loss=result.final_loss,
        accuracy=result.accuracy,
        chance=result.chance,
        why_not_scored=result.why_no_accuracy,
        held_out=describe_held_out(held_out),
        num_not_held_out=held_out.num_not_held_out,
        num_holdout_clips=result.num_holdout_clips,
        classes=result.class_scores,
        attempts=result.attempts,
        seconds=_seconds_at_work(folder),
        copies=copies,
        digests={
            "catalog": catalog.digest,
            **({} if videos is catalog else {"copies": videos.digest}),
            "job": digest_file(folder / "job.toml"),
            "telemetry": digest_file(folder / TELEMETRY),
            "samples": result.samples_digest,
        },
    )


def warning_sentences(warnings: Sequence[Warned]) -> list[str]:
    """What stands out in the catalog, a sentence for each kind."""
    return [
        f"{counted(one.num_videos, 'video')}, such as {one.examples[0]}: {one.sentence}; "
        f"{one.advice}"
        for one in warnings
    ]


def _seconds_at_work(folder: Path) -> float:
    """Training and evaluation of every attempt, the pauses between attempts left out."""
    spans: dict[int, tuple[float, float]] = {}
    for line in read_telemetry(folder / TELEMETRY):
        first, _ = spans.get(line.attempt, (line.unix_seconds, line.unix_seconds))
        spans[line.attempt] = (first, line.unix_seconds)
    return sum(last - first for first, last in spans.values())
