"""Pixels and annotations go through one geometry: what is painted lands where its box lands."""

from __future__ import annotations

import av
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from filmgate.catalog.rectangle import Rectangle
from filmgate.feed.annotations import annotations_in
from filmgate.feed.geometry import Orientation, Size
from filmgate.feed.picture import Painter, Window
from filmgate.feed.placement import Placement, areas, cut_boxes, place
from filmgate.feed.region import Region
from filmgate.feed.scaler import Scaler
from filmgate.feed.yuv import paint_yuv, split
from filmgate.pack import FrameObjects
from filmgate.pack.mask import Polygons, pixels_runs

FORMATS = ("rgb24", "gray", "yuv420p", "yuv444p", "yuv422p")
BLACK, WHITE = 0, 255

orientations = st.builds(
    Orientation,
    rotation_degrees=st.sampled_from([0, 90, 180, 270]),
    mirrored=st.booleans(),
    sample_aspect=st.sampled_from([None, (1, 1), (4, 3), (3, 4)]),
)
sizes = st.tuples(st.integers(16, 90), st.integers(16, 90))
shares = st.floats(0, 0.999)


@st.composite
def scenes(draw: st.DrawFn) -> tuple[Orientation, Size, Window, tuple[int, int, int, int], str]:
    """A stored size, a window, a rectangle of stored pixels, and a pixel format."""
    orientation, stored = draw(orientations), draw(sizes)
    height, width = stored
    left, top = draw(st.integers(0, width - 8)), draw(st.integers(0, height - 8))
    right = draw(st.integers(left + 8, width))
    bottom = draw(st.integers(top + 8, height))
    window = Window(
        size=(draw(st.integers(4, 40)) * 2, draw(st.integers(4, 40)) * 2),
        region=draw(st.none() | regions(orientation.upright(stored))),
        top_share=draw(shares),
        left_share=draw(shares),
        flip=draw(st.booleans()),
    )
    return orientation, stored, window, (left, top, right, bottom), draw(st.sampled_from(FORMATS))


@st.composite
def regions(draw: st.DrawFn, picture: Size) -> Region:
    height, width = draw(st.integers(6, picture[0])), draw(st.integers(6, picture[1]))
    top, left = draw(st.integers(0, picture[0] - height)), draw(st.integers(0, picture[1] - width))
    return Region(rectangle=Rectangle(top, left, height, width), picture=picture)


def painted(stored: Size, box: tuple[int, int, int, int], format_name: str) -> av.VideoFrame:
    """A black frame with a white rectangle of whole pixels."""
    pixels = np.full((*stored, 3), BLACK, np.uint8)
    left, top, right, bottom = box
    pixels[top:bottom, left:right] = WHITE
    frame = av.VideoFrame.from_ndarray(pixels, format="rgb24")
    return frame.reformat(format=format_name) if format_name != "rgb24" else frame


def upright_box(
    box: tuple[int, int, int, int], stored: Size, orientation: Orientation
) -> np.ndarray:
    """By turning a picture of the box: another way than the one under test."""
    pixels = np.zeros(stored, np.bool_)
    left, top, right, bottom = box
    pixels[top:bottom, left:right] = True
    if orientation.mirrored:
        pixels = pixels[:, ::-1]
    pixels = np.rot90(pixels, k=-orientation.rotation_degrees // 90)
    rows, columns = np.flatnonzero(pixels.any(1)), np.flatnonzero(pixels.any(0))
    found = np.array([columns[0], rows[0], columns[-1] + 1, rows[-1] + 1], float)
    upright = orientation.upright(stored)
    ratio = np.array([upright[1] / pixels.shape[1], upright[0] / pixels.shape[0]] * 2)
    return (found * ratio)[None]


def check_near(seen_HW: np.ndarray, box: np.ndarray, slack: np.ndarray) -> None:
    """Pixels whose middle lies further than the slack inside are white, outside black."""
    height, width = seen_HW.shape
    x, y = np.arange(width) + 0.5, np.arange(height) + 0.5

    def within(grown: np.ndarray) -> np.ndarray:
        """Pixels whose middle lies in a box of which each side was moved out by so much."""
        x1, y1, x2, y2 = box + grown * [-1, -1, 1, 1]
        return ((y > y1) & (y < y2))[:, None] & ((x > x1) & (x < x2))[None]

    assert seen_HW[within(-slack)].all(), "a pixel inside of the box is not painted"
    assert not seen_HW[~within(slack)].any(), "a painted pixel lies outside of the box"


def slack_of(placement: Placement, orientation: Orientation, stored: Size, name: str) -> np.ndarray:
    """One pixel of the window; where the picture is enlarged, as much as half a stored pixel, which
    is where an edge that was interpolated may be taken to lie."""
    upright = orientation.upright(stored)
    back = orientation.turned_back(upright)
    stretch = max(back[0] / stored[0], back[1] / stored[1], 1.0)
    x, y = (max(1.0, 0.75 * stretch * abs(scale)) for scale in placement.scale)
    return np.array([x, y, x, y])


@settings(max_examples=300, deadline=None)
@given(scenes())
def test_a_painted_rectangle_lands_in_its_box(
    scene: tuple[Orientation, Size, Window, tuple[int, int, int, int], str],
) -> None:
    orientation, stored, window, box, name = scene
    frame = painted(stored, box, name)
    out_CHW = np.empty((3, *window.size), np.uint8)
    Painter().paint(frame, orientation, window, out_CHW)
    placement = place(window, orientation, stored, name)
    landed = placement.boxes(upright_box(box, stored, orientation))[0]
    check_near(out_CHW[1] > 127, landed, slack_of(placement, orientation, stored, name))


@settings(max_examples=150, deadline=None)
@given(scenes())
def test_a_painted_rectangle_lands_in_its_box_in_planes(
    scene: tuple[Orientation, Size, Window, tuple[int, int, int, int], str],
) -> None:
    orientation, stored, window, box, name = scene
    if name == "gray":
        name = "yuv420p"
    frame = painted(stored, box, name)
    height, width = window.size
    out = np.empty((height * 3 // 2, width), np.uint8)
    if height % 4:  # planes of I420 are split where they lie on whole rows
        return
    paint_yuv(frame, orientation, window, Scaler(), out)
    placement = place(window, orientation, stored, name, "yuv420p")
    landed = placement.boxes(upright_box(box, stored, orientation))[0]
    luma = split(out, window.size)[0]
    check_near(luma > 127, landed, slack_of(placement, orientation, stored, name))


@settings(max_examples=200, deadline=None)
@given(scenes())
def test_a_mask_lands_where_its_pixels_land(
    scene: tuple[Orientation, Size, Window, tuple[int, int, int, int], str],
) -> None:
    orientation, stored, window, _, name = scene
    upright = orientation.upright(stored)
    y, x = np.mgrid[0 : upright[0], 0 : upright[1]] + 0.5
    middle, radius = (upright[1] / 2, upright[0] / 2), min(upright) / 3
    disc = (x - middle[0]) ** 2 + (y - middle[1]) ** 2 < radius**2
    angles = np.linspace(0, 2 * np.pi, 90, endpoint=False)
    ring = np.stack([middle[0] + radius * np.cos(angles), middle[1] + radius * np.sin(angles)], 1)
    placement = place(window, orientation, stored, name)
    rows, columns = np.mgrid[0 : window.size[0], 0 : window.size[1]] + 0.5
    back = placement.back(np.stack([columns.ravel(), rows.ravel()], 1)).reshape(*window.size, 2)
    distance = np.hypot(back[..., 0] - middle[0], back[..., 1] - middle[1])
    slack = 1.0 + 1.0 / min(map(abs, placement.scale))
    for mask in (pixels_runs(disc), Polygons(rings=(ring,))):
        pixels = placement.mask(mask)
        assert pixels[distance < radius - slack].all()
        assert not pixels[distance > radius + slack].any()


boxes = st.lists(
    st.tuples(*[st.floats(-20, 120, allow_nan=False)] * 4).map(
        lambda b: (min(b[0], b[2]), min(b[1], b[3]), max(b[0], b[2]) + 1, max(b[1], b[3]) + 1)
    ),
    max_size=6,
).map(lambda rows: np.array(rows, float).reshape(-1, 4))


@given(scenes(), boxes)
def test_mirroring_twice_is_the_identity_and_mirroring_is_w_minus_x(
    scene: tuple[Orientation, Size, Window, tuple[int, int, int, int], str], boxes_N4: np.ndarray
) -> None:
    orientation, stored, window, _, name = scene
    plain, flipped = (
        place(
            Window(
                size=window.size, region=window.region, top_share=window.top_share,
                left_share=window.left_share, flip=flip,
            ),
            orientation, stored, name,
        ).boxes(boxes_N4)
        for flip in (False, True)
    )  # fmt: skip
    width = window.size[1]
    mirrored = plain.copy()
    mirrored[:, [0, 2]] = width - plain[:, [2, 0]]  # torchvision's horizontal_flip of XYXY boxes
    assert np.allclose(flipped, mirrored)
    twice = mirrored.copy()
    twice[:, [0, 2]] = width - mirrored[:, [2, 0]]
    assert np.allclose(twice, plain)


@given(scenes(), boxes)
def test_there_and_back_is_the_identity(
    scene: tuple[Orientation, Size, Window, tuple[int, int, int, int], str], boxes_N4: np.ndarray
) -> None:
    orientation, stored, window, _, name = scene
    placement = place(window, orientation, stored, name)
    points = boxes_N4.reshape(-1, 2)
    assert np.allclose(placement.back(placement.points(points)), points, atol=1e-6)


@given(scenes())
def test_the_picture_covers_the_window(
    scene: tuple[Orientation, Size, Window, tuple[int, int, int, int], str],
) -> None:
    orientation, stored, window, _, name = scene
    height, width = orientation.upright(stored)
    placement = place(window, orientation, stored, name)
    x1, y1, x2, y2 = placement.boxes(np.array([[0.0, 0.0, width, height]]))[0]
    assert x1 <= 1e-6 and y1 <= 1e-6
    assert x2 >= window.size[1] - 1e-6 and y2 >= window.size[0] - 1e-6


@given(scenes(), boxes)
def test_cut_boxes_lie_in_the_window_and_shares_say_what_is_left(
    scene: tuple[Orientation, Size, Window, tuple[int, int, int, int], str], boxes_N4: np.ndarray
) -> None:
    orientation, stored, window, _, name = scene
    placement = place(window, orientation, stored, name)
    number = len(boxes_N4)
    objects = FrameObjects(
        boxes_N4=boxes_N4,
        classes_N=np.arange(number),
        track_ids_N=np.arange(number) + 100,
        is_crowd_N=np.zeros(number, np.bool_),
        masks=(None,) * number,
    )
    seen = annotations_in(objects, placement, image=3)
    assert len(seen) + seen.num_outside == number
    height, width = window.size
    assert (seen.boxes_N4 >= 0).all()
    assert (seen.boxes_N4 <= [width, height, width, height]).all()
    assert (seen.visible_share_N > 0).all() and (seen.visible_share_N <= 1 + 1e-9).all()
    assert np.array_equal(seen.track_ids_N, seen.classes_N + 100), "they stay together"
    whole = placement.boxes(boxes_N4[seen.classes_N])
    assert np.allclose(seen.visible_share_N * areas(whole), areas(cut_boxes(whole, window.size)))


def test_the_worked_example_of_the_page() -> None:
    """200 x 100 in a window of 50 x 50: scaled by a half, 25 columns cut off at the left."""
    upright = Orientation(rotation_degrees=0, mirrored=False, sample_aspect=None)
    window = Window(size=(50, 50))
    placement = place(window, upright, (100, 200), "rgb24")
    assert placement.boxes(np.array([[60.0, 20.0, 100.0, 60.0]])).tolist() == [[5, 10, 25, 30]]
    flipped = place(Window(size=(50, 50), flip=True), upright, (100, 200), "rgb24")
    assert flipped.boxes(np.array([[60.0, 20.0, 100.0, 60.0]])).tolist() == [[25, 10, 45, 30]]
