"""The other readers, each as its own documentation has it, with one thread.

A reader that opens its decoder for every clip and one that keeps it open are two readers; the
table shows the better of them.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.footage import CLIP_SIZE, FPS
from benchmarks.peer_readers.clips import Clip
from benchmarks.peer_readers.task import Setup

WIDTH, HEIGHT = CLIP_SIZE


class Kept:
    """Opened videos by number, or opened anew each time."""

    def __init__(self, setup: Setup, *, keep: bool) -> None:
        self.setup = setup
        self.keep = keep
        self._opened: dict[int, Any] = {}

    def open(self, path: str) -> Any:
        raise NotImplementedError

    def opened(self, video: int) -> Any:
        if not self.keep:
            return self.open(self.setup.paths[video])
        if video not in self._opened:
            self._opened[video] = self.open(self.setup.paths[video])
        return self._opened[video]

    def read(self, clip: Clip) -> Any:
        return self.frames(self.opened(clip.video), clip.frames)

    def read_visit(self, clips: list[Clip]) -> Any:
        """All frames of all clips in one call, each place as often as it is asked for."""
        indices = sorted(index for clip in clips for index in clip.frames)
        return self.frames(self.opened(clips[0].video), indices)

    def frames(self, decoder: Any, indices: list[int]) -> Any:
        """uint8 (T, H, W, 3)."""
        raise NotImplementedError


class Torchcodec(Kept):
    """``VideoDecoder`` with its own resize."""

    def __init__(self, setup: Setup, *, seek: str, keep: bool) -> None:
        super().__init__(setup, keep=keep)
        self._decoder = import_module("torchcodec.decoders").VideoDecoder
        self._resize = import_module("torchcodec.transforms").Resize
        self._seek = seek
        import_module("torch").set_num_threads(1)

    def open(self, path: str) -> Any:
        options: dict[str, Any] = {"seek_mode": self._seek}
        if self._seek == "mapping":
            mapping = Path(self.setup.mappings, Path(path).name).with_suffix(".json")
            options = {"custom_frame_mappings": mapping.read_bytes()}
        return self._decoder(
            path,
            num_ffmpeg_threads=1,
            dimension_order="NHWC",
            transforms=[self._resize((HEIGHT, WIDTH))],
            **options,
        )

    def frames(self, decoder: Any, indices: list[int]) -> Any:
        return decoder.get_frames_at(indices).data.numpy()


class Decord(Kept):
    """``VideoReader`` with its own resize."""

    def __init__(self, setup: Setup, *, keep: bool) -> None:
        super().__init__(setup, keep=keep)
        self._decord = import_module("decord")

    def open(self, path: str) -> Any:
        cpu = self._decord.cpu(0)
        return self._decord.VideoReader(path, ctx=cpu, width=WIDTH, height=HEIGHT, num_threads=1)

    def frames(self, decoder: Any, indices: list[int]) -> Any:
        return decoder.get_batch(indices).asnumpy()


class PyAv(Kept):
    """As most people write it: seek, decode until done, reformat what is wanted."""

    def __init__(self, setup: Setup, *, keep: bool) -> None:
        super().__init__(setup, keep=keep)
        self._av = import_module("av")
        self._stack = import_module("numpy").stack

    def open(self, path: str) -> Any:
        container = self._av.open(path)
        container.streams.video[0].codec_context.thread_count = 1
        return container

    def frames(self, decoder: Any, indices: list[int]) -> Any:
        stream, wanted = decoder.streams.video[0], set(indices)
        start = stream.start_time or 0
        decoder.seek(start + int(indices[0] / FPS / stream.time_base), stream=stream)
        found = {}
        for frame in decoder.decode(stream):
            index = round(float((frame.pts - start) * stream.time_base) * FPS)
            if index in wanted:
                found[index] = frame.reformat(WIDTH, HEIGHT, "rgb24").to_ndarray()
            if index >= indices[-1]:
                break
        if not self.keep:
            decoder.close()
        return self._stack([found[index] for index in indices])


class OpenCv(Kept):
    """One ``CAP_PROP_POS_FRAMES`` for a clip, then grab; retrieve and resize what is wanted."""

    def __init__(self, setup: Setup, *, keep: bool) -> None:
        super().__init__(setup, keep=keep)
        self._cv2 = import_module("cv2")
        self._stack = import_module("numpy").stack
        self._cv2.setNumThreads(1)

    def open(self, path: str) -> Any:
        cv2 = self._cv2
        return cv2.VideoCapture(path, cv2.CAP_FFMPEG, [cv2.CAP_PROP_N_THREADS, 1])

    def frames(self, decoder: Any, indices: list[int]) -> Any:
        cv2, wanted = self._cv2, set(indices)
        decoder.set(cv2.CAP_PROP_POS_FRAMES, indices[0])
        found = {}
        for index in range(indices[0], indices[-1] + 1):
            if not decoder.grab():
                raise RuntimeError(f"no frame {index}")
            if index in wanted:
                _, picture = decoder.retrieve()
                picture = cv2.resize(picture, (WIDTH, HEIGHT), interpolation=cv2.INTER_LINEAR)
                found[index] = cv2.cvtColor(picture, cv2.COLOR_BGR2RGB)
        return self._stack([found[index] for index in indices])


class Spdl:
    """Demux a time window, decode it through a filter that cuts, thins out and scales."""

    def __init__(self, setup: Setup) -> None:
        self._io = import_module("spdl.io")
        self._paths = setup.paths
        self._starts = [_start_seconds(path) for path in setup.paths]

    def read(self, clip: Clip) -> Any:
        first, last, stride = clip.frames[0], clip.frames[-1], clip.frames[1] - clip.frames[0]
        zero = self._starts[clip.video]
        start, end = zero + (first - 0.5) / FPS, zero + (last + 0.5) / FPS
        chosen = (
            f"trim=start={start:.6f}:end={end:.6f},select=not(mod(n\\,{stride})),"
            f"scale={WIDTH}:{HEIGHT}:flags=bilinear,format=rgb24"
        )
        packets = self._io.demux_video(self._paths[clip.video], timestamp=(max(0.0, start), end))
        frames = self._io.decode_packets(packets, filter_desc=chosen)
        return self._io.to_numpy(self._io.convert_frames(frames))

    def read_visit(self, clips: list[Clip]) -> Any:
        return [self.read(clip) for clip in clips]


def _start_seconds(path: str) -> float:
    """When the first frame is shown, which not every file counts from 0; SPDL does not tell it."""
    with import_module("av").open(path) as container:
        stream = container.streams.video[0]
        return float((stream.start_time or 0) * stream.time_base)


Maker = Callable[[Setup], Any]


def _torchcodec(seek: str, keep: bool) -> Maker:
    return lambda setup: Torchcodec(setup, seek=seek, keep=keep)


OTHERS: dict[str, tuple[str, Maker]] = {
    f"torchcodec {seek}, {word}": ("torchcodec", _torchcodec(seek, keep))
    for seek in ("approximate", "exact", "mapping")
    for word, keep in (("opened", False), ("kept", True))
} | {
    "decord2, opened": ("decord2", lambda setup: Decord(setup, keep=False)),
    "decord2, kept": ("decord2", lambda setup: Decord(setup, keep=True)),
    "PyAV, opened": ("av", lambda setup: PyAv(setup, keep=False)),
    "OpenCV, opened": ("opencv-python-headless", lambda setup: OpenCv(setup, keep=False)),
    "OpenCV, kept": ("opencv-python-headless", lambda setup: OpenCv(setup, keep=True)),
    "SPDL, opened": ("spdl", Spdl),
}
"""Name of each reader -> (package on the index, what makes it)."""
