"""``filmgate prepare`` and the copies of a run, on small real videos."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from filmgate.app.cli import run_command_line
from filmgate.app.prepare import Wish, job_of, prepare_catalog
from filmgate.app.terminal import Talk
from filmgate.catalog import index_videos, open_catalog
from filmgate.errors import UserError
from filmgate.prepare.copies import Prepared
from filmgate.prepare.layouts import Layouts
from filmgate.prepare.measure import SampleSize
from filmgate.records import digest_file
from tests.footage import write_video

JOB = """
[clip]
frames = 4
stride = 4
height = 32
width = 48
[data]
eval_clips_per_video = 2
[train]
steps = 4
batch_size = 4
commit_every_steps = 2
[limits]
workers = 1
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a job, three videos and their catalog."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "job.toml").write_text(JOB)
    (tmp_path / "videos").mkdir()
    for number in range(3):
        write_video(tmp_path / "videos" / f"{number}.mp4", num_frames=60, gop=60, hue=40 * number)
    index_videos(tmp_path / "videos", tmp_path / "catalog", workers=0)
    return tmp_path


def filmgate(capfd: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = run_command_line(list(arguments))
    talk = capfd.readouterr()
    return code, talk.out, talk.err


def prepare(capfd: pytest.CaptureFixture[str], *options: str) -> tuple[int, str, str]:
    fixed = ["prepare", "catalog", "--out", "copies", "--job", "job.toml", "--workers", "0"]
    return filmgate(capfd, *fixed, *options)


@pytest.mark.slow
def test_measuring_leaves_a_table_and_a_page_and_makes_no_copy(
    place: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    limits = ("--largest-size", "9", "--lowest-psnr", "20", "--demand", "5", "--quality", "23")
    named = ("--layout", "temporal", "--codec", "h264")
    code, out, err = prepare(capfd, *named, *limits, "--measure", "--json")
    assert code == 0, err
    record = json.loads(out)
    assert record == json.loads((place / "copies" / "layouts.json").read_text())
    choice = record["choice"]
    labels = [one["trial"]["label"] for one in choice["outlooks"]]
    assert labels == ["source", "temporal-h264-q23-k16-r4"]
    assert choice["label"] == labels[1] and "5 clips/s" in choice["why"]
    page = (place / "copies" / "layouts.html").read_text()
    assert labels[1] in page and "NAS over 10 GbE" in page and "<svg" in page
    assert not (place / "copies" / "catalog.json").exists()


def measured_copy(
    place: Path, *, clips: int | None = None, quality: int = 20, key_every: int | None = None
) -> tuple[Prepared, Layouts | None]:
    told = {
        "quality": quality, "key_every": key_every, "largest_size_share": 50.0,
        "lowest_psnr_db": 5.0,
    }  # fmt: skip
    tiny = SampleSize(num_videos=1, seconds=1, rounds=1, clips_per_round=1, round_seconds=0.01)
    wish = Wish(clips=clips, cores=3, workers=0, sample=tiny)
    job = job_of(place / "job.toml", told)
    return prepare_catalog(place / "catalog", place / "copies", job, wish, Talk())


def test_a_choice_that_was_measured_is_kept_and_the_copy_links_it(
    place: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    prepared, layouts = measured_copy(place)
    assert layouts is not None and layouts.recipe == prepared.recipe
    assert prepared.chosen_by == "layouts.json"
    assert prepared.header.inputs["layouts"] == digest_file(place / "copies/layouts.json")
    assert "as measured before" not in capfd.readouterr().err
    again, same = measured_copy(place)
    assert "as measured before" in capfd.readouterr().err
    assert same == layouts
    assert again.num_made == 0 and again.header.inputs == prepared.header.inputs


def test_a_named_layout_is_made_without_measuring_and_old_copies_are_pruned(
    place: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert prepare(capfd, "--layout", "short-gop")[0] == 0
    assert not (place / "copies" / "layouts.json").exists()
    code, out, err = prepare(capfd, "--codec", "jpeg", "--size", "source", "--prune", "--json")
    assert code == 0, err
    assert json.loads(out)["recipe"]["layout"]["name"] == "jpeg"
    assert "pruned: 3 copies" in err
    copies = open_catalog(place / "copies")
    files = set((place / "copies" / "copies").rglob("*.*"))
    assert {path for path in files if path.suffix != ".parquet"} == {
        Path(path) for path in copies.column("path").to_pylist()
    }
    assert len(files) == 6
    assert copies.video(0).height == 64
    assert prepare(capfd, "--layout", "short-gop", "--json")[0] == 0


def test_a_copy_that_the_clips_do_not_pay_for_is_refused_with_the_table(place: Path) -> None:
    with pytest.raises(UserError, match="1 clips do not pay for a copy") as caught:
        measured_copy(place, clips=1)
    assert "layouts.html" in caught.value.hint


def test_videos_of_the_same_bytes_share_a_copy_that_is_counted_once(
    place: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    shutil.copy(place / "videos/0.mp4", place / "videos/3.mp4")
    index_videos(place / "videos", place / "catalog", workers=0)
    code, out, err = prepare(capfd, "--layout", "short-gop")
    assert code == 0
    assert "3 copies for 4 videos (3 made now; 1 of the same bytes as another)" in out
    assert "3 copies for 4 videos (3 made now; 1 of the same bytes as another)" in err
    record = json.loads(prepare(capfd, "--layout", "short-gop", "--json")[1])
    assert (record["num_videos"], record["num_files"], record["num_made"]) == (4, 3, 0)
    files = list((place / "copies/copies").rglob("*.mp4"))
    assert record["bytes"] == sum(path.stat().st_size for path in files)
    assert str(place) not in out, "what lies below the current folder is told from there"


def test_what_does_not_hold_for_every_layout_is_told(
    place: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    measured_copy(place, quality=40, key_every=8)
    err = capfd.readouterr().err
    assert "layouts: no mpeg4: its quality goes from 2 to 31, and 40 was asked for" in err
    assert "layouts: key_every does not concern intra, decoded: there each frame" in err
    assert (
        "key_every does not concern intra, decoded" in (place / "copies/layouts.html").read_text()
    )


BAD_INPUT = {
    "a folder that is no catalog": (["prepare", "videos", "--out", "copies"], "catalog.json"),
    "the catalog of copies": (["prepare", "made", "--out", "copies"], "training copies"),
    "the sources' own folder": (["prepare", "catalog", "--out", "catalog", "--codec", "jpeg"],
                                "catalog of the sources"),
    "a size without numbers": (["prepare", "catalog", "--out", "copies", "--size", "large"],
                               "size"),
    "both sizes": (["prepare", "catalog", "--out", "copies", "--codec", "jpeg", "--size", "32x32",
                    "--short-side", "32"], "short side"),
    "a layout that contradicts itself": (["prepare", "catalog", "--out", "copies", "--layout",
                                          "intra", "--key-every", "4"], "by itself"),
    "a quality that no codec has": (["prepare", "catalog", "--out", "copies", "--codec", "jpeg",
                                     "--quality", "50"], "2 to 31"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD_INPUT.values(), ids=BAD_INPUT.keys())
def test_what_cannot_be_prepared_ends_with_error_hint_and_code_2(
    case: tuple[list[str], str], place: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    if case[0][1] == "made":
        made = ("--job", "job.toml", "--codec", "jpeg", "--workers", "0")
        assert filmgate(capfd, "prepare", "catalog", "--out", "made", *made)[0] == 0
    code, out, err = filmgate(capfd, *case[0])
    assert (code, out) == (2, "")
    assert case[1] in err and "error: " in err and "hint: " in err and "Traceback" not in err


def run(capfd: pytest.CaptureFixture[str], *options: str) -> tuple[dict[str, object], str]:
    code, out, err = filmgate(capfd, "run", "videos", "--job", "job.toml", "--json", *options)
    assert code == 0, err
    return json.loads(out), err


def test_a_small_run_says_that_it_reads_the_videos_as_they_are_and_why(
    place: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    record, err = run(capfd, "--out", "run")
    copies = record["copies"]
    assert isinstance(copies, dict)
    assert copies["recipe"] is None and copies["why"]
    assert "training copy: no: " in err
    assert any("videos as they are" in one["says"] for one in record["verdict"]["evidence"])
    assert copies["why"][:20] in (place / "run" / "report.html").read_text().replace("&#39;", "'")


def test_a_run_that_says_always_trains_from_copies_with_the_labels_of_the_sources(
    place: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    for label in ("cold", "warm"):
        (place / "videos" / label).mkdir()
        shutil.copy(place / "videos" / "0.mp4", place / "videos" / label / "a.mp4")
    for number in range(3):
        (place / "videos" / f"{number}.mp4").unlink()
    write_video(place / "videos" / "cold" / "hdr.mp4", num_frames=40,
                options={"color_trc": "smpte2084"})  # fmt: skip
    (place / "job.toml").write_text(
        f'{JOB}[prepare]\nmode = "always"\ncodec = "mpeg4"\nfolder = "shared"\n'
    )
    record, err = run(capfd, "--out", "run")
    copies = open_catalog(place / "run" / "copies")
    assert copies.labels == ["cold", "cold", "warm"]
    assert [copies.video(row).codec for row in range(3)] == ["mpeg4", "h264", "mpeg4"]
    assert copies.video(0).path.startswith(str(place / "shared" / "copies"))
    assert record["target"] == "label" and record["num_videos"] == 3
    assert record["digests"]["copies"] == copies.digest
    assert "training copy: yes: the job says always" in err
    assert "HDR" in err
    says = [one["says"] for one in record["verdict"]["evidence"] if one["name"] == "videos"]
    assert says == ["clips were read from a training copy, temporal-mpeg4-q4-k16-r4"]
    shared = sorted((place / "shared" / "copies").rglob("*"))
    other, _ = run(capfd, "--out", "other")
    assert sorted((place / "shared" / "copies").rglob("*")) == shared
    assert other["samples_digest"] == record["samples_digest"]
    code, _, err = filmgate(
        capfd, "prepare", "other/catalog", "--out", "shared", "--job", "job.toml", "--codec",
        "jpeg", "--workers", "0", "--prune",
    )  # fmt: skip
    assert code == 0 and "pruned: 0 copies" in err
    assert set(shared) <= set((place / "shared" / "copies").rglob("*"))
    shutil.rmtree(place / "run")
    shutil.rmtree(place / "other")
    code, _, err = filmgate(capfd, "prepare", "catalog", "--out", "shared", "--job", "job.toml",
                            "--codec", "jpeg", "--workers", "0", "--prune")  # fmt: skip
    assert code == 0 and "pruned: 1 copy" in err, err
