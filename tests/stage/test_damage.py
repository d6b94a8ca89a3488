"""Sources that change or lie, disks that are full or lose bytes: nothing wrong ever counts."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from filmgate.errors import UserError
from filmgate.stage.chunks import PartialFile
from filmgate.stage.progress import StageProgress
from filmgate.stage.source import FileSource, Identity, SourceChanged
from filmgate.stage.stage import StageRules, stage_videos
from tests.patience import PATIENT_SECONDS
from tests.small_disk import mounted_disk
from tests.stage.footage import QUICK, contents, make_catalog, wanted_contents

CHUNK = QUICK.chunk_bytes
SIZE = 8 * CHUNK


def with_rules(**changes: object) -> StageRules:
    return msgspec.structs.replace(QUICK, **changes)


def flip(path: Path, at: int) -> None:
    """Change a byte in place, as a bad disk or a writer would."""
    with path.open("r+b") as file:
        file.seek(at)
        byte = file.read(1)[0]
        file.seek(at)
        file.write(bytes([byte ^ 0x40]))


def test_a_damaged_source_stays_cold(tmp_path: Path) -> None:
    catalog = make_catalog(tmp_path, num_videos=2, size_bytes=SIZE)
    flip(tmp_path / "nas/cold/0.mp4", SIZE // 2)
    staged = stage_videos(catalog, tmp_path / "hot", rules=QUICK)
    (failed,) = staged.failed
    assert failed.video_id == "cold/0.mp4" and "not the one that was indexed" in failed.reason
    assert staged.num_hot == len(contents(tmp_path / "hot")) == 1


def test_a_source_of_another_size_is_not_even_asked_for_bytes(tmp_path: Path) -> None:
    catalog = make_catalog(tmp_path, num_videos=2, size_bytes=SIZE)
    with (tmp_path / "nas/cold/0.mp4").open("ab") as file:
        file.write(b"more")
    staged = stage_videos(catalog, tmp_path / "hot", rules=QUICK)
    (failed,) = staged.failed
    assert f"it has {SIZE + 4} bytes, and {SIZE} when it was indexed" in failed.reason
    assert staged.bytes_fetched == SIZE


def test_a_source_that_is_replaced_meanwhile_never_mixes(tmp_path: Path) -> None:
    catalog = make_catalog(tmp_path, num_videos=1, size_bytes=SIZE)
    path = tmp_path / "nas/cold/0.mp4"
    right = path.read_bytes()
    path.write_bytes(bytes(reversed(right)))
    changed: list[int] = []

    def change(progress: StageProgress) -> None:
        if not changed and progress.bytes_done > 2 * CHUNK:
            changed.append(progress.bytes_done)
            path.with_suffix(".new").write_bytes(right)
            path.with_suffix(".new").replace(path)

    rules = with_rules(bytes_per_second=200_000)
    staged = stage_videos(catalog, tmp_path / "hot", rules=rules, on_progress=change)
    assert changed
    assert contents(tmp_path / "hot") == wanted_contents(catalog)
    assert staged.bytes_fetched < 2 * SIZE


def test_a_range_of_a_file_that_changed_is_refused_at_its_end(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(bytes(3_000_000))
    source = FileSource(path)
    identity = source.identity()
    pieces = source.read(identity, 0, 3_000_000)
    next(pieces)
    path.write_bytes(bytes(3_000_001))
    with pytest.raises(SourceChanged):
        list(pieces)
    with pytest.raises(SourceChanged):
        list(source.read(identity, 0, 10))


def partial_file(tmp_path: Path) -> PartialFile:
    identity = Identity(size_bytes=2500, version="1 2")
    part = PartialFile(tmp_path / "file", tmp_path, identity, 1000)
    part.open()
    return part


def test_chunks_that_were_listed_are_there_after_a_kill_and_a_torn_line_is_not(
    tmp_path: Path,
) -> None:
    part = partial_file(tmp_path)
    part.write(0, iter([bytes(600), bytes(400)]))
    part.write(2, iter([bytes(500)]))
    with (tmp_path / "chunks.jsonl").open("ab") as file:
        file.write(b'{"type":"chunk","number":1,"dig')
    assert partial_file(tmp_path).missing() == [(1, 1000, 2000)]


def test_chunks_of_another_source_are_thrown_away(tmp_path: Path) -> None:
    partial_file(tmp_path).write(0, iter([bytes(1000)]))
    other = PartialFile(tmp_path / "file", tmp_path, Identity(size_bytes=2500, version="1 3"), 1000)
    other.open()
    assert len(other.missing()) == 3


def test_a_chunk_that_the_disk_lost_is_the_only_one_to_be_asked_for_again(tmp_path: Path) -> None:
    part = partial_file(tmp_path)
    for number, size in enumerate((1000, 1000, 500)):
        part.write(number, iter([os.urandom(size)]))
    right = part.digest()
    flip(tmp_path / "file", 1700)
    assert part.digest() != right
    assert part.drop_damaged() == 1
    assert part.missing() == [(1, 1000, 2000)]


def test_a_byte_that_the_disk_loses_before_publication_costs_its_chunk(tmp_path: Path) -> None:
    catalog = make_catalog(tmp_path, num_videos=1, size_bytes=SIZE)
    damaged: list[Path] = []

    def damage(progress: StageProgress) -> None:
        if not damaged and progress.bytes_done > 3 * CHUNK:
            damaged.extend((tmp_path / "hot/.work/places").glob("*/files/files/*/*"))
            flip(damaged[0], CHUNK // 2)

    rules = with_rules(bytes_per_second=200_000)
    staged = stage_videos(catalog, tmp_path / "hot", rules=rules, on_progress=damage)
    assert damaged
    assert (staged.num_damaged_chunks, staged.bytes_fetched) == (1, SIZE + CHUNK)
    assert contents(tmp_path / "hot") == wanted_contents(catalog)


def test_a_disk_that_is_too_small_is_said_before_anything_is_fetched(small_disk: Path) -> None:
    catalog = make_catalog(small_disk.parent, num_videos=4, size_bytes=1_000_000)
    with pytest.raises(UserError, match="free, and 4 MB are wanted") as raised:
        stage_videos(catalog, small_disk / "hot", rules=QUICK)
    assert "budget" in raised.value.hint
    assert not contents(small_disk / "hot")


def test_a_disk_that_fills_up_stops_it_and_it_goes_on_from_there(small_disk: Path) -> None:
    catalog = make_catalog(small_disk.parent, num_videos=2, size_bytes=1_000_000)
    ballast = small_disk / "ballast"

    def fill(progress: StageProgress) -> None:
        if progress.bytes_done and not ballast.exists():
            status = os.statvfs(small_disk)
            ballast.write_bytes(bytes((status.f_bavail - 20) * status.f_frsize))

    rules = with_rules(bytes_per_second=600_000, parallel=1)
    with pytest.raises(UserError, match="no space left"):
        stage_videos(catalog, small_disk / "hot", rules=rules, on_progress=fill)
    assert contents(small_disk / "hot").items() <= wanted_contents(catalog).items()
    ballast.unlink()
    stage_videos(catalog, small_disk / "hot", rules=QUICK)
    assert contents(small_disk / "hot") == wanted_contents(catalog)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system with 3 MB."""
    with mounted_disk(tmp_path / "small", "3m") as disk:
        yield disk


def test_a_file_size_limit_leaves_the_file_cold_and_nothing_half(tmp_path: Path) -> None:
    catalog = make_catalog(tmp_path, num_videos=2, size_bytes=SIZE)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    command = [sys.executable, "-m", "tests.stage.kill_driver", str(catalog.path)]
    done = subprocess.run(
        [*command, str(tmp_path / "hot"), "-", "0", "1e9"],
        cwd=Path(__file__).resolve().parents[2],
        check=False,
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (SIZE // 2, before[1])),
        timeout=PATIENT_SECONDS,
    )
    assert done.returncode == 1
    assert "none of 2 files could be staged" in done.stderr and "File too large" in done.stderr
    assert not contents(tmp_path / "hot")
