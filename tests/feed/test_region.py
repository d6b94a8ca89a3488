"""A region of a frame against the plain way: cut the stored planes, then scale them."""

from __future__ import annotations

import av
import numpy as np
import pytest
from av.video.reformatter import ColorRange, Interpolation
from hypothesis import given
from hypothesis import strategies as st

from filmgate.catalog.rectangle import Rectangle
from filmgate.feed.colour import UnsupportedColour
from filmgate.feed.cropper import Cropper, grid_of
from filmgate.feed.geometry import Orientation
from filmgate.feed.region import Region, stored_rectangle
from filmgate.feed.scaler import Scaler
from filmgate.feed.yuv import paint_yuv, split
from tests.feed.test_picture import UPRIGHT, Window, frame_of, painted
from tests.footage import write_video

PLANAR = ["yuv420p", "yuv422p", "yuv444p", "yuv420p10le", "yuv411p", "gray"]
PACKED = ["nv12", "yuyv422", "rgb24", "bgra", "p010le", "gbrp", "ya8"]


def planes_like(format_name: str, size: tuple[int, int], seed: int = 0) -> list[np.ndarray]:
    """Random samples that are no far colours."""
    layout = av.video.format.VideoFormat(format_name, size[1], size[0])
    scale = 4 if format_name.endswith("10le") else 1
    drawn = np.random.default_rng(seed)
    return [
        drawn.integers(60 * scale, 190 * scale, (component.height, component.width))
        for component in layout.components
    ]


def cut_planes(planes: list[np.ndarray], rectangle: Rectangle, grid: tuple[int, int]):
    top, left, height, width = rectangle
    cut = [planes[0][top : top + height, left : left + width]]
    for plane in planes[1:]:
        rows = slice(top // grid[0], -(-(top + height) // grid[0]))
        columns = slice(left // grid[1], -(-(left + width) // grid[1]))
        cut.append(plane[rows, columns])
    return cut


def scaled_plainly(frame: av.VideoFrame, size: tuple[int, int]) -> np.ndarray:
    """uint8 (H, W, 3), by one call of libswscale."""
    rounded = Interpolation.BILINEAR | Interpolation.ACCURATE_RND | Interpolation.BITEXACT
    gray_is_full = frame.format.name == "gray"
    return frame.reformat(
        size[1],
        size[0],
        "gbrp",
        interpolation=int(rounded),
        src_color_range=ColorRange.JPEG if gray_is_full else ColorRange.MPEG,
        dst_color_range=ColorRange.JPEG,
        src_colorspace=5,
        dst_colorspace=5,
    ).to_ndarray()


@st.composite
def pictures(draw):
    """(stored size, rectangle in it)."""
    height, width = draw(st.integers(2, 90)), draw(st.integers(2, 90))
    top, left = draw(st.integers(0, height - 1)), draw(st.integers(0, width - 1))
    rows, columns = draw(st.integers(1, height - top)), draw(st.integers(1, width - left))
    return (height, width), Rectangle(top, left, rows, columns)


@given(pictures(), st.sampled_from(PLANAR), st.sampled_from([(24, 24), (17, 40), (70, 31)]))
def test_a_region_is_the_stored_planes_cut_and_then_scaled(picture, format_name, size):
    stored, rectangle = picture
    planes = planes_like(format_name, stored)
    frame = frame_of(planes, format_name)
    region = Region(rectangle=rectangle, picture=stored)
    kept = stored_rectangle(frame, UPRIGHT, region)
    plain = frame_of(cut_planes(planes, kept, grid_of(frame)), format_name)
    assert (painted(frame, size, region=region) == scaled_plainly(plain, size)).all()


@given(pictures(), st.sampled_from([*PLANAR, *PACKED]))
def test_a_cut_keeps_to_the_chroma_grid_near_what_was_asked(picture, format_name):
    stored, rectangle = picture
    frame = av.VideoFrame(stored[1], stored[0], format_name)
    grid = grid_of(frame)
    kept = stored_rectangle(frame, UPRIGHT, Region(rectangle=rectangle, picture=stored))
    for first, length, asked, asked_length, side, step in (
        (kept.top, kept.height, rectangle.top, rectangle.height, stored[0], grid[0]),
        (kept.left, kept.width, rectangle.left, rectangle.width, stored[1], grid[1]),
    ):
        end, asked_end = first + length, asked + asked_length
        assert first % step == 0 and (end % step == 0 or end == side)
        assert 0 <= first < end <= side
        assert abs(first - asked) <= step - 1 and abs(end - asked_end) <= 2 * step - 1


@pytest.mark.parametrize("format_name", [*PLANAR[:-1], *PACKED])
def test_what_lies_outside_of_a_region_changes_nothing(format_name):
    inside = Rectangle(12, 20, 28, 36)
    region = Region(rectangle=inside, picture=(64, 80))
    outs = []
    for seed in (1, 2):
        drawn = np.random.default_rng(seed)
        picture = drawn.integers(60, 190, (64, 80, 3)).astype(np.uint8)
        same = np.random.default_rng(0).integers(60, 190, (28, 36, 3)).astype(np.uint8)
        picture[12:40, 20:56] = same.repeat(4, 0).repeat(4, 1)[:28, :36]
        frame = av.VideoFrame.from_ndarray(picture, format="rgb24").reformat(
            format=format_name, interpolation="POINT"
        )
        outs.append(painted(frame, (30, 44), region=region))
    assert (outs[0] == outs[1]).all()


def test_a_region_of_a_picture_with_a_palette_keeps_its_colours():
    drawn = np.random.default_rng(0)
    numbers = drawn.integers(0, 256, (40, 60)).astype(np.uint8)
    palette = drawn.integers(0, 256, (256, 4)).astype(np.uint8)
    frame = av.VideoFrame.from_ndarray((numbers, palette), format="pal8")
    region = Region(rectangle=Rectangle(3, 5, 30, 41), picture=(40, 60))
    whole = painted(frame, (40, 60))
    assert (painted(frame, (30, 41), region=region) == whole[3:33, 5:46]).all()


@given(pictures(), st.sampled_from([0, 90, 180, 270]), st.booleans(), st.booleans(), st.booleans())
def test_a_region_of_a_turned_video_is_the_part_of_the_upright_picture(
    picture, degrees, mirrored, flip, is_turned_rectangle
):
    stored, rectangle = picture
    samples = np.random.default_rng(0).integers(0, 256, (*stored, 3)).astype(np.uint8)
    upright = np.rot90(samples[:, ::-1] if mirrored else samples, k=-degrees // 90)
    if degrees in (90, 270):
        rectangle = Rectangle(rectangle.left, rectangle.top, rectangle.width, rectangle.height)
    top, left, height, width = rectangle
    wanted = upright[top : top + height, left : left + width]
    frame = av.VideoFrame.from_ndarray(samples, format="rgb24")
    orientation = Orientation(rotation_degrees=degrees, mirrored=mirrored, sample_aspect=None)
    region = Region(rectangle=rectangle, picture=upright.shape[:2])
    got = painted(frame, (height, width), orientation, region=region, flip=flip)
    assert (got == (wanted[:, ::-1] if flip else wanted)).all()


def test_a_region_of_wide_pixels_is_counted_in_square_ones():
    samples = np.tile(np.arange(0, 160, 2, np.uint8)[None, :, None], (40, 1, 3))
    frame = av.VideoFrame.from_ndarray(samples, format="rgb24")
    wide = Orientation(rotation_degrees=0, mirrored=False, sample_aspect=(2, 1))
    region = Region(rectangle=Rectangle(0, 40, 40, 80), picture=(40, 160))
    got = painted(frame, (40, 40), wide, region=region)
    assert (got == samples[:, 20:60]).all()


def test_a_frame_of_another_size_shows_the_same_share():
    samples = np.random.default_rng(0).integers(0, 256, (30, 60, 3)).astype(np.uint8)
    frame = av.VideoFrame.from_ndarray(samples, format="rgb24")
    region = Region(rectangle=Rectangle(20, 40, 40, 60), picture=(60, 120))
    assert (painted(frame, (20, 30), region=region) == samples[10:30, 20:50]).all()


def test_the_edges_of_a_scaled_region_show_no_rubbish():
    ramp = (np.arange(200) + 20)[None, :].repeat(100, 0)
    gray = np.full((50, 100), 128)
    for left in range(0, 60, 2):
        for width in (34, 64, 100):
            frame = frame_of([ramp, gray, gray], "yuv420p")
            frame.color_range = 2
            region = Region(rectangle=Rectangle(10, left, 60, width), picture=(100, 200))
            got = painted(frame, (48, 50), region=region).astype(float)
            middles = (np.arange(50) + 0.5) * (width / 50) - 0.5
            wanted = 20 + left + np.clip(middles, 0, width - 1)
            assert np.abs(got - wanted[None, :, None]).max() <= 2 + width / 100


def test_a_decoded_frame_that_is_cut_keeps_the_place_of_its_chroma(tmp_path):
    path = write_video(tmp_path / "v.mp4", width=160, height=96, num_frames=2)
    with av.open(str(path)) as container:
        frame = next(container.decode(video=0))
        whole = painted(frame, (48, 80)).astype(int)
        region = Region(rectangle=Rectangle(0, 0, 94, 160), picture=(96, 160))
        cut = painted(frame, (47, 80), region=region).astype(int)
    assert np.abs(whole[:46] - cut[:46]).max() == 0


@given(pictures(), st.booleans())
def test_a_region_in_yuv_is_the_stored_planes_cut_and_then_scaled(picture, flip):
    stored, rectangle = picture
    planes = planes_like("yuv420p", stored)
    frame = frame_of(planes, "yuv420p")
    region = Region(rectangle=rectangle, picture=stored)
    plain = frame_of(
        cut_planes(planes, stored_rectangle(frame, UPRIGHT, region), (2, 2)), "yuv420p"
    )
    size, got, wanted = (24, 30), np.empty((36, 30), np.uint8), np.empty((36, 30), np.uint8)
    paint_yuv(frame, UPRIGHT, Window(size=size, region=region, flip=flip), Scaler(), got)
    everything = Rectangle(0, 0, plain.height, plain.width)
    whole = Region(rectangle=everything, picture=everything[2:])
    paint_yuv(plain, UPRIGHT, Window(size=size, region=whole, flip=flip), Scaler(), wanted)
    assert (got == wanted).all()
    assert split(got, size)[1].shape == (12, 15)


def test_pictures_of_single_bits_are_refused():
    with pytest.raises(UnsupportedColour, match="monow cannot be cropped"):
        Cropper().cut(av.VideoFrame(32, 32, "monow"), Rectangle(0, 0, 16, 16))


def test_a_kept_filter_gives_what_a_fresh_one_gives():
    kept = Cropper()
    for number in range(60):
        size = [(48, 64), (50, 62)][number % 2]
        frame = frame_of(planes_like("yuv420p", size, number), "yuv420p")
        frame.colorspace, frame.color_range = (1, 6, 9)[number % 3], 1 + number % 2
        rectangle = Rectangle(number % 5 * 2, number % 7 * 2, 20, 30)
        one, other = kept.cut(frame, rectangle), Cropper().cut(frame, rectangle)
        assert (one.to_ndarray() == other.to_ndarray()).all()
        tags = (one.colorspace, one.color_range)
        assert tags == (frame.colorspace, frame.color_range)
