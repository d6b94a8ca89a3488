from __future__ import annotations

import os
from pathlib import Path

import pytest

from filmgate.app.folder import (
    choose_folder,
    hold_folder,
    keep_request,
    make_request,
    open_folder,
)
from filmgate.errors import UserError
from filmgate.spec import Job, Limits, Train, load_job


@pytest.fixture(autouse=True)
def _inside_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def start(job: Job, *, out: Path | None = None, videos: str = "videos") -> Path:
    request = make_request([Path(videos)], "folder", job)
    folder = choose_folder(out, "demo", request)
    open_folder(folder)
    keep_request(folder, request, job)
    return folder


def test_an_unfinished_run_of_the_same_request_is_continued() -> None:
    first = start(Job())
    assert first == Path("runs/demo-001")
    assert start(Job()) == first


def test_a_finished_run_or_another_request_gets_a_new_number() -> None:
    first = start(Job())
    (first / "run.json").write_text("{}")
    assert start(Job()).name == "demo-002"
    assert start(Job(train=Train(steps=7))).name == "demo-003"
    assert start(Job(), videos="others").name == "demo-004"


def test_limits_may_change_between_start_and_resume() -> None:
    first = start(Job())
    assert start(Job(limits=Limits(workers=1))) == first


def test_the_effective_job_is_saved() -> None:
    job = Job(train=Train(steps=7))
    assert load_job(start(job) / "job.toml") == job


@pytest.mark.parametrize(
    ("job", "videos", "named"),
    [(Job(train=Train(steps=7)), "videos", "another job"), (Job(), "others", "other videos")],
)
def test_a_folder_of_another_request_is_refused_by_name(job: Job, videos: str, named: str) -> None:
    start(Job(), out=Path("out"))
    with pytest.raises(UserError, match=named) as caught:
        start(job, out=Path("out"), videos=videos)
    assert "--out" in caught.value.hint


def test_a_folder_with_other_files_is_refused_and_left_alone() -> None:
    Path("out").mkdir()
    Path("out/thesis.txt").write_text("mine")
    with pytest.raises(UserError, match="not empty"):
        start(Job(), out=Path("out"))
    assert [path.name for path in Path("out").iterdir()] == ["thesis.txt"]


def test_a_file_in_place_of_the_folder_is_refused() -> None:
    Path("out").write_text("mine")
    with pytest.raises(UserError, match="is a file"):
        start(Job(), out=Path("out"))


def test_a_folder_that_cannot_be_made_is_refused() -> None:
    Path("file").write_text("mine")
    with pytest.raises(UserError, match="cannot be written") as caught:
        start(Job(), out=Path("file/inside"))
    assert caught.value.hint


def test_a_second_process_cannot_hold_the_same_run() -> None:
    folder = start(Job())
    with hold_folder(folder):
        child = os.fork()
        if child == 0:
            try:
                with hold_folder(folder):
                    os._exit(0)
            except UserError:
                os._exit(9)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    with hold_folder(folder):
        pass


def test_folders_that_only_begin_like_a_numbered_run_are_passed_over() -> None:
    first = start(Job())
    for name in ("demo-001old2", "demo-0012-copy3", "demo-00\u0662", "demo-9"):
        Path("runs", name).mkdir()
    (first / "run.json").write_text("{}")
    assert start(Job()).name == "demo-002"


def test_runs_are_counted_and_not_sorted_as_text() -> None:
    for number in ("999", "1000"):
        Path(f"runs/demo-{number}").mkdir(parents=True)
    assert start(Job()).name == "demo-1001"


def test_what_a_killed_write_left_is_removed_when_the_run_goes_on() -> None:
    folder = start(Job())
    (folder / "catalog").mkdir()
    left = [folder / ".report.html.abc.part", folder / "catalog/.frames.parquet.abc.part"]
    for path in left:
        path.write_text("half")
    start(Job())
    assert not any(path.exists() for path in left)


def test_a_request_that_came_in_between_is_not_overwritten() -> None:
    folder = start(Job(), out=Path("out"))
    other = Job(train=Train(steps=7))
    with pytest.raises(UserError, match="another job"):
        keep_request(folder, make_request([Path("videos")], "folder", other), other)
    assert load_job(folder / "job.toml") == Job()
