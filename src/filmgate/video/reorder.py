"""Whether H.264 parameter sets say how many frames a decoder has to hold back.

Where they do, a decoder gives the right order from its first packet on. Where they do not, it
guesses from what it has decoded, and FFmpeg decodes the start of a file to learn it.
Source: ITU-T H.264 7.3.2.1.1, E.1.1 and E.2.1 (bitstream_restriction_flag).
"""

from __future__ import annotations

from collections.abc import Iterator

from filmgate.video.bitstream import BitReader

WITH_CHROMA_FORMAT = (100, 110, 122, 244, 44, 83, 86, 118, 128, 138, 139, 134, 135)
"""Profiles whose sequence parameter set tells the chroma format and may bring scaling lists."""
EXTENDED_ASPECT = 255


def tells_reordering(extradata: bytes) -> bool:
    """Whether every sequence parameter set of an avcC record tells it; False for other records."""
    units = list(_sequence_units(extradata))
    return bool(units) and all(_has_restriction(unit) for unit in units)


def _sequence_units(extradata: bytes) -> Iterator[bytes]:
    if len(extradata) < 7 or extradata[0] != 1:
        return
    at = 6
    for _ in range(extradata[5] & 31):
        size = int.from_bytes(extradata[at : at + 2], "big")
        yield extradata[at + 2 : at + 2 + size]
        at += 2 + size


def _has_restriction(unit: bytes) -> bool:
    bits = BitReader(unit[1:].replace(b"\0\0\3", b"\0\0"))
    profile = bits.read(8)
    bits.read(16)
    bits.exp_golomb()
    if profile in WITH_CHROMA_FORMAT and not _pass_format(bits):
        return False
    bits.exp_golomb()
    _pass_order_count(bits)
    _pass_size(bits)
    return bits.read(1) == 1 and _usability_tells(bits)


def _pass_format(bits: BitReader) -> bool:
    """False where scaling lists follow, which are not read."""
    if bits.exp_golomb() == 3:
        bits.read(1)
    bits.exp_golomb()
    bits.exp_golomb()
    bits.read(1)
    return bits.read(1) == 0


def _pass_order_count(bits: BitReader) -> None:
    kind = bits.exp_golomb()
    if kind == 0:
        bits.exp_golomb()
    elif kind == 1:
        bits.read(1)
        bits.exp_golomb()
        bits.exp_golomb()
        for _ in range(min(255, bits.exp_golomb())):
            bits.exp_golomb()


def _pass_size(bits: BitReader) -> None:
    bits.exp_golomb()
    bits.read(1)
    bits.exp_golomb()
    bits.exp_golomb()
    if bits.read(1) == 0:
        bits.read(1)
    bits.read(1)
    if bits.read(1):
        for _ in range(4):
            bits.exp_golomb()


def _usability_tells(bits: BitReader) -> bool:
    """The usability information up to bitstream_restriction_flag."""
    if bits.read(1) and bits.read(8) == EXTENDED_ASPECT:
        bits.read(32)
    if bits.read(1):
        bits.read(1)
    if bits.read(1):
        bits.read(4)
        if bits.read(1):
            bits.read(24)
    if bits.read(1):
        bits.exp_golomb()
        bits.exp_golomb()
    if bits.read(1):
        bits.read(65)
    has_schedules = [_pass_schedule(bits), _pass_schedule(bits)]
    if any(has_schedules):
        bits.read(1)
    bits.read(1)
    return bits.read(1) == 1


def _pass_schedule(bits: BitReader) -> bool:
    """The parameters of a hypothetical decoder (E.1.2), if there are any."""
    if bits.read(1) == 0:
        return False
    count = min(31, bits.exp_golomb()) + 1
    bits.read(8)
    for _ in range(count):
        bits.exp_golomb()
        bits.exp_golomb()
        bits.read(1)
    bits.read(20)
    return True
