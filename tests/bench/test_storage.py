from __future__ import annotations

import os
import shutil
import zlib
from pathlib import Path

import pytest

from filmgate.bench import storage as storage_module
from filmgate.bench import storage_figures
from filmgate.bench.ask import Ask, Read, Trace
from filmgate.bench.files import CLIP_BYTES, existing, laid_out
from filmgate.bench.fio import Fio, Pattern, find_fio, read_for, replay
from filmgate.bench.ground import ground_of
from filmgate.bench.page_cache import cached_share, forget
from filmgate.bench.storage import bench_storage
from filmgate.bench.storage_figures import Effort
from filmgate.bench.trace import write_logs
from filmgate.errors import UserError
from filmgate.machine.measured import BenchPart
from tests.small_disk import mounted_disk

SIZE = 32 << 20
BRIEF = Effort(rounds=2, seconds=0.3, ramp_seconds=0.1, total_bytes=SIZE, small_files=200)
needs_fio = pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed")


def quiet(done: int, total: int, note: str) -> None:
    assert 0 <= done <= total


@pytest.fixture(autouse=True)
def brief(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage_module, "QUICK", BRIEF)


@pytest.fixture
def on_drive(tmp_path: Path) -> Path:
    try:
        ground_of(tmp_path)
    except UserError as error:
        pytest.skip(error.message)
    return tmp_path


def own_files(folder: Path, count: int = 5, size: int = 2_500_123) -> list[Path]:
    paths = []
    for number in range(count):
        path = folder / f"video {number}:a.mp4"
        with path.open("wb") as file:
            file.write(os.urandom(size))
            os.fsync(file.fileno())
        paths.append(path)
    return paths


def measured(ask: Ask) -> BenchPart:
    part = bench_storage(ask, quiet)
    for measure in part.measures:
        assert measure.low > 0
        assert measure.definition
    return part


@needs_fio
def test_every_pattern_is_measured_and_nothing_is_left_behind(on_drive: Path) -> None:
    part = measured(Ask(quick=True, folder=on_drive))
    assert [one.name for one in part.measures] == [
        "sequential-read", "whole-file-read", "random-128k-read", "page-cache-read", "stat", "open",
    ]  # fmt: skip
    assert part.status == "measured"
    assert all(one.repetitions == BRIEF.rounds for one in part.measures)
    assert part.says[0].startswith("sequential read ")
    assert part.facts["filesystem"]
    assert list(on_drive.iterdir()) == []


@needs_fio
def test_files_that_are_there_are_read_and_not_changed(on_drive: Path) -> None:
    paths = own_files(on_drive)
    before = [(path.read_bytes(), path.stat().st_mtime_ns) for path in paths]
    part = measured(Ask(quick=True, videos=tuple(paths)))
    assert part.measure("sequential-read") is not None
    assert "stat" in part.unknown
    assert [(path.read_bytes(), path.stat().st_mtime_ns) for path in paths] == before
    assert len(list(on_drive.iterdir())) == len(paths)


@needs_fio
def test_a_warm_cache_is_said(on_drive: Path) -> None:
    paths = own_files(on_drive)
    for path in paths:
        path.read_bytes()
    part = measured(Ask(quick=True, videos=tuple(paths)))
    assert part.facts["page cache"] == "100 % of the bytes lay in it before"
    assert any("100 % of the files lay in the page cache" in said for said in part.says)
    cache = part.measure("page-cache-read")
    assert cache is not None
    assert "no storage" in cache.definition


@needs_fio
def test_reads_go_past_a_warm_cache(on_drive: Path) -> None:
    paths = own_files(on_drive)
    fio = find_fio(paths[0])
    assert fio is not None
    if not fio.direct:
        pytest.skip("this filesystem has no O_DIRECT")
    forget(paths)
    pattern = Pattern(rw="read", block_bytes=1 << 20, depth=4)
    assert read_for(fio, [paths], pattern, seconds=0.3, ramp_seconds=0.1).bytes_per_second > 0
    assert cached_share(paths) == 0.0


@needs_fio
def test_the_loaders_reads_are_replayed(
    on_drive: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    paths = own_files(on_drive)
    reads = tuple(Read(path=str(path), offset=5000, length=600_000) for path in paths)
    trace = Trace(reads=(reads, reads), num_clips=10, demand_clips_per_second=1.0, says="job run")
    fio = find_fio(paths[0])
    assert fio is not None
    logs = write_logs(tmp_path_factory.mktemp("logs"), trace)
    assert replay(fio, logs, seconds=1.0).bytes_per_second > 0
    part = measured(Ask(quick=True, videos=tuple(paths), trace=trace))
    assert part.measure("loader-read") is not None
    assert any("training takes 1 clips/s" in said for said in part.says)


def test_a_folder_in_memory_is_refused() -> None:
    shared = Path("/dev/shm")
    if not shared.is_dir():
        pytest.skip("/dev/shm is not there")
    with pytest.raises(UserError, match="main memory: there is no storage to measure"):
        bench_storage(Ask(quick=True, folder=shared), quiet)


def test_a_mount_in_memory_below_a_drive_is_refused(tmp_path: Path) -> None:
    with mounted_disk(tmp_path / "small", "1m") as folder:
        (folder / "inside").mkdir()
        with pytest.raises(UserError, match="tmpfs, which is main memory"):
            ground_of(folder / "inside")


def test_without_fio_a_figure_of_our_own_is_labelled(
    on_drive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(on_drive))
    part = measured(Ask(quick=True, folder=on_drive))
    sequential = part.measure("sequential-read")
    assert sequential is not None
    assert sequential.anchor == ""
    assert "filmgate" in sequential.notes[0] or "page cache" in sequential.notes[0]
    assert "apt-get install fio" in part.facts["reader"]
    assert "fio is not installed" in part.unknown["random-128k-read"]


def test_without_direct_reads_the_cache_is_emptied_before_each_pass(on_drive: Path) -> None:
    with laid_out(on_drive, SIZE, 1, quiet) as files:
        figure = storage_figures._own_buffered(files, 1)
        if isinstance(figure, str):
            assert "page cache" in figure
            return
        assert figure.run(0) > 0
        assert "page cache" in figure.notes[0]


def test_files_that_stay_in_the_cache_are_never_called_storage(
    on_drive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storage_figures, "find_fio", lambda path: None)
    monkeypatch.setattr(storage_figures, "can_read_directly", lambda path: False)
    monkeypatch.setattr(storage_figures, "forget", lambda paths: None)
    paths = own_files(on_drive)
    for path in paths:
        path.read_bytes()
    part = measured(Ask(quick=True, videos=tuple(paths)))
    assert part.status == "could not measure"
    assert "100 % of the files stay in the page cache" in part.why
    assert [one.name for one in part.measures] == ["page-cache-read"]


def test_too_little_room_is_said_before_anything_is_written(on_drive: Path) -> None:
    free = shutil.disk_usage(on_drive).free
    with (
        pytest.raises(UserError, match="are laid out"),
        laid_out(on_drive, 2 * free, 1, quiet),
    ):
        pass
    assert list(on_drive.iterdir()) == []


def test_small_files_are_no_files_to_read(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("little")
    with pytest.raises(UserError, match="none of 1 files has"):
        existing([tmp_path / "a.txt"], SIZE)


def test_laid_out_files_do_not_compress(on_drive: Path) -> None:
    with laid_out(on_drive, SIZE, 2, quiet) as files:
        assert len(files.shards) == 2
        assert all(path.stat().st_size == CLIP_BYTES for path in files.clips)
        block = files.clips[0].read_bytes()[: 1 << 20]
        assert len(zlib.compress(block, 1)) > 0.99 * len(block)
        assert files.clips[1].read_bytes()[: 1 << 20] != block
        assert files.total_bytes == pytest.approx(SIZE, rel=0.2)


@needs_fio
def test_a_fault_of_fios_is_told_in_its_words(on_drive: Path) -> None:
    fio = Fio(command=shutil.which("fio") or "", version="fio", engine="no-such", direct=True)
    with pytest.raises(UserError, match=r"fio failed: .*engine"):
        read_for(
            fio, [own_files(on_drive, 1)], Pattern(rw="read", block_bytes=4096, depth=1),
            seconds=0.1, ramp_seconds=0.0,
        )  # fmt: skip
