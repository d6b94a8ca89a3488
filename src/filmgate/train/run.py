"""One training run in one folder, from wherever it was left to its result."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import msgspec
import torch

from filmgate.catalog import Catalog
from filmgate.catalog.clip_frames import Split
from filmgate.errors import Interrupted
from filmgate.feed import Batch, Feed, FeedStats, open_feed
from filmgate.records import Header, read_record, write_record
from filmgate.records.telemetry import (
    Evaluation,
    Finish,
    Save,
    Start,
    Step,
    newest_steps,
    read_telemetry,
)
from filmgate.spec import Job
from filmgate.train.commit_place import commit_folder, refuse_shared_device, shares_device
from filmgate.train.commits import Commit, CommitFolder
from filmgate.train.evaluate import evaluate
from filmgate.train.journal import Journal
from filmgate.train.learner import Learner, Progress, make_learner, pack, tensors_of, unpack
from filmgate.train.loop import Loop
from filmgate.train.peak import peak_bytes
from filmgate.train.ranks import ALONE, Ranks
from filmgate.train.repeatable import choose_device, device_name, repeatable
from filmgate.train.request import Origin, Value, keys_digest, outcome_keys, refuse_other_job
from filmgate.train.result import SCHEMA, SCHEMA_VERSION, ClassScore, TrainResult
from filmgate.train.saver import Saved, Saver
from filmgate.train.signals import StopAtOnce, StopRequest, StopWait
from filmgate.train.task import Score
from filmgate.train.unscored import ALL_FAILED, NO_CLASSES, why_unscored
from filmgate.work.cores import num_usable_cores
from filmgate.work.ranks import num_local_ranks

OnProgress = Callable[[int, int, str], None]
OnEvent = Callable[[str], None]
OnScoring = Callable[[], Callable[[int, int], None]]


def train_run(
    job: Job,
    catalog: Catalog,
    run_folder: Path,
    *,
    on_progress: OnProgress | None = None,
    on_scoring: OnScoring | None = None,
    on_event: OnEvent | None = None,
    ranks: Ranks = ALONE,
) -> TrainResult:
    """Train ``job`` on ``catalog`` to its end; the result is also in ``train.json``.

    Goes on from the newest valid commit in ``run_folder``; a finished run is not trained again.
    The caller holds the folder: one process at a time. ``on_progress`` hears (steps done, steps
    in all, loss), what ``on_scoring`` gives hears (held-out clips scored, clips in all), and
    ``on_event`` a sentence about everything unusual. With several ``ranks`` each calls this, with
    the same folder; the first one writes, and is heard.

    Raises UserError for what the user can mend, FeedError when the feed gives up, and Interrupted
    after SIGTERM, SIGINT or SIGHUP: the step at hand is finished and committed first; a second
    signal, two seconds later or more, stops at once.
    """
    keys = outcome_keys(job, catalog.digest)
    finished = run_folder / "train.json"
    if finished.exists():
        recorded = read_record(finished, TrainResult)
        refuse_other_job(recorded.outcome_keys, keys, run_folder)
        return recorded
    journal = Journal(run_folder / "telemetry.jsonl", on_event, is_mute=not ranks.is_first)
    with StopRequest() as stop:
        try:
            journal.open()
            journal.attempt = ranks.from_first(journal.attempt)
            attempt = _Attempt(
                job=job,
                catalog=catalog,
                folder=run_folder,
                journal=journal,
                stop=stop,
                on_progress=on_progress,
                on_scoring=on_scoring,
                origin=_origin(job, keys, ranks),
                ranks=ranks,
            )
            return attempt.run()
        except StopAtOnce:
            raise Interrupted(
                f"stopped at once by a second signal, after step {journal.step} of "
                f"{job.train.steps}; steps since the last commit will be done again",
                hint="the same command again continues from the newest commit",
            ) from None
        finally:
            journal.close()


def _origin(job: Job, keys: dict[str, Value], ranks: Ranks) -> Origin:
    local_ranks, _ = num_local_ranks(ranks.world_size)
    return Origin(
        keys=keys,
        device=device_name(choose_device(job.train.device)),
        train_threads=job.limits.train_threads or max(1, num_usable_cores() // local_ranks),
        torch_version=str(torch.__version__),
        world_size=ranks.world_size,
    )


def _class_scores(names: list[str], score: Score | None) -> list[ClassScore]:
    if score is None or score.num_clips_K is None or score.num_right_K is None:
        return []
    return [
        ClassScore(name=name, num_clips=num_clips, num_right=num_right)
        for name, num_clips, num_right in zip(
            names, score.num_clips_K, score.num_right_K, strict=True
        )
    ]


@dataclass(kw_only=True)
class _Attempt:
    """From one start of the process to its end."""

    job: Job
    catalog: Catalog
    folder: Path
    journal: Journal
    stop: StopRequest
    on_progress: OnProgress | None
    on_scoring: OnScoring | None
    origin: Origin
    ranks: Ranks

    def run(self) -> TrainResult:
        """Resume or begin, train, commit, evaluate, record."""
        device = choose_device(self.job.train.device)
        saving_ranks, folder = self.ranks.apart(), commit_folder(self.job, self.folder)
        is_shared = shares_device(folder, self.catalog)
        refuse_shared_device(self.job, folder, is_shared)
        commits = CommitFolder(
            folder,
            keep=self.job.train.keep_commits,
            on_event=self.journal.tell,
            ranks=saving_ranks,
        )
        commits.open()
        with repeatable(self.job.job.seed, self.origin.train_threads, device):
            with self._feed("train", device) as feed:
                learner = make_learner(self.job, feed.num_classes, device, self.ranks)
                learner.task.begin(self.catalog)
                if self.ranks.rank:
                    # The model is the same everywhere; what it draws from now on is not.
                    torch.manual_seed(self.job.job.seed + self.ranks.rank)
                progress = self._resume(learner, feed, commits.newest())
                with Saver(
                    commits,
                    saving_ranks,
                    in_background=self.job.train.commit_in_background,
                    on_saved=self._tell_saved,
                    on_event=self.journal.tell,
                ) as saver:
                    progress = self._train(learner, feed, progress, saver)
            self._leave_if_asked(progress)
            score = self._evaluate(learner, progress)
            with learner.average.in_use() if learner.average is not None else nullcontext():
                if self.ranks.is_first:
                    learner.task.finish(self.folder)
        commit_digest = commits.digest_of(progress.step)
        result = self._finish(learner, feed, progress, score, (commit_digest, is_shared))
        self._leave_if_asked(progress)
        return result

    def _feed(self, split: Split, device: torch.device) -> Feed:
        return open_feed(
            self.job,
            self.catalog,
            split=split,
            device=device,
            rank=self.ranks.rank,
            world_size=self.ranks.world_size,
        )

    def _resume(self, learner: Learner, feed: Feed, commit: Commit | None) -> Progress:
        """Put the commit into learner and feed; without one the run begins."""
        if commit is None:
            if self.journal.attempt:
                self.journal.tell("no commit is left to continue from: the run begins anew")
            return Progress(step=0, feed=feed.state_dict(), samples_digest="", loss=None)
        there = msgspec.json.decode(commit.parts["origin.json"], type=Origin)
        refuse_other_job(there.keys, self.origin.keys, self.folder)
        progress = unpack(learner, commit.path, commit.parts)
        feed.load_state_dict(progress.feed)
        self.journal.step = progress.step
        self.journal.tell(f"continues after step {progress.step} of {self.job.train.steps}")
        different = there.differences(self.origin)
        if different:
            self.journal.tell(
                f"the commit was made elsewhere ({'; '.join(different)}): losses may differ in "
                "their last digits from an uninterrupted run"
            )
        return progress

    def _train(self, learner: Learner, feed: Feed, progress: Progress, saver: Saver) -> Progress:
        clip, size = self.job.clip, feed.stats().size
        copy = self.catalog.header.copy
        self.journal.write(
            Start,
            header=Header(schema="filmgate.telemetry", schema_version=1, inputs=self._inputs()),
            step=progress.step,
            device=self.origin.device,
            world_size=self.ranks.world_size,
            num_workers=feed.num_workers,
            batch_size=self.job.train.batch_size,
            clip_frames=clip.frames,
            clip_bytes=clip.frames * clip.height * clip.width * 3,
            cores=num_usable_cores(),
            train_threads=self.origin.train_threads,
            feed_size=size.why,
            feed_is_automatic=size.is_automatic,
            copy_layout=copy.layout if copy is not None else None,
        )
        loop = Loop(
            job=self.job,
            learner=learner,
            feed=feed,
            journal=self.journal,
            stop=self.stop,
            progress=progress,
            epoch_clips=feed.epoch_size,
            save=lambda now: self._save(learner, now, saver),
            write_seconds=lambda: saver.last_write_seconds,
            on_step=self._show,
        )
        loop.run()
        saver.finish()
        return loop.progress

    def _show(self, step: Step) -> None:
        if self.on_progress is not None:
            self.on_progress(step.step, self.job.train.steps, f"loss {step.loss:.3f}")

    def _save(self, learner: Learner, progress: Progress, saver: Saver) -> None:
        parts = pack(learner, progress)
        if self.ranks.is_first:
            parts["origin.json"] = msgspec.json.encode(self.origin)
        saver.save(progress.step, tensors_of(learner), parts, self._inputs())

    def _tell_saved(self, saved: Saved) -> None:
        self.journal.write(
            Save,
            step=saved.step,
            stall_seconds=saved.stall_seconds,
            bytes=saved.bytes,
            write_seconds=saved.write_seconds,
        )

    def _leave_if_asked(self, progress: Progress) -> None:
        """Raises Interrupted, on all ranks where one was asked."""
        asked = [name for name in self.ranks.exchange(self.stop.signal_name) if name is not None]
        if asked:
            kept = f"committed after step {progress.step}" if progress.step else "before any step"
            raise Interrupted(
                f"stopped by {asked[0]}, {kept} of {self.job.train.steps}",
                hint="the same command again continues from there",
            )

    def _evaluate(self, learner: Learner, progress: Progress) -> Score | None:
        """The held-out score; a stop meanwhile leaves the commit as it is."""
        if why_unscored(self.job, self.catalog) is not None:
            return None
        started = time.perf_counter()
        try:
            with (
                self._feed("holdout", learner.device) as feed,
                self._breaks_wait(),
            ):
                score = evaluate(
                    learner, self._told(feed), windows_per_clip=self.job.data.eval_crops
                )
                self._tell_unscored(feed.stats())
        except StopWait:
            self._leave_if_asked(progress)
            raise
        if score is not None:
            self.journal.write(
                Evaluation,
                step=progress.step,
                seconds=time.perf_counter() - started,
                loss=score.loss,
                accuracy=score.accuracy,
                num_clips=score.num_clips,
                metrics=score.metrics,
            )
        return score

    def _breaks_wait(self) -> AbstractContextManager[None]:
        """Others wait for what this rank finds, so that one of several goes on to the end."""
        return self.stop.breaks_wait() if self.ranks.world_size == 1 else nullcontext()

    def _told(self, feed: Feed) -> Iterator[Batch]:
        """The held-out batches; each is told of when it has been scored."""
        tell = self.on_scoring() if self.on_scoring is not None else None
        done = 0
        for batch in feed:
            yield batch
            done = min(done + len(batch.valid_B), feed.epoch_size)
            if tell is not None:
                tell(done, feed.epoch_size)

    def _tell_unscored(self, stats: FeedStats) -> None:
        if stats.num_skipped:
            first = stats.skipped[0]
            self.journal.tell(
                f"{stats.num_skipped} held-out clips failed and are not scored, the first of them "
                f"{first.path}, {first.place}: {first.reason}"
            )

    def _finish(
        self,
        learner: Learner,
        feed: Feed,
        progress: Progress,
        score: Score | None,
        commit: tuple[str, bool | None],
    ) -> TrainResult:
        assert progress.loss is not None
        commit_digest, is_shared = commit
        result = TrainResult(
            header=Header(
                schema=SCHEMA,
                schema_version=SCHEMA_VERSION,
                inputs=self._inputs() | {"commit": commit_digest},
            ),
            steps=progress.step,
            final_loss=progress.loss,
            holdout_loss=score.loss if score else None,
            accuracy=score.accuracy if score else None,
            chance=score.chance if score else None,
            why_no_accuracy=self._why_no_accuracy(score),
            metrics=score.metrics if score else {},
            num_holdout_clips=score.num_clips if score else 0,
            num_classes=len(feed.class_names),
            class_names=feed.class_names,
            class_scores=_class_scores(feed.class_names, score),
            num_parameters=learner.num_parameters,
            commits_share_device=is_shared,
            world_size=self.ranks.world_size,
            parallel=learner.engine,
            samples_digest=progress.samples_digest,
            attempts=self.journal.attempt + 1,
            skipped_clips=progress.num_skipped,
            skipped=progress.skipped,
            padded_clips=progress.num_padded,
            never_shown_videos=feed.stats().num_never_shown,
            device=self.origin.device,
            **peak_bytes(learner.device),
            step_seconds=self._step_seconds(),
            train_threads=self.origin.train_threads,
            is_bit_repeatable=learner.device.type == "cpu",
            torch_version=self.origin.torch_version,
            events=self.journal.events(),
            outcome_keys=self.origin.keys,
        )
        if self.ranks.is_first:
            write_record(self.folder / "train.json", result)
        self.journal.write(Finish, step=progress.step)
        return result

    def _why_no_accuracy(self, score: Score | None) -> str | None:
        if score is not None:
            return None if score.accuracy is not None else NO_CLASSES
        return why_unscored(self.job, self.catalog) or ALL_FAILED

    def _step_seconds(self) -> float:
        """The median over the newest attempt at each step."""
        lines = list(read_telemetry(self.journal.path))
        return median(step.total_seconds for step in newest_steps(lines))

    def _inputs(self) -> dict[str, str]:
        return {"catalog": self.catalog.digest, "job": keys_digest(self.origin.keys)}
