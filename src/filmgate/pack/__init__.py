"""Many small images in a few large files, with one index, and what is drawn on them.

A pack is a folder: ``shards/`` (plain tar files of the images as they came), ``images.arrow``
(where each of them lies), ``annotations.arrow`` (boxes, masks, tracks), ``pack.json``, and a
catalog of the same images, through which the feed delivers them like any video.

``pack.make.pack_images`` makes one. It is not imported here, because every feed worker reads packs
and none makes them.
"""

from filmgate.pack.annotated import FrameObjects
from filmgate.pack.reader import Pack, open_pack
from filmgate.pack.rows import PackedImage, PackHeader

__all__ = ["FrameObjects", "Pack", "PackHeader", "PackedImage", "open_pack"]
