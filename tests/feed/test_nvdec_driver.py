"""The driver's answers as records, and what is said where there is no driver."""

from __future__ import annotations

import ctypes

import pytest
import torch

from filmgate.errors import UserError
from filmgate.feed.nvdec import EXACT_BITS
from filmgate.feed.nvdec_driver import (
    CODEC_NUMBERS,
    DecodeCaps,
    check_gpu,
    limits_of,
    nvdec_capabilities,
)


def test_the_structure_is_as_large_as_the_driver_takes_it_to_be():
    # cuviddec.h: 10 words, two half words, a word of histogram fields, 10 reserved words.
    assert ctypes.sizeof(DecodeCaps) == 88
    assert DecodeCaps.is_supported.offset == 24
    assert DecodeCaps.max_width.offset == 28
    assert DecodeCaps.min_width.offset == 40


def test_an_answer_becomes_a_record():
    caps = DecodeCaps(is_supported=1, num_engines=7, min_width=48, min_height=16)
    caps.max_width, caps.max_height, caps.max_macroblocks = 4096, 4096, 65536
    limits = limits_of(caps, "h264", 8)
    assert limits is not None
    assert (limits.codec, limits.bits_per_sample, limits.num_engines) == ("h264", 8, 7)
    assert (limits.min_width, limits.max_macroblocks) == (48, 65536)


def test_a_codec_that_is_not_supported_has_no_record_and_unknown_engines_are_none():
    assert limits_of(DecodeCaps(is_supported=0), "vp9", 8) is None
    limits = limits_of(DecodeCaps(is_supported=1), "vp9", 8)
    assert limits is not None and limits.num_engines is None


def test_every_codec_that_may_be_exact_has_its_number():
    assert set(CODEC_NUMBERS) == set(EXACT_BITS)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")
def test_without_a_gpu_the_user_is_told_what_to_do():
    with pytest.raises(UserError) as caught:
        nvdec_capabilities(0)
    assert "torch" in caught.value.message
    assert 'device="cpu"' in caught.value.hint


@pytest.mark.skipif(torch.version.cuda is not None, reason="this torch has CUDA")
def test_a_cpu_build_of_torch_is_named_and_so_is_the_extra():
    with pytest.raises(UserError) as caught:
        check_gpu(0)
    assert "built without CUDA" in caught.value.message
    assert "filmgate[nvdec]" in caught.value.hint
