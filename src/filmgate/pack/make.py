"""Packing a folder: shards by the work room, then index, annotations, catalog, and last the header.

Packing again writes only the shards whose files are new or changed, and goes on after a kill.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from filmgate.catalog import LeftOut, open_catalog
from filmgate.catalog.find import Found
from filmgate.catalog.labels import Labels, labels_of
from filmgate.errors import UserError
from filmgate.pack.annotate import (
    AnnotationRules,
    Annotations,
    annotate,
    coco_files,
    mask_folders,
    write_annotations,
)
from filmgate.pack.arrow_file import write_arrow
from filmgate.pack.catalog_rows import write_pack_catalog
from filmgate.pack.find import FoundImage, Kind, find_images, gaps_between
from filmgate.pack.hold import hold_pack
from filmgate.pack.reader import ANNOTATIONS_FILE, INDEX_FILE, PACK_FILE, Pack, open_pack
from filmgate.pack.rows import SCHEMA, SCHEMA_VERSION, PackHeader
from filmgate.pack.shard import (
    FOLDER,
    IMAGES_SCHEMA,
    ShardJob,
    ShardMade,
    shard_tasks,
    table_name,
    write_shard,
)
from filmgate.pack.splits import splits_of
from filmgate.records import Header, digest_bytes, digest_file, write_record
from filmgate.work import Limits, Task, do_work
from filmgate.work.executor import Executor
from filmgate.work.task import OnProgress

SHARD_BYTES = 128_000_000
MIN_SHARD_BYTES = 4_096
SHARD_DEADLINE_SECONDS = 7200.0
FPS = Fraction(25)
"""Of folders of frames, where it is not told."""


LIMITS = Limits(deadline_seconds=SHARD_DEADLINE_SECONDS, error_budget=0.0)
"""Broken images are no failure of a shard; a shard that cannot be written is one of the pack."""


@dataclass(kw_only=True)
class _Shards:
    """What became of the tasks."""

    made: dict[str, ShardMade]
    """Name -> its row."""
    num_made: int = 0
    """Of these, by this start."""


def pack_images(
    root: Path | str,
    out: Path | str,
    *,
    kind: Kind = "images",
    labels: Labels | str = "folder",
    annotations: Sequence[str] = (),
    rules: AnnotationRules | None = None,
    fps: Fraction | float | str = FPS,
    shard_bytes: int = SHARD_BYTES,
    executor: Executor | None = None,
    limits: Limits | None = None,
    on_progress: OnProgress | None = None,
) -> Pack:
    """Pack the images in and below a folder into ``out``, which is then a catalog as well.

    ``frames``: each folder with images is one video of ``fps`` frames a second. ``annotations`` are
    written ``format:path``, see ``pack.annotate``. Raises UserError for a folder without images,
    labels or annotations that do not fit, and an ``out`` that is full or being written.
    """
    root, out, rate = Path(root), Path(out).absolute(), Fraction(fps)
    if shard_bytes < MIN_SHARD_BYTES:
        raise UserError(f"shards of {shard_bytes} bytes", hint=f"at least {MIN_SHARD_BYTES}")
    if rate <= 0:
        raise UserError(f"{fps} frames a second", hint="a rate above 0, for example 25")
    found = find_images(root, kind, skip=out, apart=mask_folders(annotations))
    labels_by_image = _labels_of(found.images, root, kind, labels)
    with hold_pack(out):
        tasks = shard_tasks(found.images, shard_bytes)
        shards = _do(tasks, out, executor, limits, on_progress)
        of_shards = (one for made in shards.made.values() for one in made.left_out)
        left_out = [*found.left_out, *of_shards]
        table = _merged(out, list(shards.made), labels_by_image)
        table = _lying_alike(table, root, left_out)
        table = _with_texts(table, "split", splits_of(table, coco_files(annotations)))
        left_out.sort(key=lambda one: one.video_id)
        if not table.num_rows:
            raise _nothing_usable(left_out)
        drawn = annotate(annotations, table, rules or AnnotationRules(), _numbers_of(found.images))
        root = root.absolute()
        header = _publish(out, root, kind, table, left_out, drawn, shards, rate, found.num_ignored)
        _remove_others(out, header)
    return open_pack(out)


def _numbers_of(images: Sequence[FoundImage]) -> dict[str, list[int]]:
    """Video -> the numbers of its frames as they were found, in order."""
    numbers: dict[str, list[int]] = {}
    for image in images:
        if image.frame_number is not None:
            numbers.setdefault(image.video_id, []).append(image.frame_number)
    return numbers


def _labels_of(
    images: Sequence[FoundImage], root: Path, kind: Kind, labels: Labels | str
) -> dict[str, str | None]:
    """Video -> its label."""
    chosen: Labels = labels if labels is None or labels == "folder" else Path(labels)  # type: ignore[assignment]
    units: dict[str, Found] = {}
    for image in images:
        path = image.path if kind == "images" else image.path.parent
        if image.video_id not in units:
            parent = path.parent.relative_to(root.absolute()) if path != root.absolute() else Path()
            units[image.video_id] = Found(
                video_id=image.video_id, path=path, folder_label=parent.name or None
            )
    found = labels_of(list(units.values()), chosen, [root])
    return dict(zip(units, found, strict=True))


def _do(
    tasks: list[Task[ShardJob]],
    out: Path,
    executor: Executor | None,
    limits: Limits | None,
    on_progress: OnProgress | None,
) -> _Shards:
    done: dict[str, ShardMade] = {}
    num_made = 0
    for outcome in do_work(
        write_shard, tasks, out, row=ShardMade, executor=executor,
        limits=limits if limits is not None else LIMITS,
        on_progress=on_progress,
    ):  # fmt: skip
        assert outcome.row is not None, "with no budget a fault stops the work"
        done[outcome.task.payload.name] = outcome.row
        num_made += not outcome.reused
    in_order = {task.payload.name: done[task.payload.name] for task in tasks}
    return _Shards(made=in_order, num_made=num_made)


def _merged(out: Path, shards: Sequence[str], labels: dict[str, str | None]) -> pa.Table:
    """The rows of all shards, with labels."""
    parts = [pq.read_table(out / table_name(name), schema=IMAGES_SCHEMA) for name in shards]
    table = pa.concat_tables(parts).combine_chunks()
    found_labels = [labels[video_id] for video_id in table.column("video_id").to_pylist()]
    return _with_texts(table, "label", found_labels)


def _with_texts(table: pa.Table, name: str, values: list[str | None]) -> pa.Table:
    place = table.schema.get_field_index(name)
    return table.set_column(place, IMAGES_SCHEMA.field(name), pa.array(values, pa.string()))


def _lying_alike(table: pa.Table, root: Path, left_out: list[LeftOut]) -> pa.Table:
    """Without the frames that lie another way than the first of their folder."""
    videos = np.array(table.column("video_id").to_pylist(), dtype=object)
    turns = table.column("rotation_degrees").to_numpy() * 2 + np.array(
        table.column("mirrored").to_pylist(), np.int64
    )
    starts = np.flatnonzero(np.concatenate([[True], videos[1:] != videos[:-1]])[: len(videos)])
    first = np.repeat(turns[starts], np.diff([*starts, len(videos)])) if len(videos) else turns
    for row in np.flatnonzero(turns != first).tolist():
        image_id = table.column("image_id")[row].as_py()
        reason = "it lies another way than the first frame of its folder"
        left_out.append(
            LeftOut(video_id=image_id, path=str(root / image_id), reason=reason, stamp=None)
        )
    return table.filter(pa.array(turns == first))


def _publish(
    out: Path,
    root: Path,
    kind: Kind,
    table: pa.Table,
    left_out: list[LeftOut],
    drawn: Annotations | None,
    shards: _Shards,
    fps: Fraction,
    num_ignored: int,
) -> PackHeader:
    """Write everything that makes the shards a pack."""
    digest = _digest(table, drawn)
    index = out / INDEX_FILE
    write_arrow(index, table, digest)
    facts = write_annotations(out / ANNOTATIONS_FILE, drawn, digest) if drawn else None
    write_pack_catalog(out, table, left_out, root, fps)
    numbers = table.column("frame_number").to_pylist()
    videos = table.column("video_id").to_pylist()
    header = PackHeader(
        header=Header(
            schema=SCHEMA, schema_version=SCHEMA_VERSION, inputs=facts.sources if facts else {}
        ),
        digest=digest,
        kind=kind,
        root=str(root),
        fps=(fps.numerator, fps.denominator),
        num_images=table.num_rows,
        num_videos=len(set(videos)),
        bytes=pc.sum(table.column("size_bytes")).as_py(),
        shards={name: made.size_bytes for name, made in shards.made.items()},
        num_made=shards.num_made,
        index_digest=digest_file(index),
        catalog_digest=open_catalog(out).digest,
        gaps=gaps_between(list(zip(videos, numbers, strict=True))),
        left_out=left_out,
        num_ignored=num_ignored,
        annotations=facts,
        shard_digests={
            name: made.digest or digest_file(out / FOLDER / name)
            for name, made in shards.made.items()
        },
    )
    write_record(out / PACK_FILE, header)
    return header


def _digest(table: pa.Table, drawn: Annotations | None) -> str:
    names = ["image_id", "content_digest", "label", "frame_number"]
    if table.column("split").null_count < table.num_rows:
        names.append("split")
    columns = [table.column(name).to_pylist() for name in names]
    lines = [f"{'|'.join(map(str, row))}\n".encode() for row in zip(*columns, strict=True)]
    return digest_bytes(*lines, drawn.digest.encode() if drawn else b"")


def _remove_others(out: Path, header: PackHeader) -> None:
    """Shards of an earlier state, which no header names any more."""
    kept = set(header.shards) | {Path(table_name(name)).name for name in header.shards}
    for path in (out / FOLDER).iterdir():
        if path.name not in kept and path.suffix in (".tar", ".parquet"):
            path.unlink()
    if header.annotations is None:
        (out / ANNOTATIONS_FILE).unlink(missing_ok=True)


def _nothing_usable(left_out: list[LeftOut]) -> UserError:
    reasons = "; ".join(f"{one.video_id}: {one.reason}" for one in left_out[:3])
    return UserError(
        f"none of {len(left_out)} images can be used ({reasons})",
        hint="open one of them in a viewer; it may be cut off, or no image at all",
    )
