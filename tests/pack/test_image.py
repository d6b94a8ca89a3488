"""Which images are taken, which are refused, and which way up they are."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageOps

from filmgate.catalog import open_catalog
from filmgate.feed import ClipReader
from filmgate.pack.image import UnreadableImage, codec_of, decode_image, read_facts
from filmgate.pack.make import pack_images
from filmgate.work import LocalExecutor
from tests.footage import picture
from tests.pack.images import write_image

HERE = LocalExecutor(workers=0)
KINDS = {"JPEG": "mjpeg", "PNG": "png", "WEBP": "webp", "BMP": "bmp", "TIFF": "tiff"}


def encoded(kind: str, mode: str = "RGB") -> bytes:
    image = Image.fromarray(picture(7, 96, 64))
    image = image.convert("L").convert("I;16") if mode == "I;16" else image.convert(mode)
    out = io.BytesIO()
    image.save(out, kind)
    return out.getvalue()


@pytest.mark.parametrize("kind", KINDS)
def test_an_image_is_known_by_its_first_bytes(kind: str) -> None:
    content = encoded(kind)
    facts = read_facts(content)
    assert codec_of(content) == facts.codec == KINDS[kind]
    assert (facts.width, facts.height) == (96, 64)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("kept", [0.02, 0.3, 0.6, 0.99])
def test_an_image_that_is_cut_off_is_refused(kind: str, kept: float) -> None:
    content = encoded(kind)
    with pytest.raises(UnreadableImage):
        read_facts(content[: int(len(content) * kept)])


@pytest.mark.parametrize("content", [b"", b"text", b"GIF89a", bytes(100)])
def test_what_is_no_image_is_refused(content: bytes) -> None:
    with pytest.raises(UnreadableImage):
        codec_of(content)


def test_an_image_after_a_damaged_one_shows_nothing_of_it() -> None:
    good, other = encoded("JPEG"), encoded("JPEG", "L")
    before = decode_image(good, "mjpeg").to_ndarray(format="rgb24")
    with pytest.raises(UnreadableImage):
        decode_image(other[: len(other) // 2], "mjpeg")
    assert np.array_equal(decode_image(good, "mjpeg").to_ndarray(format="rgb24"), before)


@pytest.mark.parametrize(
    ("kind", "mode"),
    [("PNG", "RGB"), ("PNG", "RGBA"), ("PNG", "P"), ("PNG", "L"), ("PNG", "LA"), ("PNG", "1"),
     ("BMP", "RGB"), ("TIFF", "RGB"), ("PNG", "I;16")],
)  # fmt: skip
def test_lossless_images_give_the_pixels_that_pillow_gives(
    kind: str, mode: str, tmp_path: Path
) -> None:
    path = tmp_path / "in" / f"one.{kind.lower()}"
    path.parent.mkdir()
    path.write_bytes(encoded(kind, mode))
    pack_images(path.parent, tmp_path / "out", executor=HERE)
    with ClipReader(open_catalog(tmp_path / "out")) as reader:
        got = reader.read(0, [0])[0]
    with Image.open(path) as image:
        if mode == "I;16":
            wanted = (np.asarray(image).astype(int) >> 8)[..., None].repeat(3, 2)
        else:
            wanted = np.asarray(image.convert("RGB")).astype(int)
    assert np.abs(got.astype(int) - wanted).max() <= 1


@pytest.mark.parametrize("suffix", [".jpg", ".png", ".webp", ".tiff"])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_every_exif_orientation_is_turned_upright(
    suffix: str, orientation: int, tmp_path: Path
) -> None:
    path = write_image(tmp_path / "in" / f"one{suffix}", 9, orientation=orientation)
    pack_images(path.parent, tmp_path / "out", executor=HERE)
    with ClipReader(open_catalog(tmp_path / "out")) as reader:
        got = reader.read(0, [0])[0].astype(int)
    with Image.open(path) as image:
        wanted = np.asarray(ImageOps.exif_transpose(image).convert("RGB")).astype(int)
    assert got.shape == wanted.shape
    assert np.abs(got - wanted).mean() < 6, "chroma is interpolated otherwise, edges alone differ"


def test_an_orientation_that_exif_does_not_know_leaves_the_picture_as_it_is(tmp_path: Path) -> None:
    path = write_image(tmp_path / "one.png", orientation=11)
    facts = read_facts(path.read_bytes())
    assert (facts.rotation_degrees, facts.mirrored) == (0, False)
