"""Staging in a process of its own, to be killed: ``python -m tests.stage.kill_driver ...``.

Arguments: catalog, folder, source ("-" for the catalog's own paths), workers, bytes per second.
"""

from __future__ import annotations

import sys

import msgspec

from filmgate.catalog import open_catalog
from filmgate.stage.stage import stage_videos
from tests.stage.footage import QUICK


def main() -> None:
    catalog, folder, source, workers, rate = sys.argv[1:]
    rules = msgspec.structs.replace(
        QUICK,
        source=None if source == "-" else source,
        parallel=int(workers),
        bytes_per_second=float(rate),
    )
    staged = stage_videos(open_catalog(catalog), folder, rules=rules)
    sys.stdout.buffer.write(msgspec.json.encode(staged))


if __name__ == "__main__":
    main()
