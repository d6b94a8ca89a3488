"""Exact frames of one video, with their times: every tenth frame, in any order one likes.

python read_clip.py VIDEO
"""

from __future__ import annotations

import sys
from pathlib import Path

from filmgate.video import VideoReader, probe


def main(path: Path) -> None:
    facts, table = probe(path)
    print(f"{facts.codec} {facts.width}x{facts.height}, {table.num_frames} frames")
    with VideoReader(path, table) as reader:
        for index, frame in reader.frames(range(0, table.num_frames, 10)):
            print(f"frame {index} at {table.seconds(index):.3f} s: {frame.format.name}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
