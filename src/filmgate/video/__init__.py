"""One video file: its facts, the table of its displayed frames, and those frames, exact.

``probe`` reads the file once; from then on the table says where every frame is, and
``VideoReader`` brings any of them in any order, the same bits as one sequential decode.
"""

from filmgate.video.digest import FrameDigest, frame_digests, native_md5
from filmgate.video.facts import VideoFacts
from filmgate.video.probe import probe
from filmgate.video.reader import VideoReader
from filmgate.video.table import EntryPoints, FrameTable

__all__ = [
    "EntryPoints",
    "FrameDigest",
    "FrameTable",
    "VideoFacts",
    "VideoReader",
    "frame_digests",
    "native_md5",
    "probe",
]
