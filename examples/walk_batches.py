"""The feed without the trainer: index a folder of video and look at the first batches.

python walk_batches.py FOLDER
"""

from __future__ import annotations

import sys
import tempfile
from itertools import islice
from pathlib import Path

from filmgate.catalog import index_videos
from filmgate.feed import open_feed
from filmgate.spec import Clip, Job, Limits, Train


def main(folder: Path) -> None:
    job = Job(
        clip=Clip(frames=8, stride=2, height=64, width=64),
        train=Train(batch_size=4),
        limits=Limits(workers=1),
    )
    with tempfile.TemporaryDirectory() as catalog_folder:
        catalog = index_videos([folder], Path(catalog_folder))
        print(f"{catalog.num_videos} videos, {len(catalog.left_out)} files left out")
        with open_feed(job, catalog) as feed:
            for batch in islice(feed, 3):
                shape = tuple(batch.frames_BTCHW.shape)
                print(f"sample {batch.sample_start}: {shape} {batch.frames_BTCHW.dtype}")
                for video, times_T in zip(batch.video_ids, batch.times_BT, strict=True):
                    print(f"  {video} from {times_T[0]:.2f} s to {times_T[-1]:.2f} s")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
