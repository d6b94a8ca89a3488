"""Packs on the fast disk: whole shards and the index, verified, and the feed reads them there."""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from pathlib import Path

import msgspec
import numpy as np
import pytest

from filmgate.catalog import Catalog, open_catalog
from filmgate.errors import UnreadableVideo, UserError
from filmgate.feed import open_feed
from filmgate.feed.annotations import Annotator
from filmgate.pack import Pack, open_pack
from filmgate.pack import reader as reader_of_packs
from filmgate.pack.make import pack_images
from filmgate.pack.places import PackPlaces
from filmgate.stage.choice import PackSource, Wanted, choose
from filmgate.stage.outcome import Staged
from filmgate.stage.stage import StageRules, stage_videos
from filmgate.work import LocalExecutor
from tests.feed.conftest import job_of
from tests.pack.images import write_images, write_pixels
from tests.patience import PATIENT_SECONDS
from tests.stage.footage import QUICK, contents
from tests.stage.s3_server import S3Server
from tests.stage.test_kill import kill, num_listed_chunks, start

HERE = LocalExecutor(workers=0)
JOB = job_of(frames=1, stride=1, holdout=0.0, batch_size=4)


def with_rules(**changes: object) -> StageRules:
    return msgspec.structs.replace(QUICK, **changes)


@pytest.fixture
def pack(tmp_path: Path) -> Pack:
    """Four shards or so, with boxes."""
    for place, label in enumerate("ab"):
        write_images(tmp_path / "images" / label, 12, first=12 * place)
    images = [{"id": n, "file_name": f"{n:04}.png"} for n in range(24)]
    boxes = [{"image_id": n, "category_id": 1, "bbox": [n, 2, 20, 30]} for n in range(24)]
    file = {"images": images, "annotations": boxes, "categories": [{"id": 1, "name": "x"}]}
    (tmp_path / "coco.json").write_text(json.dumps(file))
    return pack_images(
        tmp_path / "images", tmp_path / "pack", shard_bytes=8_000, executor=HERE,
        annotations=[f"coco:{tmp_path / 'coco.json'}"],
    )  # fmt: skip


def wanted_contents(pack: Pack) -> list[bytes]:
    names = ["images.arrow", "annotations.arrow", *(f"shards/{one}" for one in pack.header.shards)]
    return sorted((pack.path / name).read_bytes() for name in names)


def batches(catalog: Catalog, count: int = 6) -> tuple[list[str], tuple[int | None, int | None]]:
    with open_feed(JOB, catalog) as feed:
        digests = [next(feed).samples_digest for _ in range(count)]
        stats = feed.stats()
    return digests, (stats.clips_hot, stats.clips_cold)


def test_a_staged_pack_feeds_from_the_hot_tier_alone(pack: Pack, tmp_path: Path, hot: Path) -> None:
    assert len(pack.header.shards) >= 3
    staged = stage_videos(open_catalog(pack.path), hot, rules=with_rules(parallel=2))
    assert sorted(contents(hot).values()) == wanted_contents(pack)
    assert staged.num_hot == len(pack.header.shards) + 2 and not staged.failed
    assert staged.bytes_fetched == staged.bytes_hot == sum(map(len, wanted_contents(pack)))
    digests, (clips_hot, clips_cold) = batches(open_catalog(pack.path))
    assert (clips_hot, clips_cold) == (None, None)
    shutil.rmtree(pack.path)
    shutil.rmtree(tmp_path / "images")
    again, (clips_hot, clips_cold) = batches(open_catalog(hot))
    assert again == digests and clips_cold == 0 and clips_hot
    with open_pack(hot) as opened, Annotator(open_catalog(hot), JOB) as annotator:
        opened.check()
        assert opened.objects(7).boxes_N4.tolist() == [[7, 2, 27, 32]]
        assert len(annotator.read(3, [0], size=(64, 96))[0]) == 1


def test_staging_a_pack_again_fetches_nothing(pack: Pack, hot: Path) -> None:
    stage_videos(open_catalog(pack.path), hot, rules=QUICK)
    staged = stage_videos(open_catalog(pack.path), hot, rules=QUICK)
    assert (staged.num_staged, staged.bytes_fetched) == (0, 0)


def test_a_condition_takes_the_whole_shards_that_hold_a_wanted_image(pack: Pack, hot: Path) -> None:
    catalog = open_catalog(pack.path)
    wanted = Wanted(where='video_id == "a/0000.png"')
    staged = stage_videos(catalog, hot, wanted, QUICK)
    (shard,) = pack.shards_of(0)
    in_it = sum(pack.shards_of(row) == [shard] for row in range(24))
    assert staged.num_hot == 3 and staged.num_not_selected == 24 - in_it
    staged_pack = open_pack(hot)
    assert [staged_pack.tier_of(row) for row in range(24)] == ["hot"] * in_it + ["cold"] * (
        24 - in_it
    )
    digests, tiers = batches(open_catalog(hot))
    assert digests == batches(catalog)[0] and all(tiers)


def test_a_budget_counts_shards_and_index(pack: Pack, hot: Path) -> None:
    catalog = open_catalog(pack.path)
    source = PackSource(pack=pack, base=pack.base)
    files = choose(catalog, Wanted(job=JOB), kept_bytes=0, pack=source).files
    assert [file.title for file in files[:2]] == ["images.arrow", "annotations.arrow"]
    first = sum(file.size_bytes for file in files[:4])
    staged = stage_videos(catalog, hot, Wanted(job=JOB, budget_bytes=first), QUICK)
    assert staged.bytes_hot == first == sum(map(len, contents(hot).values()))
    assert staged.num_over_budget == len(files) - 4
    none = stage_videos(catalog, hot.parent / "none", Wanted(budget_bytes=1), QUICK)
    assert none.num_hot == 0 and batches(open_catalog(hot.parent / "none"))[1][0] == 0


def test_a_shard_that_is_not_as_it_was_packed_stays_cold(pack: Pack, hot: Path) -> None:
    name = next(iter(pack.header.shards))
    content = bytearray((pack.path / "shards" / name).read_bytes())
    content[len(content) // 2] ^= 1
    (pack.path / "shards" / name).write_bytes(content)
    staged = stage_videos(open_catalog(pack.path), hot, rules=QUICK)
    (failed,) = staged.failed
    assert failed.video_id == f"shards/{name}" and "not the one that was indexed" in failed.reason


def test_a_hot_shard_that_was_written_to_is_passed_over_and_mended(pack: Pack, hot: Path) -> None:
    catalog = open_catalog(pack.path)
    stage_videos(catalog, hot, rules=QUICK)
    shard = pack.shard_file(next(iter(pack.header.shards)))
    assert shard.digest is not None
    (path,) = hot.glob(f"files/*/{shard.digest.removeprefix('blake3:')}.tar")
    path.write_bytes(b"x" * (shard.size_bytes or 0))
    descriptor, tier = PackPlaces(hot).open_shard(shard)
    os.close(descriptor)
    assert tier == "cold"
    staged = stage_videos(catalog, hot, rules=QUICK)
    assert (staged.num_dropped, staged.num_staged) == (1, 1)
    open_pack(hot).check()


def test_a_shard_that_is_staged_meanwhile_is_found(
    pack: Pack, hot: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader_of_packs, "LOOK_AGAIN_SECONDS", 0.0)
    catalog = open_catalog(pack.path)
    stage_videos(catalog, hot, Wanted(budget_bytes=1), QUICK)
    with open_pack(hot) as opened:
        wanted = opened.read(0)
        assert opened.tier_of(0) == "cold"
        stage_videos(catalog, hot, rules=QUICK)
        shutil.rmtree(pack.path)
        time.sleep(0.01)
        opened.read(0)
        assert opened.read(0) == wanted and opened.tier_of(0) == "hot"


def test_an_open_hot_shard_is_not_evicted(pack: Pack, hot: Path) -> None:
    catalog = open_catalog(pack.path)
    stage_videos(catalog, hot, rules=QUICK)
    with open_pack(hot) as opened:
        opened.read(23)
        (shard,) = opened.shards_of(23)
        rules = with_rules(evict=True)
        wanted = Wanted(where='video_id == "a/0000.png"', budget_bytes=1)
        staged = stage_videos(catalog, hot, wanted, rules)
        assert [kept.reason for kept in staged.kept] == ["it is in use"]
        assert staged.num_evicted == len(pack.header.shards) + 2 - 1
        digest = pack.header.shard_digests[shard].removeprefix("blake3:")
        assert staged.kept[0].name.endswith(f"{digest}.tar")


def test_a_pack_comes_from_an_object_store(
    pack: Pack, s3: S3Server, bucket: str, hot: Path
) -> None:
    s3.put_folder(pack.path / "shards", f"{bucket}/shards")
    digests, _ = batches(open_catalog(pack.path))
    rules = with_rules(source=bucket, parallel=2)
    staged = stage_videos(open_catalog(pack.path), hot, rules=rules)
    assert not staged.failed and sorted(contents(hot).values()) == wanted_contents(pack)
    shutil.rmtree(pack.path / "shards")
    assert batches(open_catalog(hot))[0] == digests
    origins = {one.rsplit("/", 1)[0] for one in sources_of(hot)}
    assert origins == {f"{bucket}/shards", str(pack.path)}


def sources_of(hot: Path) -> list[str]:
    lines = (hot / ".work/journal.jsonl").read_text().splitlines()
    rows = [json.loads(json.loads(line)["row"]) if isinstance(json.loads(line).get("row"), str)
            else json.loads(line).get("row") for line in lines]  # fmt: skip
    return [row["source"] for row in rows if row]


def test_a_shard_that_only_the_store_has_is_an_error_with_a_hint(
    pack: Pack, s3: S3Server, bucket: str, hot: Path
) -> None:
    s3.put_folder(pack.path / "shards", f"{bucket}/shards")
    wanted = Wanted(where='video_id == "a/0000.png"')
    stage_videos(open_catalog(pack.path), hot, wanted, with_rules(source=bucket))
    with open_pack(hot) as opened:
        opened.read(0)
        with pytest.raises(UnreadableVideo, match="store and is not staged") as caught:
            opened.read(23)
    assert "stage the pack again" in caught.value.hint


def test_a_staged_pack_can_be_staged_again(pack: Pack, tmp_path: Path, hot: Path) -> None:
    wanted = Wanted(where='video_id == "a/0000.png"')
    stage_videos(open_catalog(pack.path), hot, wanted, QUICK)
    staged = stage_videos(open_catalog(hot), tmp_path / "hotter", rules=QUICK)
    assert not staged.failed
    shutil.rmtree(pack.path)
    shutil.rmtree(hot)
    open_pack(tmp_path / "hotter").check()


def test_a_pack_without_digests_of_its_shards_is_refused(pack: Pack, hot: Path) -> None:
    header = json.loads((pack.path / "pack.json").read_bytes())
    del header["shard_digests"]
    (pack.path / "pack.json").write_text(json.dumps(header))
    with pytest.raises(UserError, match="shards have no digests") as caught:
        stage_videos(open_catalog(pack.path), hot, rules=QUICK)
    assert "pack the same folder again" in caught.value.hint and not hot.exists()


def test_packing_again_gives_old_shards_their_digests(pack: Pack, tmp_path: Path) -> None:
    journal = pack.path / ".work/journal.jsonl"
    text = journal.read_text()
    for digest in pack.header.shard_digests.values():
        text = text.replace(digest, "").replace('\\"digest\\":\\"\\"', '\\"digest\\":null')
        text = text.replace('"digest":""', '"digest":null')
    # As journals were in those days, without sums.
    journal.write_text(re.sub(r',"crc32":"[0-9a-f]{8}"', "", text))
    again = pack_images(tmp_path / "images", pack.path, shard_bytes=8_000, executor=HERE)
    assert again.header.num_made == 0
    assert again.header.shard_digests == pack.header.shard_digests


def test_videos_can_be_staged_where_a_pack_was(pack: Pack, tmp_path: Path, hot: Path) -> None:
    from tests.stage.footage import make_catalog

    stage_videos(open_catalog(pack.path), hot, rules=QUICK)
    (tmp_path / "v").mkdir()
    videos = make_catalog(tmp_path / "v", num_videos=2)
    staged = stage_videos(videos, hot, rules=QUICK)
    assert staged.num_hot == 2 and not (hot / "pack.json").exists()
    stage_videos(open_catalog(pack.path), hot, rules=QUICK)
    open_pack(hot).check()


def test_a_shard_whose_staging_is_killed_goes_on_by_chunk(tmp_path: Path, hot: Path) -> None:
    noise = np.random.default_rng(0)
    for number in range(8):
        pixels = noise.integers(0, 255, (256, 256, 3), dtype=np.uint8)
        write_pixels(tmp_path / "images" / f"{number}.png", pixels)
    pack = pack_images(tmp_path / "images", tmp_path / "catalog", executor=HERE)
    total = sum(pack.header.shards.values()) + (pack.path / "images.arrow").stat().st_size
    process = start(tmp_path, source="-", workers=1, rate=1_000_000)
    deadline = time.monotonic() + PATIENT_SECONDS
    while num_listed_chunks(hot) < 8 and time.monotonic() < deadline:
        assert process.poll() is None
        time.sleep(0.005)
    kill(process)
    listed = num_listed_chunks(hot)
    assert all(name.endswith(".arrow") for name in contents(hot)) and listed >= 8
    with start(tmp_path, source="-", workers=1, rate=10**9) as again:
        staged = msgspec.json.decode(again.communicate(timeout=PATIENT_SECONDS)[0], type=Staged)
    of_shard = listed - 1  # the only chunk of the index is smaller, and may be listed still
    assert staged.bytes_fetched <= total - of_shard * QUICK.chunk_bytes
    assert not staged.failed and not list((hot / ".work/places").iterdir())
    open_pack(hot).check()
