"""Kill -9 at any time: the same files as without, and little is asked for twice."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import msgspec
import pytest

from filmgate.stage.outcome import Staged
from filmgate.stage.stage import stage_videos
from filmgate.work.lines import Finished, read_lines
from tests.patience import PATIENT_SECONDS
from tests.stage.footage import QUICK, contents, make_catalog, wanted_contents
from tests.stage.s3_server import S3Server

ROOT = Path(__file__).resolve().parents[2]
CHUNK = QUICK.chunk_bytes


def start(tmp_path: Path, *, source: str, workers: int, rate: float) -> subprocess.Popen[bytes]:
    arguments = (tmp_path / "catalog", tmp_path / "hot", source, str(workers), str(rate))
    return subprocess.Popen(
        [sys.executable, "-m", "tests.stage.kill_driver", *arguments],
        cwd=ROOT,
        stdout=subprocess.PIPE,
    )


def kill(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=PATIENT_SECONDS)


def num_listed_chunks(hot: Path) -> int:
    lists = hot.glob(".work/places/*/files/chunks.jsonl")
    return sum(path.read_text().count('"chunk"') for path in lists)


def test_a_copy_that_is_killed_at_95_percent_asks_for_one_chunk_again_at_most(
    tmp_path: Path,
) -> None:
    num_chunks = 40
    make_catalog(tmp_path, num_videos=1, size_bytes=num_chunks * CHUNK)
    process = start(tmp_path, source="-", workers=1, rate=1_000_000)
    while (listed := num_listed_chunks(tmp_path / "hot")) < num_chunks * 0.95 - 1:
        assert process.poll() is None
        time.sleep(0.005)
    kill(process)
    listed = num_listed_chunks(tmp_path / "hot")
    assert not contents(tmp_path / "hot")
    with start(tmp_path, source="-", workers=1, rate=10**9) as again:
        staged = msgspec.json.decode(again.communicate(timeout=PATIENT_SECONDS)[0], type=Staged)
    assert staged.bytes_fetched == (num_chunks - listed) * CHUNK <= 3 * CHUNK
    (content,) = contents(tmp_path / "hot").values()
    assert content == (tmp_path / "nas/cold/0.mp4").read_bytes()


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("source", ["folder", "store"])
def test_twenty_kills_at_random_times_change_nothing(
    tmp_path: Path, s3: S3Server, bucket: str, source: str
) -> None:
    catalog = make_catalog(tmp_path, num_videos=6, size_bytes=8 * CHUNK)
    s3.put_folder(tmp_path / "nas", bucket)
    chance, kills, hot = random.Random(7), 0, tmp_path / "hot"
    where = bucket if source == "store" else "-"
    inodes: dict[str, int] = {}
    while kills < 20:
        process = start(tmp_path, source=where, workers=2, rate=150_000)
        wait_until_it_stages(process, hot)
        time.sleep(chance.uniform(0.0, 0.6))
        kill(process)
        kills += 1
        visible = contents(hot)
        assert visible.items() <= wanted_contents(catalog).items()
        for name in visible:
            inode = (hot / name).stat().st_ino
            assert inodes.setdefault(name, inode) == inode  # none is published twice
    with start(tmp_path, source=where, workers=2, rate=10**9) as last:
        staged = msgspec.json.decode(last.communicate(timeout=PATIENT_SECONDS)[0], type=Staged)
    assert staged.num_hot == 6 and not staged.failed
    assert contents(hot) == wanted_contents(catalog)
    lines = [line for _, _, line in read_lines(hot / ".work/journal.jsonl")]
    finished = Counter(line.key for line in lines if isinstance(line, Finished))
    assert set(finished.values()) == {1}
    assert not list((hot / ".work/places").iterdir())


def wait_until_it_stages(process: subprocess.Popen[bytes], hot: Path) -> None:
    """Until the meter of this start counts, or all is done."""
    meter = hot / ".stage/meter"
    before = meter.read_bytes() if meter.is_file() else b""
    deadline = time.monotonic() + PATIENT_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        if meter.is_file() and meter.read_bytes() != before:
            return
        time.sleep(0.01)


def test_what_an_uninterrupted_staging_leaves_is_left_after_a_kill_too(tmp_path: Path) -> None:
    catalog = make_catalog(tmp_path, num_videos=2, size_bytes=8 * CHUNK)
    stage_videos(catalog, tmp_path / "whole", rules=QUICK)
    process = start(tmp_path, source="-", workers=2, rate=300_000)
    wait_until_it_stages(process, tmp_path / "hot")
    time.sleep(0.5)
    kill(process)
    stage_videos(catalog, tmp_path / "hot", rules=QUICK)
    assert contents(tmp_path / "hot") == contents(tmp_path / "whole")
