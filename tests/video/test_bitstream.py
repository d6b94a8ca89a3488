from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from filmgate.video.bitstream import BitReader, nal_units, peeker_for


@given(values=st.lists(st.integers(0, 70_000), max_size=20))
def test_exp_golomb_numbers_are_read_as_they_are_written(values: list[int]) -> None:
    bits = "".join(
        f"{value + 1:b}".rjust(2 * (value + 1).bit_length() - 1, "0") for value in values
    )
    reader = BitReader(int(bits + "0" * (-len(bits) % 8), 2).to_bytes(-(-len(bits) // 8), "big")
                       if bits else b"")  # fmt: skip
    assert [reader.exp_golomb() for _ in values] == values


@given(units=st.lists(st.binary(min_size=1, max_size=40).map(lambda b: b"\x65" + b + b"\x80")))
def test_units_are_found_behind_lengths(units: list[bytes]) -> None:
    packet = b"".join(len(unit).to_bytes(4, "big") + unit for unit in units)
    assert [bytes(unit) for unit in nal_units(memoryview(packet), 4)] == units


@given(
    units=st.lists(
        st.binary(min_size=1, max_size=40).map(lambda b: b"\x65" + b.replace(b"\0", b"\1"))
    )
)
def test_units_are_found_behind_start_codes(units: list[bytes]) -> None:
    packet = b"".join(b"\0\0\1" + unit for unit in units)
    assert [bytes(unit) for unit in nal_units(memoryview(packet), 0)] == units


@given(data=st.binary(min_size=1, max_size=60), is_key=st.booleans())
def test_rubbish_never_breaks_a_look(data: bytes, is_key: bool) -> None:
    for codec in ("h264", "hevc", "vp8", "vp9", "av1", "mpeg4", "h263"):
        peeker = peeker_for(codec, b"", is_intra_only=False)
        assert peeker is not None
        assert peeker(memoryview(data), is_key).shown >= 0


def test_a_vp9_packet_with_a_hidden_frame_shows_one() -> None:
    hidden, shown = bytes([0b10_0_0_0_1_0_0, 1, 2]), bytes([0b10_0_0_0_1_1_0, 3])
    index = bytes([0b110_00_001, len(hidden), len(shown), 0b110_00_001])
    peeker = peeker_for("vp9", b"", is_intra_only=False)
    assert peeker is not None
    assert peeker(memoryview(hidden + shown + index), False).shown == 1
    assert peeker(memoryview(hidden), False).shown == 0


@given(
    first=st.binary(max_size=8),
    others=st.lists(st.binary(max_size=8), max_size=3),
    length_bytes=st.sampled_from([1, 2, 4]),
)
def test_a_quick_look_at_hevc_says_what_all_units_say(
    first: bytes, others: list[bytes], length_bytes: int
) -> None:
    units = [first, *others]
    packet = b"".join(len(unit).to_bytes(length_bytes, "big") + unit for unit in units)
    start_codes = b"".join(b"\0\0\0" + bytes([len(unit)]) + unit for unit in units)
    record = bytes([1]) + bytes(20) + bytes([length_bytes - 1])
    quick = peeker_for("hevc", bytes([1]) + bytes(20) + bytes([3]), is_intra_only=False)
    slow = peeker_for("hevc", record, is_intra_only=False)
    assert quick is not None and slow is not None
    assert quick(memoryview(start_codes), False) == slow(memoryview(packet), False)


def test_a_vp8_alternate_reference_is_not_shown() -> None:
    peeker = peeker_for("vp8", b"", is_intra_only=False)
    assert peeker is not None
    assert peeker(memoryview(b"\x01\x00\x00\x00"), False).shown == 0
    assert peeker(memoryview(b"\x11\x00\x00\x00"), False).shown == 1


def test_an_empty_mpeg4_picture_is_in_doubt() -> None:
    peeker = peeker_for("mpeg4", b"", is_intra_only=False)
    assert peeker is not None
    assert peeker(memoryview(b"\0\0\1\xb6\x50\0\0"), False).doubt is not None
    assert peeker(memoryview(b"\0\0\1\xb6" + bytes(40)), True).is_entry


def test_a_codec_whose_heads_tell_nothing_has_no_look() -> None:
    assert peeker_for("mpeg2video", b"", is_intra_only=False) is None
    intra = peeker_for("prores", b"", is_intra_only=True)
    assert intra is not None
    assert intra(memoryview(b"x"), False).is_entry
