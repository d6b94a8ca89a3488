"""Staging from a real S3 server, in good weather and bad."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from filmgate.catalog import Catalog, open_catalog
from filmgate.errors import UserError
from filmgate.stage.choice import Wanted
from filmgate.stage.progress import StageProgress
from filmgate.stage.stage import StageRules, stage_videos
from tests.stage.footage import QUICK, contents, make_catalog, wanted_contents
from tests.stage.proxy import Weather
from tests.stage.s3_server import S3Server

SIZE = 500_000
CHUNK = QUICK.chunk_bytes


def uploaded(tmp_path: Path, s3: S3Server, bucket: str, num_videos: int = 2) -> Catalog:
    catalog = make_catalog(tmp_path, num_videos=num_videos, size_bytes=SIZE)
    s3.put_folder(tmp_path / "nas", bucket)
    return catalog


def rules_for(bucket: str, **changes: object) -> StageRules:
    return msgspec.structs.replace(QUICK, source=bucket, **changes)


def test_a_bucket_is_staged_as_it_was_indexed(
    tmp_path: Path, s3: S3Server, bucket: str, hot: Path
) -> None:
    catalog = uploaded(tmp_path, s3, bucket, num_videos=4)
    staged = stage_videos(catalog, hot, rules=rules_for(bucket, parallel=2))
    assert contents(hot) == wanted_contents(catalog)
    assert staged.bytes_fetched == 4 * SIZE
    assert open_catalog(hot).video(0).path == f"{bucket}/cold/0.mp4"
    text = "".join(path.read_text() for path in hot.rglob("*.json*"))
    assert "stage-tests" not in text  # neither key nor secret


def test_connections_that_are_cut_cost_their_chunk_and_no_more(
    tmp_path: Path, s3: S3Server, weather: Weather, bucket: str, hot: Path
) -> None:
    catalog = uploaded(tmp_path, s3, bucket)
    weather.cut_after_bytes, weather.num_cuts = 200_000, 4
    staged = stage_videos(catalog, hot, rules=rules_for(bucket))
    assert weather.num_cuts == 0
    assert contents(hot) == wanted_contents(catalog)
    assert staged.bytes_fetched <= 2 * SIZE + 4 * CHUNK


def test_a_slow_transfer_that_moves_goes_to_its_end(
    tmp_path: Path, s3: S3Server, weather: Weather, bucket: str, hot: Path
) -> None:
    catalog = uploaded(tmp_path, s3, bucket, num_videos=1)
    weather.bytes_per_second = 120_000
    rules = rules_for(bucket, stall_seconds=1.0, chunk_bytes=SIZE)
    staged = stage_videos(catalog, hot, rules=rules)
    assert staged.seconds > 4 * rules.stall_seconds  # one request, longer than any wait
    assert contents(hot) == wanted_contents(catalog)
    assert staged.bytes_fetched == SIZE


def test_a_transfer_that_stands_still_is_begun_anew(
    tmp_path: Path, s3: S3Server, weather: Weather, bucket: str, hot: Path
) -> None:
    catalog = uploaded(tmp_path, s3, bucket, num_videos=1)
    weather.still_after_bytes, weather.num_still = 150_000, 2
    staged = stage_videos(catalog, hot, rules=rules_for(bucket, stall_seconds=0.5))
    assert weather.num_still == 0
    assert contents(hot) == wanted_contents(catalog)
    assert staged.bytes_fetched <= SIZE + 2 * CHUNK


def test_a_byte_that_is_flipped_on_the_way_does_not_count_as_a_copy(
    tmp_path: Path, s3: S3Server, weather: Weather, bucket: str, hot: Path
) -> None:
    catalog = uploaded(tmp_path, s3, bucket, num_videos=1)
    weather.flip_at = 320_000
    staged = stage_videos(catalog, hot, rules=rules_for(bucket))
    assert weather.flip_at is None
    assert contents(hot) == wanted_contents(catalog)
    assert staged.bytes_fetched == 2 * SIZE  # nothing tells which chunk it was


def test_an_object_of_other_content_stays_cold(
    tmp_path: Path, s3: S3Server, bucket: str, hot: Path
) -> None:
    catalog = uploaded(tmp_path, s3, bucket)
    content = bytearray((tmp_path / "nas/cold/0.mp4").read_bytes())
    content[SIZE // 2] ^= 1
    s3.put(f"{bucket}/cold/0.mp4", bytes(content))
    staged = stage_videos(catalog, hot, rules=rules_for(bucket))
    (failed,) = staged.failed
    assert failed.video_id == "cold/0.mp4" and "not the one that was indexed" in failed.reason
    assert list(contents(hot).values()) == [(tmp_path / "nas/warm/1.mp4").read_bytes()]


def test_an_object_that_changes_meanwhile_never_mixes(
    tmp_path: Path, s3: S3Server, weather: Weather, bucket: str, hot: Path
) -> None:
    catalog = uploaded(tmp_path, s3, bucket, num_videos=1)
    right = (tmp_path / "nas/cold/0.mp4").read_bytes()
    s3.put(f"{bucket}/cold/0.mp4", bytes(reversed(right)))
    weather.bytes_per_second = 200_000
    changed: list[int] = []

    def change(progress: StageProgress) -> None:
        if not changed and progress.bytes_done > 2 * CHUNK:
            changed.append(progress.bytes_done)
            s3.put(f"{bucket}/cold/0.mp4", right)
            weather.bytes_per_second = None

    staged = stage_videos(catalog, hot, rules=rules_for(bucket), on_progress=change)
    assert changed
    assert contents(hot) == wanted_contents(catalog)
    assert staged.bytes_fetched < 2 * SIZE  # the rest of the first state was not asked for


def test_a_store_that_is_away_for_a_while_is_waited_for(
    tmp_path: Path, s3: S3Server, weather: Weather, bucket: str, hot: Path
) -> None:
    catalog = uploaded(tmp_path, s3, bucket, num_videos=1)
    weather.bytes_per_second = 150_000
    weather.cut_after_bytes, weather.num_cuts = 100_000, 1

    def come_and_go(progress: StageProgress) -> None:
        weather.is_down = not weather.is_down and progress.files_done == 0

    rules = rules_for(bucket, attempts=6, retry_seconds=0.5)
    stage_videos(catalog, hot, rules=rules, on_progress=come_and_go)
    assert contents(hot) == wanted_contents(catalog)


def test_without_credentials_no_connection_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hot: Path
) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID", raising=False)
    catalog = make_catalog(tmp_path, num_videos=1, size_bytes=100_000)
    with pytest.raises(UserError, match="no credentials") as raised:
        stage_videos(catalog, hot, rules=rules_for("s3://videos/x"))
    assert "AWS_SKIP_SIGNATURE=true" in raised.value.hint


@pytest.mark.parametrize(
    ("url", "secret", "said"),
    [
        ("s3://videos/nowhere", None, "is not in the store"),
        ("s3://videos/nowhere", "wrong", "access denied"),
        ("what://videos", None, "no object store"),
    ],
)
def test_a_store_that_cannot_be_used_is_said_with_what_to_do(
    tmp_path: Path,
    s3: S3Server,
    monkeypatch: pytest.MonkeyPatch,
    hot: Path,
    url: str,
    secret: str | None,
    said: str,
) -> None:
    catalog = make_catalog(tmp_path, num_videos=2)
    if secret is not None:
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", secret)
    with pytest.raises(UserError, match=said):
        stage_videos(catalog, hot, Wanted(), rules_for(url))
