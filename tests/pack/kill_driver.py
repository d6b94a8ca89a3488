"""Packing in a process of its own, to be killed.

``python -m tests.pack.kill_driver FOLDER OUT COCO_FILE``
"""

from __future__ import annotations

import sys

from filmgate.pack.make import pack_images
from filmgate.work import LocalExecutor

SHARD_BYTES = 8_000


def main() -> None:
    folder, out, coco = sys.argv[1:]
    sys.stdout.write("packing\n")
    sys.stdout.flush()
    pack_images(
        folder, out, shard_bytes=SHARD_BYTES, executor=LocalExecutor(workers=0),
        annotations=[f"coco:{coco}"],
    )  # fmt: skip


if __name__ == "__main__":
    main()
