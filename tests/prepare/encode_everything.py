"""Make a copy of a video in every layout and print the digest of each: run by the tests.

Arguments: the video, an empty folder.
"""

from __future__ import annotations

import sys
from pathlib import Path

from filmgate.prepare.encode import write_copy
from filmgate.prepare.encoders import SOFTWARE
from filmgate.prepare.recipe import Layout, Recipe
from filmgate.prepare.times import copy_times
from filmgate.records import digest_file
from filmgate.video import probe

LAYOUTS = (
    Layout(name="temporal", codec="h264", quality=20, key_every=16, reference_every=4),
    Layout(name="temporal", codec="hevc", quality=20, key_every=16, reference_every=4),
    Layout(name="temporal", codec="mpeg4", quality=3, key_every=16, reference_every=4),
    Layout(name="short-gop", codec="h264", quality=23, key_every=16),
    Layout(name="short-gop", codec="av1", quality=25, key_every=16),
    Layout(name="intra", codec="h264", quality=18),
    Layout(name="jpeg", codec="jpeg", quality=3),
)


def main(source: Path, folder: Path) -> None:
    facts, table = probe(source)
    times = copy_times(table, None)
    for layout in LAYOUTS:
        encoder = next(one for one in SOFTWARE if one.codec == layout.codec)
        path = folder / f"copy{encoder.suffix}"
        write_copy(source, facts, table, times, Recipe(layout=layout), encoder, path)
        sys.stdout.write(f"{layout.label} {digest_file(path)}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
