from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from msgspec.structs import replace

from filmgate.bench.trace import ALIGNED_BYTES, PIECE_BYTES, spans_of, trace_of, write_logs
from filmgate.catalog import Catalog, index_videos
from filmgate.catalog.order_over import order_over
from filmgate.feed import ClipReader
from filmgate.spec import Job
from tests.footage import write_video

JOB = Job()
JOB = replace(JOB, clip=replace(JOB.clip, frames=8, stride=1, height=32, width=32))


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    folder = tmp_path_factory.mktemp("trace")
    (folder / "my videos").mkdir()
    for number in range(3):
        write_video(
            folder / "my videos" / f"v{number}.mp4", num_frames=120, width=320, height=240,
            gop=20, hue=number,
        )  # fmt: skip
    return index_videos([folder / "my videos"], folder / "catalog", labels=None)


def bytes_read() -> int:
    lines = Path("/proc/self/io").read_text().splitlines()
    return int(lines[0].split()[1])


def test_the_plan_reads_about_what_the_reader_reads(catalog: Catalog) -> None:
    trace = trace_of(JOB, catalog, num_clips=40, demand_clips_per_second=None)
    order = order_over(JOB, catalog, "train", catalog.frame_table)
    reader = ClipReader(catalog)
    samples = [order.sample(number) for number in range(40)]
    for sample in samples:  # opens every video, which reads its header
        reader.read(sample.video, sample.frame_indices_T.tolist())
    before = bytes_read()
    for sample in samples:
        reader.read(sample.video, sample.frame_indices_T.tolist())
    really = (bytes_read() - before) / 40
    assert 0.5 * really < trace.bytes_per_clip < 1.6 * really


def test_every_read_lies_inside_its_file(catalog: Catalog) -> None:
    for row in range(catalog.num_videos):
        table = catalog.frame_table(row)
        for first in range(0, table.num_frames - 8, 13):
            spans = spans_of(table, list(range(first, first + 8)))
            assert spans
            assert all(
                offset >= 0 and length > 0 and offset + length <= table.file_bytes
                for offset, length in spans
            )


def test_clips_are_dealt_to_the_workers_in_turn(catalog: Catalog) -> None:
    job = replace(JOB, limits=replace(JOB.limits, workers=3))
    trace = trace_of(job, catalog, num_clips=30, demand_clips_per_second=2.0)
    alone = replace(JOB, limits=replace(JOB.limits, workers=1))
    whole = trace_of(alone, catalog, num_clips=30, demand_clips_per_second=2.0)
    assert len(trace.reads) == 3
    assert Counter(read for reads in trace.reads for read in reads) == Counter(whole.reads[0])
    assert trace.bytes_per_clip == whole.bytes_per_clip


def test_logs_name_links_without_blanks_and_aligned_pieces(
    catalog: Catalog, tmp_path: Path
) -> None:
    trace = trace_of(JOB, catalog, num_clips=6, demand_clips_per_second=None)
    logs = write_logs(tmp_path, trace)
    assert len(logs) == len(trace.reads)
    for log in logs:
        first, *lines = log.read_text().splitlines()
        assert first == "fio version 2 iolog"
        for line in lines:
            path, what, *numbers = line.split(" ")
            assert "my videos" in str(Path(path).resolve())
            assert what in ("add", "open", "close", "read")
            if what == "read":
                offset, length = map(int, numbers)
                assert offset % ALIGNED_BYTES == length % ALIGNED_BYTES == 0
                assert 0 < length <= PIECE_BYTES
                assert offset + length <= Path(path).stat().st_size
