"""A look at the head of a packet: does it show a frame, and can decoding start at it?

Only header bits are read, never pictures. Sources: ITU-T H.264 7.3.1 and 7.4.1.2, H.265 7.3.1 and
8.1.3, RFC 6386 9.1 (VP8), VP9 bitstream specification 6.2 and annex B, AV1 specification 5.3 and
5.9.2, ISO/IEC 14496-2 6.2.5 (MPEG-4 Visual).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

MPEG4_VOP = b"\0\0\1\xb6"
TINY_MPEG4_BYTES = 16
"""A coded MPEG-4 picture is larger; a picture that says "nothing coded" is smaller."""

Buffer = memoryview


class Peek(NamedTuple):
    """What the head of one packet says."""

    shown: int = 1
    """Frames that the packet shows."""
    is_entry: bool = False
    """Whether decoding can start here."""
    needs_previous: bool = False
    """Shown only when the frames before its entry point were decoded (HEVC RASL pictures)."""
    parameters: bytes = b""
    """Parameter sets in the packet, to notice when they change."""
    doubt: str | None = None
    """Why the packet cannot be judged by its head."""


ONE_FRAME = Peek()
"""Most packets: one made once is quicker than one for each."""
KEYS_TELL = {"h264"}
"""Codecs of which other packets than key packets are always ``ONE_FRAME``."""
_LEADING = Peek(needs_previous=True)
_hevc_head = struct.Struct(">IB").unpack_from
"""A length of four bytes and the first byte of its NAL unit."""

Peeker = Callable[[Buffer, bool], Peek]
"""From the bytes of a packet, and whether the container calls it a key frame."""


def peeker_for(codec: str, extradata: bytes, *, is_intra_only: bool) -> Peeker | None:
    """The look that fits a codec; None where heads tell nothing and everything is decoded."""
    peeker = _peeker_for(codec, extradata, is_intra_only)
    if peeker is None:
        return None

    def peek(data: Buffer, is_key: bool) -> Peek:
        """The look, for heads that are cut short as well."""
        try:
            return peeker(data, is_key)
        except IndexError:
            return Peek(doubt="a packet with a damaged head")

    return peek


def _peeker_for(codec: str, extradata: bytes, is_intra_only: bool) -> Peeker | None:
    if codec == "h264":
        length_bytes = (extradata[4] & 3) + 1 if extradata[:1] == b"\1" else 0
        return partial(_peek_h264, length_bytes)
    if codec == "hevc":
        length_bytes = (extradata[21] & 3) + 1 if extradata[:1] == b"\1" else 0
        return partial(_peek_hevc, length_bytes)
    simple: dict[str, Peeker] = {
        "vp8": _peek_vp8,
        "vp9": _peek_vp9,
        "av1": _peek_av1,
        "mpeg4": _peek_mpeg4,
        "h263": lambda data, is_key: Peek(is_entry=is_key),
    }
    if is_intra_only:
        return lambda data, is_key: Peek(is_entry=True)
    return simple.get(codec)


def nal_units(data: Buffer, length_bytes: int) -> Iterator[Buffer]:
    """The NAL units of a packet; ``length_bytes=0`` means Annex B start codes."""
    if length_bytes == 0:
        yield from _annex_b_units(bytes(data))
        return
    at = 0
    while at + length_bytes < len(data):
        size = int.from_bytes(data[at : at + length_bytes], "big")
        at += length_bytes
        yield data[at : at + size]
        at += size


def _annex_b_units(data: bytes) -> Iterator[Buffer]:
    start = data.find(b"\0\0\1")
    while start >= 0:
        end = data.find(b"\0\0\1", start + 3)
        unit = data[start + 3 : end if end >= 0 else len(data)]
        yield memoryview(unit)
        start = end


def _peek_h264(length_bytes: int, data: Buffer, is_key: bool) -> Peek:
    if not is_key:
        return ONE_FRAME
    units = [unit for unit in nal_units(data, length_bytes) if len(unit)]
    kinds = [unit[0] & 31 for unit in units]
    parameters = b"".join(
        bytes(u).rstrip(b"\0") for u, k in zip(units, kinds, strict=True) if k == 7
    )
    return Peek(is_entry=5 in kinds, parameters=parameters)


def _peek_hevc(length_bytes: int, data: Buffer, is_key: bool) -> Peek:
    if length_bytes == 4 and len(data) > 6:
        size, head = _hevc_head(data)
        kind = head >> 1 & 63
        if size > 2 and kind < 16:  # a picture comes first that is no key picture: most packets
            return _LEADING if kind in (8, 9) else ONE_FRAME
    return _peek_hevc_units(data, length_bytes)


def _peek_hevc_units(data: Buffer, length_bytes: int) -> Peek:
    parameters, kind, doubt = b"", None, None
    for unit in nal_units(data, length_bytes):
        if len(unit) < 3:
            continue
        unit_kind = unit[0] >> 1 & 63
        if unit_kind == 33:
            parameters += bytes(unit).rstrip(b"\0")
        if unit_kind in (36, 37):
            doubt = "an end of sequence inside the stream"
        if unit_kind < 32 and kind is None:
            kind = unit_kind
            if 16 <= kind <= 23 and unit[2] & 0x40:
                doubt = "pictures that are dropped before they are shown"
            if 16 <= kind <= 18:
                doubt = "a broken link inside the stream"
            if 32 > length_bytes > 0 and kind < 16:
                break
    return Peek(
        is_entry=kind is not None and 16 <= kind <= 21,
        needs_previous=kind in (8, 9),
        parameters=parameters,
        doubt=doubt,
    )


def hevc_may_hide_pictures(extradata: bytes) -> bool:
    """Whether a picture parameter set of an hvcC record allows pictures that are not shown."""
    return any(unit[2:3] and _pps_output_flag(unit) for unit in hvcc_units(extradata, 34))


def hvcc_units(extradata: bytes, wanted_kind: int) -> Iterator[bytes]:
    """The NAL units of a kind in an hvcC record."""
    if extradata[:1] != b"\1" or len(extradata) < 23:
        return
    at = 23
    for _ in range(extradata[22]):
        kind, count = extradata[at] & 63, int.from_bytes(extradata[at + 1 : at + 3], "big")
        at += 3
        for _ in range(count):
            size = int.from_bytes(extradata[at : at + 2], "big")
            if kind == wanted_kind:
                yield extradata[at + 2 : at + 2 + size]
            at += 2 + size


def _pps_output_flag(unit: bytes) -> bool:
    bits = BitReader(unit[2:])
    bits.exp_golomb()
    bits.exp_golomb()
    bits.read(1)
    return bits.read(1) == 1


class BitReader:
    """Bits of a byte string, most significant first; zeros after its end."""

    def __init__(self, data: bytes) -> None:
        self._value = int.from_bytes(data, "big")
        self._left = 8 * len(data)

    def read(self, count: int) -> int:
        """The next ``count`` bits as an unsigned number."""
        self._left -= count
        if self._left < 0:
            return 0
        return self._value >> self._left & ((1 << count) - 1)

    def exp_golomb(self) -> int:
        """The next ue(v)."""
        zeros = 0
        while self._left > 0 and self.read(1) == 0:
            zeros += 1
        return (1 << zeros) - 1 + self.read(zeros)


def _peek_vp8(data: Buffer, is_key: bool) -> Peek:
    is_key_frame, shown = not data[0] & 1, data[0] >> 4 & 1
    size = bytes(data[6:10]) if is_key_frame else b""
    return Peek(shown=shown, is_entry=is_key_frame and bool(shown), parameters=size)


def _peek_vp9(data: Buffer, is_key: bool) -> Peek:
    if data[-1] & 0xE0 != 0xC0:
        return _VP9_ALONE[data[0]]
    frames = [_VP9_FRAMES[frame[0]] for frame in _vp9_superframe(data)]
    shown = sum(is_shown for is_shown, _ in frames)
    return _vp9_peek(shown, frames[0][1])


def _vp9_peek(shown: int, begins_with_key: bool) -> Peek:
    is_entry = shown == 1 and begins_with_key
    return ONE_FRAME if shown == 1 and not is_entry else Peek(shown=shown, is_entry=is_entry)


def _vp9_superframe(data: Buffer) -> list[Buffer]:
    marker = data[-1]
    if marker & 0xE0 != 0xC0:
        return [data]
    size_bytes, count = (marker >> 3 & 3) + 1, (marker & 7) + 1
    index_bytes = 2 + size_bytes * count
    if len(data) < index_bytes or data[-index_bytes] != marker:
        return [data]
    sizes = [
        int.from_bytes(data[at : at + size_bytes], "little")
        for at in range(len(data) - index_bytes + 1, len(data) - 1, size_bytes)
    ]
    frames, at = [], 0
    for size in sizes:
        if size:
            frames.append(data[at : at + size])
        at += size
    return frames or [data]


def _vp9_frame(head: int) -> tuple[int, bool]:
    """(frames shown, is a key frame), from the first byte of a frame."""
    bits = BitReader(bytes([head]))
    bits.read(2)
    profile = bits.read(1) | bits.read(1) << 1
    if profile == 3:
        bits.read(1)
    if bits.read(1):
        return 1, False
    is_key = bits.read(1) == 0
    return bits.read(1), is_key


_VP9_FRAMES = [_vp9_frame(head) for head in range(256)]
_VP9_ALONE = [_vp9_peek(*frame) for frame in _VP9_FRAMES]
"""By the first byte, for a packet that holds one frame."""


def _peek_av1(data: Buffer, is_key: bool) -> Peek:
    shown, has_sequence, is_entry, is_reduced = 0, False, False, False
    for kind, layers, payload in _obus(data):
        if kind == 1:
            has_sequence = True
            is_reduced = bool(payload[0] >> 3 & 1)
        elif kind in (3, 6):
            if layers:
                return Peek(doubt="several layers")
            bits = BitReader(bytes(payload[:1]))
            if is_reduced:
                shown, is_entry = shown + 1, has_sequence
            elif bits.read(1):
                shown += 1
            else:
                is_key_frame, is_shown = bits.read(2) == 0, bits.read(1)
                is_entry |= has_sequence and is_key_frame and is_shown == 1 and shown == 0
                shown += is_shown
    doubt = "a key frame without its sequence header" if is_key and not has_sequence else None
    return Peek(shown=shown, is_entry=is_entry and shown == 1, doubt=doubt)


def _obus(data: Buffer) -> Iterator[tuple[int, int, Buffer]]:
    """(kind, temporal or spatial layer, payload) of each open bitstream unit."""
    at = 0
    while at < len(data):
        head = data[at]
        at += 1
        layers = 0
        if head & 4:
            layers = data[at] >> 3 & 3
            at += 1
        size = len(data) - at
        if head & 2:
            size, at = _leb128(data, at)
        yield head >> 3 & 15, layers, data[at : at + size]
        at += size


def _leb128(data: Buffer, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 56, 7):
        value |= (data[at] & 127) << shift
        at += 1
        if not data[at - 1] & 128:
            break
    return value, at


def _peek_mpeg4(data: Buffer, is_key: bool) -> Peek:
    num_pictures = bytes(data).count(MPEG4_VOP)
    if num_pictures != 1 or len(data) < TINY_MPEG4_BYTES:
        return Peek(doubt="packed or empty pictures")
    return Peek(is_entry=is_key)
