"""A video that is known is opened without reading its packets again, however long it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from filmgate.video import FrameTable, VideoReader, probe
from tests.footage import write_video

SHORT, LONG = 300, 1500
CODECS = {
    "mp4": "libx264", "mkv": "libx264", "webm": "libvpx-vp9", "ts": "libx264", "avi": "mpeg4",
}  # fmt: skip


def bytes_read() -> int:
    """Bytes that this process has read from files up to now, from the cache of the kernel too."""
    words = Path("/proc/self/io").read_text().split()
    return int(words[words.index("rchar:") + 1])


def cost_of_one_frame(path: Path, table: FrameTable) -> int:
    """Bytes read to open a known video and give the frame in its middle."""
    before = bytes_read()
    with VideoReader(path, table) as reader:
        assert len(list(reader.frames([table.num_frames // 2]))) == 1
    return bytes_read() - before


@pytest.mark.parametrize("suffix", CODECS)
def test_a_known_video_is_opened_without_reading_it_again(suffix: str, tmp_path: Path) -> None:
    quick = {"deadline": "realtime", "cpu-used": "8"} if suffix == "webm" else {}
    costs = []
    for num_frames in (SHORT, LONG):
        path = tmp_path / f"{num_frames}.{suffix}"
        write_video(
            path, num_frames=num_frames, width=160, height=120, gop=25,
            codec=CODECS[suffix], options=quick,
        )  # fmt: skip
        costs.append(cost_of_one_frame(path, probe(path)[1]))
    # MP4 and AVI keep a list of their packets in the header, 12 to 30 bytes each.
    assert costs[1] - costs[0] < path.stat().st_size / 4 + 64_000
    assert costs[1] < path.stat().st_size
