"""The staged folder as a catalog: tables, index of a pack, and where the cold files lie."""

from __future__ import annotations

from pathlib import Path

from filmgate.catalog import Catalog
from filmgate.catalog.mirror import mirror_catalog
from filmgate.catalog.tiers import STAGE_FILE, StageFacts, is_url
from filmgate.errors import UserError
from filmgate.pack.frames import pack_beside
from filmgate.pack.reader import PACK_FILE, Pack
from filmgate.records import Header, write_file, write_record
from filmgate.stage.source import open_source


def stageable_pack(catalog: Catalog) -> Pack | None:
    """The pack whose images the catalog has; None for a catalog of videos.

    Raises UserError for one that cannot be staged.
    """
    pack = pack_beside(catalog)
    if pack is not None and set(pack.header.shard_digests) != set(pack.header.shards):
        raise UserError(
            f"{catalog.path} is a pack whose shards have no digests, so no copy could be verified",
            hint="pack the same folder again: shards that are there stay, and get their digests",
        )
    return pack


def write_staged_catalog(
    catalog: Catalog, pack: Pack | None, out: Path, root: str | None, stall_seconds: float
) -> Catalog:
    """Make ``out`` the same catalog; ``root`` is the folder or URL of the cold files.

    Raises UserError when that cannot be used.
    """
    if root is not None and is_url(root):
        open_source(f"{root.rstrip('/')}/", stall_seconds)  # said before anything is done
    elif root is not None:
        root = str(Path(root).absolute())
        if not Path(root).is_dir():
            raise UserError(
                f"{root} is no folder", hint="mount it, or write a URL like s3://bucket/folder"
            )
    if pack is not None:
        root = root or pack.base
    facts = StageFacts(
        header=Header(
            schema="filmgate.stage", schema_version=1, inputs={"catalog": catalog.digest}
        ),
        catalog=str(catalog.path.absolute()),
        source=root,
    )
    if pack is None:
        (out / PACK_FILE).unlink(missing_ok=True)  # of another catalog that was staged here
        mirror = mirror_catalog(catalog, out, root)
        write_record(out / STAGE_FILE, facts)
        return mirror
    # Whoever opens the folder meanwhile finds a pack without its catalog, which is refused.
    write_record(out / STAGE_FILE, facts)
    _write_same(out / PACK_FILE, (catalog.path / PACK_FILE).read_bytes())
    return mirror_catalog(catalog, out)


def _write_same(path: Path, content: bytes) -> None:
    """Write, unless it is there."""
    if not path.is_file() or path.read_bytes() != content:
        write_file(path, content)
