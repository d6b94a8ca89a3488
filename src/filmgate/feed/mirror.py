"""A copy of a picture with left and right changed, at memory speed where the width allows it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

WORD_BYTES = 8


def mirror(picture: NDArray[np.uint8], out: NDArray[np.uint8]) -> None:
    """Copy ``picture`` into ``out`` of the same shape, its last axis reversed.

    Eight samples at a time where the width is a multiple of eight: the order of the bytes in a
    word is reversed on the way into memory that stays in the processor's cache, the order of the
    words on the way out. So one picture, or one plane, at a time is best.
    """
    is_in_rows = picture.strides[-1] == out.strides[-1] == 1
    if picture.shape[-1] % WORD_BYTES or not is_in_rows:
        out[:] = picture[..., ::-1]
        return
    words = picture.view(">u8").astype("<u8")
    np.copyto(out.view("<u8"), words[..., ::-1])
