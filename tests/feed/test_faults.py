"""Workers, videos and consumers that die, hang or lie."""

from __future__ import annotations

import contextlib
import os
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest

from filmgate.catalog import Catalog, index_videos
from filmgate.errors import DeadlineError, FeedError, UndecodableFrame
from filmgate.feed import Feed, open_feed
from tests.feed.conftest import is_alive, job_of, wait_until
from tests.feed.test_feed import all_same, batches, take
from tests.footage import write_video
from tests.patience import PATIENT_SECONDS

PROGRAM = """
import sys, time
sys.path.insert(0, {root!r})
from filmgate.catalog import open_catalog
from filmgate.feed import open_feed
from tests.feed.conftest import job_of

feed = open_feed(job_of(2, **{keys!r}), open_catalog({catalog!r}))
next(feed)
print(*feed.worker_process_ids, flush=True)
{rest}
"""


def start_program(catalog: Catalog, rest: str, **keys: object) -> subprocess.Popen[str]:
    """A script without any guard that opens a feed and prints the worker's process ids."""
    root = str(Path(__file__).resolve().parents[2])
    text = PROGRAM.format(root=root, catalog=str(catalog.path), rest=rest, keys=keys)
    return subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE, text=True)


def damage(video: Path) -> None:
    """Zero the middle of a file's pictures, as a failing disk does: nothing else changes."""
    times = video.stat()
    content = bytearray(video.read_bytes())
    first, last = len(content) // 4, len(content) // 2
    content[first:last] = bytes(last - first)
    video.write_bytes(content)
    os.utime(video, ns=(times.st_atime_ns, times.st_mtime_ns))


def test_a_killed_worker_is_replaced_and_no_batch_changes(catalog):
    whole = batches(catalog, 12)
    seen = []
    with open_feed(job_of(2), catalog) as feed:
        for number in range(12):
            seen.append(next(feed))
            if number in (1, 4, 7):
                victim = feed.worker_process_ids[number % 2]
                os.kill(victim, signal.SIGKILL)
                wait_until(lambda victim=victim: not is_alive(victim))
        assert len(feed.worker_process_ids) == 2
        assert feed.stats().num_skipped == 0
    assert all_same(whole, seen)


def test_all_workers_killed_at_once_are_replaced(catalog):
    whole = batches(catalog, 6)
    with open_feed(job_of(2), catalog) as feed:
        seen = take(feed, 2)
        for worker in feed.worker_process_ids:
            os.kill(worker, signal.SIGKILL)
        seen += take(feed, 4)
    assert all_same(whole, seen)


def test_a_killed_consumer_takes_its_workers_with_it(catalog):
    program = start_program(catalog, "time.sleep(600)")
    workers = [int(word) for word in program.stdout.readline().split()]
    assert len(workers) == 2
    assert all(is_alive(worker) for worker in workers)
    shared = set(Path("/dev/shm").iterdir())
    program.kill()
    program.wait(PATIENT_SECONDS)
    wait_until(lambda: not any(is_alive(worker) for worker in workers))
    assert set(Path("/dev/shm").iterdir()) <= shared
    program.stdout.close()


@pytest.mark.parametrize("rest", ["", "for batch in feed: break"])
def test_a_program_ends_by_itself_with_a_feed_left_open(catalog, rest):
    program = start_program(catalog, rest)
    output, _ = program.communicate(timeout=PATIENT_SECONDS)
    assert program.returncode == 0
    workers = [int(word) for word in output.split()]
    assert len(workers) == 2
    wait_until(lambda: not any(is_alive(worker) for worker in workers))


def test_closing_a_feed_ends_its_workers_at_once_and_leaves_no_file_open(catalog):
    open_feed(job_of(0), catalog).close()
    before = open_files()
    feed = open_feed(job_of(2), catalog)
    next(feed)
    workers = feed.worker_process_ids
    began = time.monotonic()
    feed.close()
    feed.close()
    assert time.monotonic() - began < 30
    assert not any(is_alive(worker) for worker in workers)
    assert feed.state_dict()["next_sample"] == 4
    assert open_files() == before


def test_a_feed_that_nobody_holds_any_more_ends_its_workers(catalog):
    feed = open_feed(job_of(2), catalog)
    next(feed)
    workers = feed.worker_process_ids
    del feed
    wait_until(lambda: not any(is_alive(worker) for worker in workers))


def test_a_stopped_job_costs_no_video_its_place(catalog):
    """As Ctrl-Z does: everything stands still for longer than the deadline of a clip."""
    rest = """
print("ready", flush=True)
for _ in range(60): next(feed)
print(feed.stats().quarantined, flush=True)
"""
    program = start_program(catalog, rest, clip_deadline_seconds=3.0)
    workers = [int(word) for word in program.stdout.readline().split()]
    assert program.stdout.readline() == "ready\n"
    for process in (*workers, program.pid):
        os.kill(process, signal.SIGSTOP)
    time.sleep(4.5)
    for process in (program.pid, *workers):
        os.kill(process, signal.SIGCONT)
    output, _ = program.communicate(timeout=PATIENT_SECONDS)
    assert output == "[]\n"


def test_closing_before_the_workers_are_ready_does_not_wait_for_them(catalog):
    began = time.monotonic()
    open_feed(job_of(2), catalog).close()
    assert time.monotonic() - began < 30


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # Python 3.12 says what it risks
def test_a_forked_child_leaves_the_parents_workers_alone(catalog):
    with open_feed(job_of(1), catalog) as feed:
        next(feed)
        child = os.fork()
        if child == 0:
            feed.close()
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        assert is_alive(feed.worker_process_ids[0])
        next(feed)


def test_a_damaged_video_is_replaced_by_rule_and_listed(own_catalog, own_footage):
    damage(own_footage / "cold" / "cold1.mp4")
    job = job_of(2, error_budget=1.0, holdout=0.0)
    with open_feed(job, own_catalog) as feed:
        seen = take(feed, 6)
        stats = feed.stats()
    assert stats.num_skipped > 0
    assert {one.video_id for one in stats.skipped} == {"cold/cold1.mp4"}
    assert {one.action for one in stats.skipped} == {"substituted"}
    assert all(one.place.startswith("frames ") and one.reason for one in stats.skipped)
    assert all(bool(batch.valid_B.all()) for batch in seen)
    with open_feed(job_of(0, error_budget=1.0, holdout=0.0), own_catalog) as feed:
        assert all_same(seen, take(feed, 6))


def test_a_damaged_video_leaves_a_masked_place_with_skip(own_catalog, own_footage):
    damage(own_footage / "cold" / "cold1.mp4")
    job = job_of(1, on_error="skip", error_budget=1.0, holdout=0.0)
    with open_feed(job, own_catalog) as feed:
        seen = take(feed, 6)
        stats = feed.stats()
    num_masked = sum(int((~batch.valid_B).sum()) for batch in seen)
    assert num_masked == stats.num_skipped > 0
    assert {one.action for one in stats.skipped} == {"masked"}
    for batch in seen:
        assert batch.frames_BTCHW.shape == (4, 4, 3, 48, 64)
        assert not batch.frames_BTCHW[~batch.valid_B].any()
        assert (batch.labels_B[~batch.valid_B] == -100).all()


@pytest.mark.parametrize("workers", [0, 1])
def test_a_damaged_video_raises_with_raise(own_catalog, own_footage, workers):
    damage(own_footage / "cold" / "cold1.mp4")
    job = job_of(workers, on_error="raise", holdout=0.0)
    with (
        open_feed(job, own_catalog) as feed,
        pytest.raises(UndecodableFrame, match=r"cold1\.mp4: frames \d+ to \d+: "),
    ):
        take(feed, 20)


def test_a_held_out_clip_that_fails_is_masked_and_never_replaced(own_catalog, own_footage):
    (own_footage / "cold" / "cold1.mp4").unlink()
    with open_feed(job_of(error_budget=1.0), own_catalog, split="holdout") as feed:
        seen = list(feed)
        assert feed.stats().num_skipped == 3
    assert sum(int(batch.valid_B.sum()) for batch in seen) == 9


def test_a_video_that_fails_again_and_again_does_not_use_up_the_budget(own_catalog, own_footage):
    (own_footage / "cold" / "cold0.mp4").unlink()
    with open_feed(job_of(1, error_budget=0.02), own_catalog) as feed:
        take(feed, 40)
        assert feed.stats().num_skipped > 8


def test_more_failures_than_samples_stop_the_feed_and_the_worst_videos_are_named(
    own_catalog, own_footage
):
    for name in ("cold/cold0.mp4", "cold/cold1.mp4", "warm/warm1.mp4"):
        (own_footage / name).unlink()
    with (
        open_feed(job_of(1), own_catalog) as feed,
        pytest.raises(FeedError, match=r"3 videos .*warm1\.mp4 \(\d+ times: ") as caught,
    ):
        take(feed, 50)
    assert "error_budget" in caught.value.hint


def test_no_failure_is_free_with_a_budget_of_zero(own_catalog, own_footage):
    (own_footage / "cold" / "cold0.mp4").unlink()
    with (
        open_feed(job_of(0, error_budget=0.0), own_catalog) as feed,
        pytest.raises(FeedError, match="1 videos failed"),
    ):
        take(feed, 20)


def test_a_worker_that_hangs_is_given_up_and_its_video_left_out(catalog):
    job = job_of(1, clip_deadline_seconds=4.0, prefetch_batches=40, error_budget=1.0)
    with open_feed(job, catalog) as feed:
        next(feed)
        (hanging,) = feed.worker_process_ids
        os.kill(hanging, signal.SIGSTOP)
        seen = take(feed, 39)
        stats = feed.stats()
        assert not is_alive(hanging)
        state = feed.state_dict()
    (left_out,) = stats.quarantined
    assert stats.skipped[0].reason == "took longer than 4 s"
    since = stats.skipped[0].sample
    for batch in seen:
        numbers = range(batch.sample_start, batch.sample_start + 4)
        later = [video for n, video in zip(numbers, batch.video_ids, strict=True) if n >= since]
        assert left_out not in later
    with open_feed(job_of(0, error_budget=1.0), catalog) as resumed:
        resumed.load_state_dict(state)
        ids = {video_id for batch in take(resumed, 4) for video_id in batch.video_ids}
        assert left_out not in ids
        assert resumed.stats().quarantined == [left_out]


def test_a_clip_past_its_deadline_is_given_up_without_workers_too(catalog):
    job = job_of(0, clip_deadline_seconds=1e-6, on_error="raise")
    with open_feed(job, catalog) as feed, pytest.raises(DeadlineError, match="took longer than"):
        next(feed)


def test_workers_that_cannot_start_are_said_with_their_cause(catalog, monkeypatch, capfd):
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with (
        open_feed(job_of(2), catalog) as feed,
        pytest.raises(FeedError, match=r"die while they start \(exit code 1\), 3 in a row"),
    ):
        next(feed)


def test_memory_stays_flat_while_the_consumer_sleeps(catalog):
    with open_feed(job_of(2, prefetch_batches=2), catalog) as feed:
        next(feed)
        wait_until(lambda: feed.ready_batches == 2)

        def footprint() -> tuple[int, int]:
            workers = [psutil.Process(worker) for worker in feed.worker_process_ids]
            num_bytes = sum(process.memory_info().rss for process in workers)
            return num_bytes, feed.stats().frames_decoded

        before = footprint()
        time.sleep(1.0)
        after = footprint()
        assert after[1] == before[1]
        assert after[0] - before[0] < 2_000_000
        wait_until(lambda: feed.stats().worker_wait_seconds > 1.5)


def open_files() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def test_open_files_stay_below_the_limit_over_many_videos(footage, tmp_path):
    for number in range(60):
        shutil.copy(footage / "cold" / "cold0.mp4", tmp_path / f"{number:02}.mp4")
    catalog = index_videos([tmp_path], tmp_path / "catalog", workers=0)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    before = open_files()
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, hard))
    try:
        with open_feed(job_of(0, frames=1, target="source"), catalog) as feed:
            for _ in range(15):
                assert bool(next(feed).valid_B.all())
                assert open_files() - before <= 26
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert open_files() <= before + 2  # the two tables of the catalog


def test_ctrl_c_during_a_wait_leaves_the_feed_usable(catalog):
    def interrupt() -> None:
        time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGINT)

    whole = batches(catalog, 2)
    with open_feed(job_of(1), catalog) as feed:
        threading.Thread(target=interrupt).start()
        with pytest.raises(KeyboardInterrupt):
            next(feed)
            time.sleep(60)
        rest = take(feed, 1)
        assert rest[0].sample_start in (0, 4)
        assert all_same(rest, whole[rest[0].sample_start // 4 :][:1])


def test_a_wide_video_and_a_tall_one_share_a_batch(tmp_path):
    write_video(tmp_path / "wide.mp4", width=160, height=64)
    write_video(tmp_path / "tall.mp4", width=48, height=96)
    catalog = index_videos([tmp_path], tmp_path / "catalog", workers=0)
    feed: Feed
    with open_feed(job_of(1, batch_size=2), catalog) as feed:
        batch = next(feed)
    assert batch.frames_BTCHW.shape == (2, 4, 3, 48, 64)
    assert bool(batch.valid_B.all())


def test_a_file_that_hangs_is_given_up_with_and_without_workers(own_catalog, own_footage):
    """A named pipe that nobody writes to: opening it never comes back."""
    video = own_footage / "cold" / "cold1.mp4"
    video.unlink()
    os.mkfifo(video)
    seen = []
    try:
        for workers in (0, 1):
            job = job_of(workers, clip_deadline_seconds=3.0, error_budget=1.0)
            with open_feed(job, own_catalog) as feed:
                seen.append(take(feed, 6))
                stats = feed.stats()
            assert stats.quarantined == ["cold/cold1.mp4"]
            assert stats.skipped[0].reason == "took longer than 3 s"
        assert all_same(*seen)
        assert all(bool(batch.valid_B.all()) for batch in seen[0])
    finally:
        for _ in range(2):  # the thread that was left behind, if it has not ended yet
            with contextlib.suppress(OSError):
                os.close(os.open(video, os.O_WRONLY | os.O_NONBLOCK))


def test_a_wait_that_is_broken_off_without_workers_loses_no_clip(catalog):
    with open_feed(job_of(0), catalog) as feed:
        threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt):
            while True:
                next(feed)
        expected = feed.state_dict()["next_sample"]
        rest = next(feed)
    assert rest.sample_start == expected
    with open_feed(job_of(0), catalog, start_sample=expected) as other:
        assert all_same([rest], take(other, 1))
