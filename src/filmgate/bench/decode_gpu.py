"""The same videos decoded by the GPU's NVDEC, through the feed's own reader."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence

import torch

from filmgate.bench.ask import Ask
from filmgate.bench.decode_timing import CLIP
from filmgate.catalog import Catalog
from filmgate.errors import FilmgateError, UserError
from filmgate.feed import open_device_reader
from filmgate.feed.device_reader import DeviceClipReader
from filmgate.machine.measured import Measure, measure_of

ROUNDS, QUICK_ROUNDS = 5, 3
CLIPS = 8
NO_NVDEC = "nvdec"


def gpu_measures(
    catalog: Catalog,
    rows: Sequence[int],
    name: str,
    ask: Ask,
    measures: list[Measure],
    unknown: dict[str, str],
) -> None:
    """Add the figure of one group; why there is none stands in ``unknown``, once for a machine
    without NVDEC."""
    if NO_NVDEC in unknown:
        return
    if ask.device == "cpu":
        unknown[NO_NVDEC] = "device cpu was asked for"
        return
    place = torch.device(ask.device or "cuda:0")
    try:
        reader = open_device_reader(
            catalog, device="cuda", device_index=place.index or 0, size=(CLIP.height, CLIP.width)
        )
    except UserError as error:
        unknown[NO_NVDEC] = f"not present: {error.message}"
        return
    with reader:
        for row in rows:
            decoder = reader.decoder_of(row)
            if decoder.decoder != "nvdec":
                unknown[f"{name}-nvdec"] = f"the GPU does not decode it: {decoder.reason}"
                return
        try:
            rates = _rates(catalog, rows, reader, QUICK_ROUNDS if ask.quick else ROUNDS)
        except FilmgateError as error:
            unknown[f"{name}-nvdec"] = str(error)
            return
        if (fallen := reader.stats().frames_from_cpu) > 0:
            unknown[f"{name}-nvdec"] = f"{fallen} frames came from the CPU's decoder"
            return
    measures.append(
        measure_of(
            f"{name}-nvdec-clips", "clips/s", rates,
            definition=f"Clips of {CLIP.frames} frames from random places, decoded by NVDEC and "
            f"scaled to {CLIP.width}x{CLIP.height} on the GPU, until they lie there; one thread.",
            warm_up="one round",
            conditions={"GPU": reader.backend.device_name or "unknown", "clock": "wall"},
        )
    )  # fmt: skip


def _rates(
    catalog: Catalog, rows: Sequence[int], reader: DeviceClipReader, rounds: int
) -> list[float]:
    """Clips a second of each round after the first."""
    chance, rates, stride = random.Random(0), [], CLIP.stride or 1
    for _ in range(rounds + 1):
        began = time.perf_counter()
        for _ in range(CLIPS):
            row = chance.choice(list(rows))
            length = int(catalog.num_frames[row])
            first = chance.randrange(max(1, length - CLIP.frames * stride))
            reader.read(row, [min(length - 1, first + stride * n) for n in range(CLIP.frames)])
        torch.cuda.synchronize(reader.device())
        rates.append(CLIPS / (time.perf_counter() - began))
    return rates[1:]
