"""Packets that are left out, against the decoder's own skip setting and in their effect."""

from __future__ import annotations

import pickle
from pathlib import Path

import av
import msgspec
import pytest

from filmgate.video import VideoReader, native_md5, probe
from filmgate.video.spare import may_leave_out, spare_look
from tests.footage import write_video

CODECS = {
    "h264": ("libx264", {"bf": "3"}),
    "hevc": ("libx265", {"x265-params": "bframes=3:log-level=none"}),
    "hevc_layers": ("libx265", {"x265-params": "bframes=3:temporal-layers=3:log-level=none"}),
    "mpeg4": ("mpeg4", {"bf": "2"}),
    "mpeg2video": ("mpeg2video", {"bf": "2"}),
}


def video(folder: Path, name: str, suffix: str, num_frames: int = 60) -> Path:
    codec, options = CODECS[name]
    path = folder / f"{name}.{suffix}"
    return write_video(
        path, num_frames=num_frames, gop=30, b_frames=3, codec=codec, options=options
    )


def spare_pts(path: Path) -> set[int]:
    with av.open(path) as container:
        stream = container.streams.video[0]
        context = stream.codec_context
        look = spare_look(context.codec.canonical_name, context.extradata or b"")
        assert look is not None
        packets = [packet for packet in container.demux(stream) if packet.size]
        return {packet.pts for packet in packets if look(memoryview(packet))}


def pts_that_come(path: Path, skip: str) -> set[int]:
    with av.open(path) as container:
        stream = container.streams.video[0]
        stream.codec_context.skip_frame = skip
        return {frame.pts for frame in container.decode(stream)}


@pytest.mark.parametrize(
    ("name", "suffix"),
    [("h264", "mp4"), ("h264", "mkv"), ("h264", "ts"), ("hevc", "mp4"), ("hevc_layers", "mkv"),
     ("mpeg4", "mp4"), ("mpeg2video", "ts")],
)  # fmt: skip
def test_spare_packets_are_those_that_the_decoder_itself_would_skip(
    name: str, suffix: str, tmp_path: Path
) -> None:
    path = video(tmp_path, name, suffix)
    spare, skipped = spare_pts(path), pts_that_come(path, "DEFAULT") - pts_that_come(path, "NONREF")
    assert len(spare) >= 10
    assert spare <= skipped
    if name in ("h264", "mpeg4", "mpeg2video"):
        assert spare == skipped


@pytest.mark.parametrize("codec", ["av1", "vp8", "vp9", "theora", "wmv3", "h263"])
def test_no_other_codec_has_spare_packets(codec: str) -> None:
    assert spare_look(codec, b"") is None


def test_hevc_without_a_record_of_its_parameters_has_none() -> None:
    assert spare_look("hevc", b"\0\0\0\1\x40") is None


@pytest.mark.parametrize("codec", ["h264", "mpeg4", "mpeg2video"])
@pytest.mark.parametrize(
    "content",
    [b"", b"\0", bytes(40), b"\xff" * 40, b"\0\0\0\x10\x01abc", b"junk\0\0\1\1abc"],
)
def test_a_damaged_packet_is_never_spare(codec: str, content: bytes) -> None:
    for extradata in (b"", b"\1\x64\0\x1f\xff"):
        look = spare_look(codec, extradata)
        assert look is not None
        assert not look(memoryview(content))


def test_parameter_sets_are_never_left_out() -> None:
    look = spare_look("h264", b"")
    assert look is not None
    assert look(memoryview(b"\0\0\1\x09\x10\0\0\1\x01\x9aabc"))
    assert not look(memoryview(b"\0\0\1\x68\x10\0\0\1\x01\x9aabc"))
    assert not look(memoryview(b"\0\0\1\x01\x9aabc\0\0\1\x41\x9aabc"))


@pytest.mark.parametrize("name", CODECS)
def test_a_clip_with_a_stride_decodes_fewer_frames_than_lie_on_the_way(
    name: str, tmp_path: Path
) -> None:
    path = video(tmp_path, name, "mp4", num_frames=30)
    _, table = probe(path)
    with VideoReader(path, table) as reader:
        assert [index for index, _ in reader.frames(range(0, 29, 4))] == list(range(0, 29, 4))
        assert reader.num_decoded < 24


def test_a_frame_that_was_left_out_can_be_had_afterwards(tmp_path: Path) -> None:
    path = video(tmp_path, "h264", "mp4", num_frames=30)
    _, table = probe(path)
    with VideoReader(path, table) as reader:
        want = [native_md5(frame) for _, frame in reader.frames(range(30))]
        list(reader.frames([0, 20]))
        assert [native_md5(frame) for _, frame in reader.frames(range(1, 20))] == want[1:20]


def test_reading_on_frame_by_frame_decodes_hardly_anything_twice(tmp_path: Path) -> None:
    path = video(tmp_path, "h264", "mp4")
    _, table = probe(path)
    with VideoReader(path, table) as reader:
        for index in range(table.num_frames):
            list(reader.frames([index]))
        assert reader.num_decoded < table.num_frames + 12


def test_a_reader_that_leaves_nothing_out_decodes_everything_pickled_or_not(tmp_path: Path) -> None:
    path = video(tmp_path, "mpeg2video", "mp4", num_frames=30)
    _, table = probe(path)
    plain = VideoReader(path, table, leaves_out=False)
    for reader in (plain, pickle.loads(pickle.dumps(plain))):
        list(reader.frames(range(0, 29, 4)))
        assert reader.num_decoded >= 28
        reader.close()


def test_where_damage_is_known_no_picture_is_left_out(tmp_path: Path) -> None:
    facts, _ = probe(video(tmp_path, "mpeg2video", "ts", num_frames=30))
    assert may_leave_out(facts)
    assert not may_leave_out(msgspec.structs.replace(facts, damage=["packet 3: decoder error"]))
