"""What one file says about itself, and what reading it showed."""

from __future__ import annotations

from typing import Literal

from filmgate.records import Record


class VideoFacts(Record, frozen=True, kw_only=True):
    """The properties of one video. None means that the file does not tell."""

    container: str
    """FFmpeg's name of the container format."""
    codec: str
    """FFmpeg's name of the codec, for example ``h264``."""
    pixel_format: str
    """Of the decoded frames, for example ``yuv420p10le``."""
    width: int
    """Pixels of the stored frame, before rotation."""
    height: int
    """Pixels of the stored frame, before rotation."""
    rotation_degrees: Literal[0, 90, 180, 270]
    """Clockwise turn that makes the picture upright."""
    mirrored: bool
    """Whether the picture is to be flipped left to right before it is turned."""
    sample_aspect: tuple[int, int] | None
    """Width and height of one pixel."""
    interlacing: Literal["progressive", "top-first", "bottom-first"] | None
    """How the fields of a frame follow each other in time."""
    color_range: Literal["limited", "full"] | None
    """Whether luma spans 16..235 or 0..255 (at 8 bits)."""
    color_matrix: str | None
    """From YUV to RGB, in FFmpeg's names: ``bt709``, ``smpte170m``, ``bt2020nc``, ..."""
    color_primaries: str | None
    """In FFmpeg's names."""
    color_transfer: str | None
    """In FFmpeg's names; ``smpte2084`` and ``arib-std-b67`` are HDR."""
    bits_per_sample: int
    """8, 10, 12, ..."""
    has_audio: bool
    """Whether an audio stream lies beside the video."""
    frames_from_header: int | None
    """What the container promises; the frame table has what really comes out."""
    average_fps: tuple[int, int]
    """Frames over seconds from the frame table, as a fraction in lowest terms."""
    is_variable_rate: bool
    """Whether frames are not evenly spaced, beyond the rounding of the time base."""
    max_frames_between_entry_points: int
    """The most frames that one random access may have to decode."""
    access: Literal["seek", "sequential"]
    """``sequential``: every access decodes from the start of the file."""
    access_reason: str | None
    """Why access is sequential."""
    index_from: Literal["packets", "decode"]
    """Whether the table was read from the container or by decoding everything."""
    index_reason: str | None
    """Why everything was decoded; None where the container could be trusted."""
    times_from: Literal["container", "frame-rate"]
    """``frame-rate``: the file carries no usable times, frames are spaced by its nominal rate."""
    mixed_sizes: bool
    """Whether frames change size or pixel format on the way."""
    damage: list[str] = []
    """What reading it showed to be damaged, one clause each."""
