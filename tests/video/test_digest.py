from __future__ import annotations

from pathlib import Path

import pytest

from filmgate.video import frame_digests, probe
from tests.video import recipes
from tests.video.test_exact import needs_ffmpeg

FORMATS = [
    "yuv420p", "yuv422p", "yuv444p", "yuv410p", "yuva420p", "yuv420p10le", "yuv444p12le",
    "yuv422p16le", "nv12", "gray", "gray10le", "gray16be", "rgb24", "bgr0", "gbrp", "gbrp10le",
    "yuyv422", "uyvy422", "rgb565le", "rgb48le", "monow", "monob", "pal8",
]  # fmt: skip


@needs_ffmpeg
@pytest.mark.parametrize("pixel_format", FORMATS)
def test_the_digest_of_every_layout_of_samples_is_that_of_ffmpeg(
    tmp_path: Path, pixel_format: str
) -> None:
    path = recipes.pattern(
        tmp_path / "raw.nut",
        "-c:v",
        "rawvideo",
        "-pix_fmt",
        pixel_format,
        "-frames:v",
        "3",
        source=recipes.ODD if pixel_format != "pal8" else recipes.SOURCE,
    )
    facts, table = probe(path)
    assert facts.pixel_format == pixel_format
    assert [row.md5 for row in frame_digests(path, table)] == recipes.framemd5(path)


@needs_ffmpeg
@pytest.mark.parametrize("width", [1, 2, 7, 16, 33, 63, 70])
def test_padding_at_the_end_of_rows_is_no_part_of_the_picture(tmp_path: Path, width: int) -> None:
    source = f"testsrc2=size=96x64:rate=25:duration=1,format=rgb24,crop={width}:9"
    path = recipes.pattern(
        tmp_path / "odd.mkv", "-c:v", "ffv1", "-pix_fmt", "yuv444p", source=source
    )
    assert [row.md5 for row in frame_digests(path, probe(path)[1])] == recipes.framemd5(path)


@needs_ffmpeg
def test_rows_say_index_and_time_and_come_in_display_order(tmp_path: Path) -> None:
    path = recipes.r12(tmp_path)
    _, table = probe(path)
    for order in ("sequential", "random"):
        rows = list(frame_digests(path, table, order=order, seed=4))
        assert [row.index for row in rows] == list(range(50))
        assert [row.pts for row in rows] == table.pts.tolist()
        assert rows[0].seconds == 0
        assert rows[25].seconds == 1
