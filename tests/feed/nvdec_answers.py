"""What a driver answers about its GPU, recorded from public sources that the file names."""

from __future__ import annotations

from pathlib import Path

import msgspec

from filmgate.feed.nvdec import NvdecCapabilities

ANSWERS = Path(__file__).with_name("nvdec_capabilities.json")


def recorded_capabilities() -> NvdecCapabilities:
    """Of a GeForce RTX 3050."""
    content = msgspec.json.decode(ANSWERS.read_bytes())
    return msgspec.convert(content["capabilities"], NvdecCapabilities)
