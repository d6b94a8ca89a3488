"""What one sample shows.

T clip frames.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from filmgate.catalog.rectangle import ResizedCrop


@dataclass(frozen=True, kw_only=True, eq=False)
class Sample:
    """One clip to be made. T clip frames."""

    number: int
    """n, counted over all epochs and ranks from 0."""
    attempt: int
    """0, or the how manieth replacement of a clip that failed."""
    epoch: int
    """0 for held-out clips."""
    video: int
    """Row of the catalog."""
    frame_indices_T: NDArray[np.int64]
    """Frames of the video in display order; they never fall, except where a short clip loops."""
    crop_top_share: float
    """Where the window lies in the free height: 0 at the top, below 1."""
    crop_left_share: float
    """Where the window lies in the free width: 0 at the left, below 1."""
    flip: bool
    """Mirrored left to right after the crop."""
    is_padded: bool
    """The range was too short for the clip, so frames repeat at its end."""
    resized_crop: ResizedCrop | None = None
    """Which part of the picture is scaled to the window; None for the window that lies where the
    shares say."""
