"""From the stored picture to the upright one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def upright_points(
    points_P2: NDArray[np.float64],
    stored: tuple[int, int],
    rotation_degrees: int,
    *,
    mirrored: bool,
) -> NDArray[np.float64]:
    """(P, 2) x, y of the stored picture (its height and width) as x, y of the upright one."""
    (height, width), x, y = stored, points_P2[:, 0], points_P2[:, 1]
    if mirrored:
        x = width - x
    for _ in range(rotation_degrees // 90):  # one quarter clockwise each
        x, y = height - y, x
        height, width = width, height
    return np.stack([x, y], axis=1)
