"""Kills, full disks, folders that cannot be written, files that cannot be read."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from filmgate.errors import UserError
from filmgate.pack import open_pack
from filmgate.pack.hold import PACK_ROOM
from filmgate.pack.make import pack_images
from filmgate.work import LocalExecutor
from filmgate.work.lock import FolderLock
from tests.pack.images import write_image, write_images
from tests.pack.kill_driver import SHARD_BYTES
from tests.patience import PATIENT_SECONDS
from tests.small_disk import mounted_disk

ROOT = Path(__file__).resolve().parents[2]
HERE = LocalExecutor(workers=0)
NUM_IMAGES = 48
TELLING = ("pack.json", "catalog.json", ".work/journal.jsonl", ".work/coordinator.json",
           f"{PACK_ROOM}/coordinator.json")  # fmt: skip
"""Files that say when and by whom they were written."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    images = [{"id": n, "file_name": f"{n:04}.png"} for n in range(NUM_IMAGES)]
    boxes = [{"image_id": n, "category_id": 1, "bbox": [n, 2, 9, 9]} for n in range(NUM_IMAGES)]
    file = {"images": images, "annotations": boxes, "categories": [{"id": 1, "name": "x"}]}
    (tmp_path / "coco.json").write_text(json.dumps(file))
    return write_images(tmp_path / "images" / "a", NUM_IMAGES).parent


def files_of(out: Path) -> dict[str, bytes | None]:
    """Every file -> its bytes, of those that say when they were written None."""
    paths = [path for path in out.rglob("*") if path.is_file()]
    names = {path.relative_to(out).as_posix(): path for path in paths}
    return {name: None if name in TELLING else path.read_bytes() for name, path in names.items()}


def start(folder: Path, out: Path) -> subprocess.Popen[str]:
    coco = folder.parent / "coco.json"
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.pack.kill_driver", folder, out, coco],
        cwd=ROOT, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None and process.stdout.readline() == "packing\n"
    return process


def seconds_to_pack(folder: Path, out: Path) -> float:
    since = time.monotonic()
    with start(folder, out) as process:
        begun = time.monotonic()
        assert process.wait(PATIENT_SECONDS) == 0
    assert begun > since
    return time.monotonic() - begun


def refuse_half(out: Path, wanted: dict[str, bytes | None]) -> None:
    """Every shard that is visible is whole, and a pack that opens is the whole one."""
    for path in out.glob("shards/*"):
        assert path.read_bytes() == wanted[path.relative_to(out).as_posix()]
    if (out / "pack.json").exists():
        with open_pack(out) as pack:
            pack.check()
            assert len(pack.objects(3)) == 1


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_twenty_kills_at_random_times_change_nothing(folder: Path, tmp_path: Path) -> None:
    longest = seconds_to_pack(folder, tmp_path / "whole")
    wanted = files_of(tmp_path / "whole")
    chance, kills, finished = random.Random(11), 0, 0
    out = tmp_path / "out0"
    while kills < 20:
        process = start(folder, out)
        time.sleep(chance.uniform(0.0, longest))
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=PATIENT_SECONDS)
        kills += process.returncode == -signal.SIGKILL
        refuse_half(out, wanted)
        if (out / "pack.json").exists():
            finished += 1
            out = tmp_path / f"out{finished}"
    for number in range(finished + 1):
        each = tmp_path / f"out{number}"
        seconds_to_pack(folder, each)
        assert files_of(each) == wanted


def test_a_kill_leaves_nothing_and_packing_goes_on(folder: Path, tmp_path: Path) -> None:
    seconds_to_pack(folder, tmp_path / "whole")
    wanted, out = files_of(tmp_path / "whole"), tmp_path / "out"
    process = start(folder, out)
    deadline = time.monotonic() + PATIENT_SECONDS
    while not list(out.glob("shards/*.tar")) and time.monotonic() < deadline:
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=PATIENT_SECONDS)
    refuse_half(out, wanted)
    (out / ".images.arrow.abc.part").write_bytes(b"half")
    (out / ".pack.json.abc.part").write_bytes(b"{")
    seconds_to_pack(folder, out)
    assert files_of(out) == wanted


def test_a_full_disk_is_said_and_packing_goes_on(folder: Path, tmp_path: Path) -> None:
    with mounted_disk(tmp_path / "small", "128k") as disk:
        filler = disk / "filler"
        filler.write_bytes(bytes(96_000))
        with pytest.raises(UserError) as caught:
            pack_images(folder, disk / "out", shard_bytes=SHARD_BYTES, executor=HERE)
        assert "No space left" in caught.value.message or "full" in caught.value.message
        assert caught.value.hint and not (disk / "out" / "pack.json").exists()
        filler.unlink()
        subprocess.run(["mount", "-o", "remount,size=4m", disk], check=True)
        pack = pack_images(folder, disk / "out", shard_bytes=SHARD_BYTES, executor=HERE)
        assert len(pack) == NUM_IMAGES
        pack.check()
        assert not list((disk / "out").rglob("*.part"))


def test_a_disk_that_fills_up_at_the_index_keeps_the_shards(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with mounted_disk(tmp_path / "small", "4m") as disk:
        pack_images(folder, disk / "out", shard_bytes=SHARD_BYTES, executor=HERE)
        for name in ("pack.json", "images.arrow", "catalog.json", "frames.parquet"):
            (disk / "out" / name).unlink()
        free = os.statvfs(disk)
        (disk / "filler").write_bytes(bytes(free.f_bavail * free.f_frsize))
        with pytest.raises(UserError, match=r"images\.arrow cannot be written: No space"):
            pack_images(folder, disk / "out", shard_bytes=SHARD_BYTES, executor=HERE)
        assert not (disk / "out" / "pack.json").exists()
        (disk / "filler").unlink()
        again = pack_images(folder, disk / "out", shard_bytes=SHARD_BYTES, executor=HERE)
        assert again.header.num_made == 0
        again.check()


def test_a_folder_that_cannot_be_written_is_an_error(folder: Path, tmp_path: Path) -> None:
    with mounted_disk(tmp_path / "disk", "1m") as disk:
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        with pytest.raises(UserError, match="cannot be written: Read-only") as caught:
            pack_images(folder, disk / "out", executor=HERE)
        assert "another folder" in caught.value.hint


def test_two_cannot_pack_into_one_folder(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "out" / PACK_ROOM).mkdir(parents=True)
    lock = FolderLock(tmp_path / "out" / PACK_ROOM)
    lock.take()
    with pytest.raises(UserError, match="is working on"):
        pack_images(folder, tmp_path / "out", executor=HERE)
    lock.release()
    pack_images(folder, tmp_path / "out", executor=HERE).check()


def test_an_image_that_cannot_be_read_is_left_out(folder: Path, tmp_path: Path) -> None:
    (folder / "a" / "gone.png").symlink_to(tmp_path / "nowhere.png")
    (folder / "a" / "round.png").symlink_to(folder / "a" / "round.png")
    os.mkfifo(folder / "a" / "pipe.png")
    pack = pack_images(folder, tmp_path / "out", executor=HERE)
    reasons = {one.video_id: one.reason for one in pack.header.left_out}
    assert set(reasons) == {"a/gone.png", "a/round.png", "a/pipe.png"} and all(reasons.values())
    assert len(pack) == NUM_IMAGES


def test_annotations_of_missing_and_ambiguous_images_are_counted(
    folder: Path, tmp_path: Path
) -> None:
    write_image(folder / "b" / "0000.png", 77)
    (folder / "a" / "0007.png").unlink()
    coco = f"coco:{tmp_path / 'coco.json'}"
    pack = pack_images(folder, tmp_path / "out", annotations=[coco], executor=HERE)
    assert pack.header.annotations is not None
    faults = {one.kind: (one.count, one.examples) for one in pack.header.annotations.faults}
    assert faults["unknown-image"] == (1, ["coco.json: 0007.png"])
    assert faults["ambiguous-image"] == (1, ["coco.json: 0000.png"])
    assert pack.header.annotations.num_objects == NUM_IMAGES - 2
    with pytest.raises(UserError, match="cannot be read: No such file"):
        pack_images(folder, tmp_path / "out", annotations=["coco:nowhere.json"], executor=HERE)
