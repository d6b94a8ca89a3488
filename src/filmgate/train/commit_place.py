"""Where a run's commits lie, and whether the videos are read from the same device."""

from __future__ import annotations

from pathlib import Path

from filmgate.catalog import Catalog
from filmgate.catalog.tiers import is_url
from filmgate.errors import UserError
from filmgate.spec import Job


def commit_folder(job: Job, run_folder: Path) -> Path:
    """In the run folder, or by the run's name where the job says."""
    named = job.train.commit_folder
    return run_folder / "commits" if named is None else Path(named) / run_folder.name


def shares_device(folder: Path, catalog: Catalog) -> bool | None:
    """Whether a video lies on the folder's device; None where no video can be looked at.

    Two parts of one drive count as two devices.
    """
    paths: list[str] = catalog.column("path").to_pylist()
    folders = {Path(path).parent for path in paths if not is_url(path)}
    found = {one.stat().st_dev for one in folders if one.is_dir()}
    nearest = next(one for one in (folder, *folder.parents) if one.is_dir())
    return nearest.stat().st_dev in found if found else None


def refuse_shared_device(job: Job, folder: Path, is_shared: bool | None) -> None:
    """Raise UserError where the job names a folder for commits that is no safer than the videos."""
    if is_shared and job.train.commit_folder is not None and not job.train.commit_beside_videos:
        raise UserError(
            f"commit_folder in [train] is {folder.parent}, which lies on the device that the videos"
            " are read from: one disk that fails or fills up takes both",
            hint="name a folder on another device, or set commit_beside_videos = true in [train]",
        )
