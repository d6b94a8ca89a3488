"""Packets that may be left out when their picture is not wanted: no other picture refers to it.

Only for codecs in which such a picture leaves nothing behind in the decoder, proven by test. AV1,
VP8 and VP9 are not among them: there a picture that nothing refers to may still hand on
probabilities and motion vectors. Sources: ITU-T H.264 7.4.1 (nal_ref_idc), H.265 7.4.2.2 (sub-layer
non-reference pictures), H.262 6.3.9 and ISO/IEC 14496-2 6.3.5 (B pictures).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from filmgate.video.bitstream import MPEG4_VOP, TINY_MPEG4_BYTES, Buffer, hvcc_units
from filmgate.video.facts import VideoFacts

Look = Callable[[Buffer], bool]
"""Whether the packet with these bytes holds nothing but a picture that no other refers to."""
START_CODE = b"\0\0\1"
MPEG2_PICTURE = b"\0\0\1\0"
B_PICTURE_MPEG2 = 3
B_PICTURE_MPEG4 = 2
SLICE_KINDS_H264 = (1,)
HARMLESS_KINDS_H264 = (6, 9, 12)
"""Enhancement information, delimiter, filler."""
LAST_SUB_LAYER_KIND_HEVC = 14
"""Up to here even numbers are pictures that no other of their sub-layer refers to."""
HARMLESS_KINDS_HEVC = (35, 38, 39, 40)
"""Delimiter, filler, enhancement information."""


def may_leave_out(facts: VideoFacts) -> bool:
    """Whether pictures may be left out of a video: not where damage is known.

    What decoders conceal it with depends on the pictures that they decoded before, in H.264 even
    on those that nothing refers to, and whether they say so does as well.
    """
    return not facts.damage


def spare_look(codec: str, extradata: bytes) -> Look | None:
    """The look that fits a codec; None where no packet may be left out."""
    if codec == "h264":
        length_bytes = (extradata[4] & 3) + 1 if extradata[:1] == b"\1" else 0
        return lambda data: _is_spare_h264(data, length_bytes)
    if codec == "hevc":
        return HevcLook(extradata) if extradata[:1] == b"\1" else None
    if codec in ("mpeg1video", "mpeg2video"):
        return _is_spare_mpeg2
    return _is_spare_mpeg4 if codec == "mpeg4" else None


def _unit_starts(data: Buffer, length_bytes: int) -> Iterator[int]:
    """Where each NAL unit begins.

    Raises IndexError where the units do not fill the packet, or one is empty.
    """
    if length_bytes == 0:
        yield from _annex_b_starts(bytes(data))
        return
    at, size = 0, len(data)
    while at < size:
        start = at + length_bytes
        at = start + int.from_bytes(data[at:start], "big")
        if not start < at <= size:
            raise IndexError(f"a unit of {at - start} bytes in a packet of {size}")
        yield start


def _annex_b_starts(data: bytes) -> Iterator[int]:
    start = data.find(START_CODE)
    if data[:start].strip(b"\0"):
        raise IndexError("bytes before the first start code")
    while start >= 0:
        yield start + 3
        start = data.find(START_CODE, start + 3)


def _is_spare_h264(data: Buffer, length_bytes: int) -> bool:
    has_slice = False
    try:
        for start in _unit_starts(data, length_bytes):
            head = data[start]
            if head & 31 in SLICE_KINDS_H264:
                if head >> 5:
                    return False
                has_slice = True
            elif head & 31 not in HARMLESS_KINDS_H264:
                return False
    except IndexError:
        return False
    return has_slice


class HevcLook:
    """For HEVC in MP4 and Matroska.

    A picture that no other of its sub-layer refers to may serve higher sub-layers, so it is spare
    on the highest one alone; parameter sets on the way may add sub-layers.
    """

    def __init__(self, extradata: bytes) -> None:
        self._length_bytes = (extradata[21] & 3) + 1
        layers = [unit[2] >> 1 & 7 for unit in hvcc_units(extradata, 33) if len(unit) > 2]
        self._top_layer = max(layers, default=7)

    def __call__(self, data: Buffer) -> bool:
        """Whether the packet is spare."""
        has_slice, is_spare = False, True
        try:
            for start in _unit_starts(data, self._length_bytes):
                kind, layer = data[start] >> 1 & 63, (data[start + 1] & 7) - 1
                if kind == 33:
                    self._top_layer = max(self._top_layer, data[start + 2] >> 1 & 7)
                if kind <= LAST_SUB_LAYER_KIND_HEVC and kind % 2 == 0 and layer == self._top_layer:
                    has_slice = True
                elif kind not in HARMLESS_KINDS_HEVC:
                    is_spare = False
        except IndexError:
            return False
        return has_slice and is_spare


def _is_spare_mpeg2(data: Buffer) -> bool:
    content = bytes(data)
    if not content.startswith(MPEG2_PICTURE):
        return False
    at = 0
    while at >= 0:
        if content[at + 5 : at + 6] == b"" or content[at + 5] >> 3 & 7 != B_PICTURE_MPEG2:
            return False
        at = content.find(MPEG2_PICTURE, at + 4)
    return True


def _is_spare_mpeg4(data: Buffer) -> bool:
    content = bytes(data)
    if len(content) < TINY_MPEG4_BYTES or not content.startswith(MPEG4_VOP):
        return False
    return content[4] >> 6 == B_PICTURE_MPEG4 and content.find(MPEG4_VOP, 4) < 0
