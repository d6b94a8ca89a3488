"""Many small images: the pack against the folder, from a cold cache; kills, stages, held out."""

from __future__ import annotations

import os
import random
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from os import getloadavg
from pathlib import Path

import numpy as np
from PIL import Image

from benchmarks.acceptance.check import Outcome, check
from benchmarks.acceptance.place import Place
from benchmarks.acceptance.proofs import Proof, check_of
from filmgate.pack import Pack, open_pack
from filmgate.pack.image import codec_of, decode_image

TOPIC = "Images"
NUM_IMAGES = 10_000
NUM_FOLDERS = 100
ROUNDS = 3
BAR = 5.0
NUM_DECODED = 500
"""Images whose pixels are compared; bytes are compared for all."""
DROP_CACHES = Path("/proc/sys/vm/drop_caches")


CONDITIONS = (
    Proof(
        name="kill",
        says="Packing that is killed at 20 random times and started again gives the shards, index "
        "and catalog of an uninterrupted one, and leaves nothing behind.",
        tests=(
            "tests/pack/test_faults.py::test_twenty_kills_at_random_times_change_nothing",
            "tests/pack/test_faults.py::test_a_full_disk_is_said_and_packing_goes_on",
        ),
    ),
    Proof(
        name="stage",
        says="A staged pack feeds from the hot tier alone; its shards are verified, resumed by "
        "chunk, counted in the budget, and come from a folder or an object store.",
        tests=("tests/stage/test_packs.py",),
    ),
    Proof(
        name="held-out",
        says="Images are held out by split or by sample: no row and no content on both sides, the "
        "same share of each label.",
        tests=("tests/catalog/test_held_out.py",),
    ),
)
PACK_CHECKS = [check_of(proof, topic=TOPIC, name=f"pack-{proof.name}") for proof in CONDITIONS]


@dataclass(frozen=True, kw_only=True)
class _Times:
    """Seconds of one round."""

    folder: float
    pack: float


@check(
    name="pack-cold",
    topic=TOPIC,
    line=f"{NUM_IMAGES} tiny images are read in random order from a pack at least {BAR:g} times as "
    "fast as from their folder, from a cold cache, and are the same bytes and pixels.",
    bar=f"median of {ROUNDS} rounds >= {BAR:g} times",
)
def pack_cold(place: Place) -> Outcome:
    folder = place.folder / "images"
    _write_images(folder)
    place.record("pack", folder, "--out", place.folder / "pack", deadline_seconds=900)
    pack = open_pack(place.folder / "pack")
    names: list[str] = pack.column("image_id").to_pylist()
    paths = [folder / name for name in names]
    shards = [pack.path / "shards" / name for name in pack.header.shards]
    differing = _differing(pack, paths)
    by_advice = [_round(pack, paths, shards, _forget, seed) for seed in range(ROUNDS)]
    details = [f"dropped by posix_fadvise: {_shown(by_advice)}"]
    if os.access(DROP_CACHES, os.W_OK):
        by_kernel = [_round(pack, paths, shards, _forget_all, seed) for seed in range(ROUNDS)]
        details.append(f"names dropped as well, by {DROP_CACHES}: {_shown(by_kernel)}")
    warm = [_round(pack, paths, shards, lambda _: None, seed) for seed in range(ROUNDS)]
    details.append(f"for comparison, warm: {_shown(warm)}")
    details.append(
        f"{pack.header.bytes / 1e6:.1f} MB in {len(shards)} shards; {differing} images differ; "
        f"load {getloadavg()[0]:.1f}"
    )
    ratio = statistics.median(one.folder / one.pack for one in by_advice)
    return Outcome(
        figure=f"{ratio:.1f} times", holds=ratio >= BAR and differing == 0, details=tuple(details)
    )


def _write_images(folder: Path) -> None:
    drawn = np.random.default_rng(0)
    texture = drawn.integers(0, 255, (40, 40, 3), dtype=np.uint8)
    large = np.asarray(Image.fromarray(texture).resize((640, 640), Image.Resampling.BICUBIC))
    for number in range(NUM_IMAGES):
        path = folder / f"{number % NUM_FOLDERS:02}" / f"{number:05}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        y, x = drawn.integers(0, 640 - 64, 2)
        Image.fromarray(large[y : y + 64, x : x + 64]).save(path, quality=85)


def _differing(pack: Pack, paths: Sequence[Path]) -> int:
    """Images whose bytes, or for some of them pixels, are not those of the file."""
    differing = 0
    for number, path in enumerate(paths):
        content = path.read_bytes()
        is_same = pack.read(number) == content
        if is_same and number % (len(paths) // NUM_DECODED) == 0:
            loose = decode_image(content, codec_of(content)).to_ndarray(format="rgb24")
            is_same = np.array_equal(pack.decode(number).to_ndarray(format="rgb24"), loose)
        differing += not is_same
    return differing


def _round(
    pack: Pack,
    paths: Sequence[Path],
    shards: Sequence[Path],
    forget: Callable[[Sequence[Path]], None],
    seed: int,
) -> _Times:
    """Both once, in an order of this round, each from a cache made cold for both."""
    numbers = list(range(len(paths)))
    random.Random(seed).shuffle(numbers)

    def read_folder() -> None:
        """Open, read and close each file."""
        for number in numbers:
            paths[number].read_bytes()

    def read_pack() -> None:
        """A pack that is opened anew, so that its index is read as well."""
        with open_pack(pack.path) as fresh:
            for number in numbers:
                fresh.read(number)

    seconds: dict[str, float] = {}
    readers = {"folder": read_folder, "pack": read_pack}
    for name in sorted(readers, reverse=seed % 2 == 1):
        forget([*paths, *shards, pack.path / "images.arrow", pack.path / "pack.json"])
        began = time.monotonic()
        readers[name]()
        seconds[name] = time.monotonic() - began
    return _Times(folder=seconds["folder"], pack=seconds["pack"])


def _forget(paths: Sequence[Path]) -> None:
    """Take the files out of the page cache; their names and inodes stay known."""
    os.sync()
    for path in paths:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(descriptor)


def _forget_all(paths: Sequence[Path]) -> None:
    """Names and inodes as well, where the system allows it."""
    _forget(paths)
    DROP_CACHES.write_text("3\n")


def _shown(rounds: Sequence[_Times]) -> str:
    ratios = [one.folder / one.pack for one in rounds]
    folder = statistics.median(one.folder for one in rounds)
    pack = statistics.median(one.pack for one in rounds)
    return (
        f"{statistics.median(ratios):.1f} times ({min(ratios):.1f} to {max(ratios):.1f}); folder "
        f"{folder:.2f} s, pack {pack:.2f} s"
    )
