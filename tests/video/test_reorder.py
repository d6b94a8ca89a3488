"""Parameter sets that say how many frames are held back, and those that do not."""

from __future__ import annotations

from pathlib import Path

import av
import pytest
from hypothesis import given
from hypothesis import strategies as st

from filmgate.video.container import reopen_video
from filmgate.video.reorder import tells_reordering
from tests.video import recipes


def ue(value: int) -> str:
    """A ue(v) in bits."""
    return f"{value + 1:b}".rjust(2 * (value + 1).bit_length() - 1, "0")


def record(bits: str) -> bytes:
    """An avcC record with one sequence parameter set of these bits."""
    bits += "1"
    unit = bytes([0x67]) + int(bits + "0" * (-len(bits) % 8), 2).to_bytes(-(-len(bits) // 8), "big")
    escaped, zeros = bytearray(), 0
    for byte in unit:
        if zeros >= 2 and byte <= 3:
            escaped.append(3)
            zeros = 0
        escaped.append(byte)
        zeros = zeros + 1 if byte == 0 else 0
    return b"\1\x64\0\x1f\xff\xe1" + len(escaped).to_bytes(2, "big") + bytes(escaped)


def schedule(draw: st.DrawFn) -> str:
    """A decoder's parameters, or none."""
    if not draw(st.booleans()):
        return "0"
    count = draw(st.integers(0, 3))
    each = ue(draw(st.integers(0, 9))) + ue(draw(st.integers(0, 9))) + "1"
    return "1" + ue(count) + "0" * 8 + each * (count + 1) + "01" * 10


@st.composite
def sets(draw: st.DrawFn, *, restriction: str) -> bytes:
    """Sequence parameter sets with a random choice of all that may come before the flag."""
    profile, number = draw(st.sampled_from([66, 77, 100])), st.integers(0, 300)
    bits = f"{profile:08b}" + "0" * 8 + f"{31:08b}" + ue(0)
    if profile == 100:
        bits += ue(1) + ue(0) + ue(0) + "0" + "0"
    bits += ue(draw(number))
    kind = draw(st.integers(0, 2))
    count = draw(st.integers(0, 4))
    cycle = ue(count) + "".join(ue(draw(number)) for _ in range(count))
    bits += ue(kind) + {0: ue(3), 1: "0" + ue(1) + ue(2) + cycle, 2: ""}[kind]
    bits += ue(4) + "0" + ue(draw(number)) + ue(draw(number))
    bits += draw(st.sampled_from(["1", "00", "01"])) + "1"
    bits += draw(st.sampled_from(["0", "1" + ue(0) + ue(3) + ue(0) + ue(2)]))
    bits += "1"
    bits += draw(st.sampled_from(["0", f"1{1:08b}", f"1{255:08b}" + "10" * 16]))
    bits += draw(st.sampled_from(["0", "10", "11"]))
    bits += draw(st.sampled_from(["0", "1" + "1010" + "0", "1" + "1010" + "1" + "01" * 12]))
    bits += draw(st.sampled_from(["0", "1" + ue(2) + ue(2)]))
    bits += draw(st.sampled_from(["0", "1" + "0" * 32 + "1" * 32 + "1"]))
    schedules = [schedule(draw), schedule(draw)]
    bits += "".join(schedules) + ("" if schedules == ["0", "0"] else "0")
    return record(bits + "1" + restriction)


@given(sets(restriction="1" + "1" + ue(0) * 4 + ue(2) + ue(4)))
def test_a_set_with_the_flag_tells_it(data: bytes) -> None:
    assert tells_reordering(data)


@given(sets(restriction="0"))
def test_a_set_without_the_flag_does_not(data: bytes) -> None:
    assert not tells_reordering(data)


@given(st.binary(max_size=60))
def test_rubbish_is_no_error(data: bytes) -> None:
    assert tells_reordering(data) in (True, False)
    assert tells_reordering(b"\1" + data) in (True, False)


def test_a_set_without_usability_information_does_not_tell_it() -> None:
    bits = f"{66:08b}" + "0" * 8 + f"{31:08b}" + ue(0) + ue(0) + ue(2) + ue(1) + "0"
    assert not tells_reordering(record(bits + ue(9) + ue(9) + "1" + "1" + "0" + "0"))


@pytest.mark.parametrize(
    "recipe, is_decoded",
    [
        (recipes.x264_fields, False),
        (recipes.mpeg4_mp4, True),
        (recipes.av1, True),
        (recipes.vp9_hidden, True),
        (recipes.hevc_open, True),
    ],
)
def test_the_start_is_decoded_where_that_may_change_something(
    tmp_path: Path, recipe, is_decoded: bool
) -> None:
    with reopen_video(recipe(tmp_path)) as video:
        assert (video.stream.codec_context.pix_fmt is not None) == is_decoded


def test_hevc_in_mp4_is_opened_without_decoding(tmp_path: Path) -> None:
    with reopen_video(recipes.hevc_open(tmp_path, "mp4")) as video:
        assert video.stream.codec_context.pix_fmt is None
        assert isinstance(next(video.container.decode(video.stream)), av.VideoFrame)
