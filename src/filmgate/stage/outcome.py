"""What staging came to, as ``staged.json``."""

from __future__ import annotations

from filmgate.records import Header, Record


class NotHot(Record, frozen=True):
    """A video that was wanted and could not be staged."""

    video_id: str
    """As the catalog has it."""
    source: str
    """Path or URL."""
    reason: str
    """One clause."""


class Kept(Record, frozen=True):
    """A file that is not wanted and was not evicted."""

    name: str
    """Below the folder."""
    reason: str
    """One clause."""


class Staged(Record, frozen=True, kw_only=True):
    """What staging came to, as ``staged.json``."""

    header: Header
    """Its input is the catalog."""
    folder: str
    """Absolute path; a catalog of the same digest."""
    catalog_digest: str
    """Of the catalog."""
    num_videos: int
    """In the catalog."""
    num_hot: int
    """Files of this choice that are hot."""
    num_sharing: int
    """Videos of this choice that have the same bytes as another one, and share its file;
    0 of a pack, whose shards hold many."""
    bytes_hot: int
    """Their size."""
    num_staged: int
    """Of these, staged by this start; the others were hot."""
    bytes_fetched: int
    """What this start asked of the source, with what was asked twice."""
    num_over_budget: int
    """Files that stay cold because the budget has no room."""
    bytes_over_budget: int
    """Their size."""
    num_not_selected: int
    """Videos that stay cold because the condition does not hold."""
    num_never_shown: int
    """Videos that stay cold because the job never shows them."""
    failed: list[NotHot]
    """Files that stay cold because of a fault."""
    num_damaged_chunks: int
    """Chunks that were not on disk as they came, and were fetched again."""
    num_dropped: int
    """Hot files that a check found damaged, and removed."""
    num_evicted: int
    """Hot files that this choice does not want, and that were removed."""
    bytes_evicted: int
    """Their size."""
    kept: list[Kept]
    """Hot files that this choice does not want and that stay; listed when evicting was asked."""
    warnings: list[str]
    """What is odd about where the folder lies."""
    seconds: float
    """Of this start."""
