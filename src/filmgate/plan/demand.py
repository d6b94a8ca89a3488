"""What the steps ask of storage, cores, decode engines, RAM and network, worked back from the rate.

Every figure is clips a second times what one clip costs. What was measured of a clip stands above
what is assumed, and the result says which it was.
"""

from __future__ import annotations

import math

from filmgate.plan.interval import Basis, Interval, exactly
from filmgate.plan.request import Assumption, PlanRequest
from filmgate.plan.step_work import StepWork
from filmgate.records import Record

DECODED_PIXELS_PER_CORE_SECOND = Interval(low=1e8, high=4e8)
"""Source pixels that a core decodes and scales in a second, H.264 at 1080p. Assumed; far key
frames, HEVC and 10 bits cost more."""
ENGINE_PIXELS_PER_SECOND = Interval(low=0.8e9, high=2e9)
"""Source pixels of one hardware decode engine: 400 to 1000 frames/s of 1080p. Assumed."""
SOURCE_PIXELS = 1920 * 1080
"""Of a source frame, where no catalog tells it. Assumed."""
SOURCE_BYTES_PER_SECOND = Interval(low=0.5e6, high=2.5e6)
"""Of compressed video, where no catalog tells it: 4 to 20 Mb/s. Assumed."""
CORES_BESIDE = 2
"""Cores of each GPU for the training process itself. Assumed."""
PROCESS_BYTES = 6 * 10**9
"""Main memory of a training process with torch and CUDA. Assumed."""
QUEUE_BATCHES = 4
"""Batches that wait ready, as the feed begins."""
READ_HEADROOM = 1.2
"""Of the storage over the need; the checklist asks the same."""
LINK_SHARE = Interval(low=0.6, high=0.9)
"""Of a network link that one long copy reaches. Assumed."""
HAND_OUT_GBITS = (1, 10, 25, 40, 100)
"""Links over which results are handed out, Gb/s."""


class Footage(Record, frozen=True):
    """What is known of the videos; every field may be unknown."""

    size_bytes: int | None = None
    """All files."""
    seconds: float | None = None
    """Playing time of all of them."""
    num_frames: int | None = None
    """Frames of all of them."""
    source_pixels: int | None = None
    """Of the most frequent frame size."""
    clips_per_core_second: Interval | None = None
    """Clips that a core makes in a second, as measured; None: nobody measured."""
    clips_from: str = ""
    """Who measured that."""


class StorageClass(Record, frozen=True):
    """One usual kind of storage."""

    name: str
    """As people call it."""
    bytes_per_second: Interval
    """Sustained sequential read."""
    drives: int
    """Local NVMe drives in it; 0 for storage on another machine."""


STORAGE = (
    StorageClass(name="NAS over 1 GbE", bytes_per_second=Interval(low=0.09e9, high=0.118e9),
                 drives=0),
    StorageClass(name="NAS over 10 GbE", bytes_per_second=Interval(low=0.6e9, high=1.18e9),
                 drives=0),
    StorageClass(name="one NVMe drive", bytes_per_second=Interval(low=5e9, high=7e9), drives=1),
    StorageClass(name="4 NVMe drives in RAID 0", bytes_per_second=Interval(low=20e9, high=25e9),
                 drives=4),
    StorageClass(name="8 NVMe drives in RAID 0", bytes_per_second=Interval(low=40e9, high=50e9),
                 drives=8),
)  # fmt: skip
"""The usual classes, the slowest first (mission, M1)."""


class Demand(Record, frozen=True):
    """What the job asks of what stands around the GPUs, all GPUs together."""

    clips_per_second: Interval
    """Clips that the GPUs take when they never wait."""
    delivered_bytes_per_second: Interval
    """Pixels or latents in them."""
    read_bytes_per_second: Interval
    """What is read of the storage for them, without a cache."""
    cores: Interval
    """CPU cores: the feed's, and those beside it."""
    cores_per_gpu: Interval
    """Of each GPU."""
    core_seconds_per_clip: Interval
    """What one clip costs the feed; 0 where nothing is decoded."""
    cores_basis: Basis
    """Whether what a clip costs was measured."""
    decode_engines: Interval | None
    """Hardware decode engines that would do it instead; None: nothing is decoded."""
    ram_bytes: Interval
    """Processes, queue of batches, weights and optimizer that are offloaded. Low: no frame cache;
    high: all frames of the catalog kept at training size, where that is known."""
    cache_bytes: int | None
    """All frames of the catalog at training size; None: unknown, or nothing is decoded."""
    storage: str
    """The slowest usual class that holds the read with a fifth of headroom."""
    storage_drives: int
    """NVMe drives in it; one where a NAS would do, because runs are staged."""
    assumed: list[Assumption]
    """What was assumed, with its source."""


def demand_of(
    work: StepWork,
    request: PlanRequest,
    step_seconds: Interval,
    footage: Footage,
    *,
    frame_step: float = 2.0,
    offloaded_bytes: float = 0.0,
) -> Demand:
    """The demand of ``request.gpus`` GPUs; ``frame_step`` is source frames from one to the next."""
    notes: list[Assumption] = []
    clips = exactly(float(work.clips * request.gpus)).over(step_seconds)
    decodes = not request.latents_precomputed and request.mode != "generate"
    if request.mode == "generate":
        clips = clips.times(0.0)
    read = _read_bytes(work, request, footage, frame_step, decodes, notes)
    cost, basis = _core_seconds(request, footage, frame_step, decodes, notes)
    cores = clips.times(cost).plus(CORES_BESIDE * request.gpus)
    notes.append(_assumed("cores beside the feed", f"{CORES_BESIDE} a GPU"))
    cache = _cache_bytes(request, footage) if decodes else None
    least = _ram_bytes(work, request) + offloaded_bytes
    read_rate = clips.times(read)
    storage = storage_for(read_rate.high * READ_HEADROOM)
    return Demand(
        clips_per_second=clips,
        delivered_bytes_per_second=clips.times(work.delivered_bytes_per_clip),
        read_bytes_per_second=read_rate,
        cores=cores,
        cores_per_gpu=cores.over(float(request.gpus)),
        core_seconds_per_clip=cost,
        cores_basis=basis,
        decode_engines=_engines(clips, request, footage, frame_step) if decodes else None,
        ram_bytes=Interval(low=least, high=least + (cache or 0)),
        cache_bytes=cache,
        storage=storage.name,
        storage_drives=max(1, storage.drives),
        assumed=notes,
    )


def storage_for(bytes_per_second: float) -> StorageClass:
    """The slowest usual class whose lower bound holds the rate; the fastest where none does."""
    enough = [one for one in STORAGE if one.bytes_per_second.low >= bytes_per_second]
    return enough[0] if enough else STORAGE[-1]


def copy_seconds(size_bytes: float, bits_per_second: float) -> Interval:
    """Time to copy that many bytes over a link, as staging and handing out do."""
    return exactly(size_bytes * 8).over(exactly(bits_per_second).times(LINK_SHARE))


def hand_out_seconds(size_bytes: float) -> dict[str, Interval]:
    """Link -> time to hand a result of that size to one receiver."""
    return {f"{gbits} Gb/s": copy_seconds(size_bytes, gbits * 1e9) for gbits in HAND_OUT_GBITS}


def _read_bytes(
    work: StepWork,
    request: PlanRequest,
    footage: Footage,
    frame_step: float,
    decodes: bool,
    notes: list[Assumption],
) -> Interval:
    """Bytes that one clip takes from the storage."""
    if not decodes:
        return exactly(work.delivered_bytes_per_clip)
    span = request.frames * frame_step
    if footage.size_bytes is not None and footage.num_frames:
        a_frame = footage.size_bytes / footage.num_frames
        return Interval(low=a_frame * span, high=a_frame * span * 3)
    notes.append(_assumed("bit rate of the videos", "4 to 20 Mb/s at 30 frames/s"))
    return SOURCE_BYTES_PER_SECOND.times(span / 30)


def _core_seconds(
    request: PlanRequest,
    footage: Footage,
    frame_step: float,
    decodes: bool,
    notes: list[Assumption],
) -> tuple[Interval, Basis]:
    """Core seconds that one clip costs."""
    if not decodes:
        return exactly(0.0), "derived"
    if footage.clips_per_core_second is not None:
        return exactly(1.0).over(footage.clips_per_core_second), "measured"
    pixels = footage.source_pixels or SOURCE_PIXELS
    if footage.source_pixels is None:
        notes.append(_assumed("size of a source frame", "1920x1080"))
    notes.append(_assumed("decoding on a core", "100 to 400 million source pixels a second"))
    decoded = request.frames * frame_step * pixels
    return exactly(decoded).over(DECODED_PIXELS_PER_CORE_SECOND), "assumed"


def _engines(
    clips: Interval, request: PlanRequest, footage: Footage, frame_step: float
) -> Interval:
    pixels = request.frames * frame_step * (footage.source_pixels or SOURCE_PIXELS)
    return clips.times(pixels).over(ENGINE_PIXELS_PER_SECOND)


def _cache_bytes(request: PlanRequest, footage: Footage) -> int | None:
    if footage.num_frames is None:
        return None
    return footage.num_frames * request.height * request.width * 3


def _ram_bytes(work: StepWork, request: PlanRequest) -> float:
    batch = work.delivered_bytes_per_clip * request.batch
    return request.gpus * (PROCESS_BYTES + QUEUE_BATCHES * batch)


def _assumed(name: str, value: str) -> Assumption:
    return Assumption(name=name, value=value, source="filmgate's assumption; measure to replace it")


def drives_for(size_bytes: float, drive_bytes: float) -> int:
    """Drives that hold that much with a tenth free."""
    return max(1, math.ceil(size_bytes * 1.1 / drive_bytes))
