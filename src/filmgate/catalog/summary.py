"""What a catalog holds, and what in it will cost time or trouble."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from filmgate.catalog.catalog import Catalog
from filmgate.catalog.find import MADE_FOLDER
from filmgate.catalog.rows import PACK_CONTAINER
from filmgate.records import Record

FAR_APART_FRAMES = 120
"""Entry points further apart than this make random clips expensive."""
SHORT_SECONDS = 2.0
"""Videos shorter than this give few different clips."""
HDR_TRANSFERS = {"smpte2084", "arib-std-b67"}


class Warned(Record, frozen=True):
    """One kind of trouble."""

    kind: str
    """Short name, for example ``far-apart-key-frames``."""
    num_videos: int
    """How many videos it concerns."""
    sentence: str
    """What it is."""
    advice: str
    """What to do about it."""
    examples: list[str]
    """Up to three ``video_id``."""


class CatalogSummary(Record, frozen=True):
    """A catalog at a glance."""

    path: str
    """Folder of the catalog."""
    digest: str
    """Over content digests, labels and frame counts in row order."""
    num_videos: int
    """Usable videos."""
    num_frames: int
    """Displayed frames of all of them."""
    hours: float
    """Total playing time."""
    size_bytes: int
    """Total size of the usable files."""
    num_left_out: int
    """Files that look like videos and cannot be used."""
    num_ignored: int
    """Files in the folders that are no videos by their names."""
    codecs: dict[str, int]
    """Codec -> videos, most frequent first."""
    sizes: dict[str, int]
    """``WIDTHxHEIGHT`` as stored -> videos."""
    labels: dict[str, int]
    """Label -> videos; unlabelled ones are counted in ``num_unlabelled``."""
    num_unlabelled: int
    """Videos without a label."""
    shortest_seconds: float
    """Playing time of the shortest video."""
    longest_seconds: float
    """Playing time of the longest video."""
    max_frames_between_entry_points: int
    """The worst of all videos."""
    left_out_reasons: dict[str, int]
    """Reason -> files."""
    warnings: list[Warned]
    """What makes training slow or wrong, one entry for each kind of trouble."""


Row = dict[str, Any]
_KINDS: dict[str, tuple[Callable[[Row], bool], str, str]] = {
    "damaged": (
        lambda row: bool(row["damage"]),
        "some of their frames cannot be decoded",
        "clips with such frames follow the job's on_error; fetch the files again if you can",
    ),
    "far-apart-key-frames": (
        lambda row: row["max_frames_between_entry_points"] > FAR_APART_FRAMES,
        f"a random clip may have to decode more than {FAR_APART_FRAMES} frames first",
        "make a training copy: filmgate prepare (docs/prepare.md)",
    ),
    "sequential-only": (
        lambda row: row["access"] == "sequential",
        "frames can only be reached from the start of the file",
        "random clips from these are slow; make a training copy: filmgate prepare",
    ),
    "variable-rate": (
        lambda row: row["is_variable_rate"],
        "frames are not evenly spaced in time",
        "use clip.fps instead of clip.stride where motion speed matters",
    ),
    "interlaced": (
        lambda row: row["interlacing"] in ("top-first", "bottom-first"),
        "each frame holds two moments in time, seen as combing on motion",
        "deinterlace them, or let small training sizes blur it away",
    ),
    "rotated": (
        lambda row: row["rotation_degrees"] != 0 or row["mirrored"],
        "the picture is stored turned or mirrored",
        "nothing needs doing: frames are turned upright before they are resized",
    ),
    "deep-or-hdr": (
        lambda row: row["bits_per_sample"] > 8 or row["color_transfer"] in HDR_TRANSFERS,
        "more than 8 bits per sample, or HDR",
        "training clips have 8 bits; HDR looks flat unless it is tone-mapped first",
    ),
    "size-changes": (
        lambda row: row["mixed_sizes"],
        "frames change their size on the way",
        "nothing needs doing: each frame is resized on its own; check that it is one scene",
    ),
    "short": (
        lambda row: row["duration_seconds"] < SHORT_SECONDS and not _is_still(row),
        f"shorter than {SHORT_SECONDS:g} s",
        "data.short says what a clip does that is longer than its video",
    ),
}
"""Kind -> (whether a row is concerned, what it is, what to do)."""


def summarise(catalog: Catalog) -> CatalogSummary:
    """Read the columns of ``videos.parquet`` and say what stands out."""
    columns = {
        name: catalog.column(name).to_pylist()
        for name in (
            "video_id", "codec", "width", "height", "duration_seconds", "num_frames", "stamp",
            "is_variable_rate", "interlacing", "rotation_degrees", "mirrored", "bits_per_sample",
            "color_transfer", "access", "max_frames_between_entry_points", "mixed_sizes", "damage",
            "sample_aspect", "container",
        )
    }  # fmt: skip
    labels = [label for label in catalog.labels if label is not None]
    seconds = columns["duration_seconds"]
    sizes = [f"{w}x{h}" for w, h in zip(columns["width"], columns["height"], strict=True)]
    return CatalogSummary(
        path=str(catalog.path),
        digest=catalog.digest,
        num_videos=catalog.num_videos,
        num_frames=catalog.header.num_frames,
        hours=sum(seconds) / 3600,
        size_bytes=sum(stamp["size_bytes"] for stamp in columns["stamp"]),
        num_left_out=catalog.header.num_left_out,
        num_ignored=catalog.header.num_ignored,
        codecs=_count(columns["codec"]),
        sizes=_count(sizes),
        labels=_count(labels),
        num_unlabelled=catalog.num_videos - len(labels),
        shortest_seconds=min(seconds),
        longest_seconds=max(seconds),
        max_frames_between_entry_points=max(columns["max_frames_between_entry_points"]),
        left_out_reasons=_count([one.reason for one in catalog.left_out]),
        warnings=_warnings(columns) + _of_the_whole(catalog, _count(sizes)),
    )


def _is_still(row: Row) -> bool:
    """An image by itself, which is no video that ended early."""
    return bool(row["num_frames"] == 1 and row["container"] == PACK_CONTAINER)


def _count(values: list[str]) -> dict[str, int]:
    return dict(Counter(values).most_common())


def _warnings(columns: dict[str, list[Any]]) -> list[Warned]:
    rows = [
        dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)
    ]
    warnings = []
    for kind, (concerns, sentence, advice) in _KINDS.items():
        concerned = [row["video_id"] for row in rows if concerns(row)]
        if concerned:
            warnings.append(_warned(kind, concerned, sentence, advice))
    return warnings


def _of_the_whole(catalog: Catalog, sizes: dict[str, int]) -> list[Warned]:
    """Warnings about the set, not about single videos."""
    warnings = []
    if len(sizes) > 1:
        rare = list(sizes)[1:]
        columns = (catalog.column(name).to_pylist() for name in ("video_id", "width", "height"))
        rows = zip(*columns, strict=True)
        others = [video for video, width, height in rows if f"{width}x{height}" in rare]
        warnings.append(
            _warned(
                "mixed-sizes",
                others,
                f"stored in another size than the most frequent, {next(iter(sizes))}",
                "nothing needs doing: clips are scaled and cropped to one size; mind the edges",
            )
        )
    twins = _twins(catalog)
    if twins:
        warnings.append(
            _warned(
                "duplicates",
                twins,
                "the same bytes as another file of the catalog",
                "remove one of each: doubles weigh twice, and held-out clips may be trained on",
            )
        )
    made = [one.video_id for one in catalog.left_out if one.reason == MADE_FOLDER]
    if made:
        warnings.append(
            _warned(
                "passed-over",
                made,
                "a folder of copies that filmgate made, and no video of its own",
                "nothing needs doing: it was passed over; to index it, name it by itself",
            )
        )
    broken = [one.video_id for one in catalog.left_out if one.reason != MADE_FOLDER]
    if broken:
        warnings.append(
            _warned(
                "left-out",
                broken,
                "cannot be used at all",
                "left_out.parquet has the reasons; mend, replace or remove broken files",
            )
        )
    return warnings


def _twins(catalog: Catalog) -> list[str]:
    """Videos whose content an earlier row has too."""
    digests = catalog.column("content_digest").to_pylist()
    names = catalog.column("video_id").to_pylist()
    first: dict[str, str] = {}
    return [
        name
        for name, digest in zip(names, digests, strict=True)
        if first.setdefault(digest, name) != name
    ]


def _warned(kind: str, concerned: list[str], sentence: str, advice: str) -> Warned:
    return Warned(
        kind=kind,
        num_videos=len(concerned),
        sentence=sentence,
        advice=advice,
        examples=concerned[:3],
    )
