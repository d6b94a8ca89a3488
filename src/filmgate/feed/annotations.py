"""What is drawn on the images of a pack, where it lies in the clips that the feed gives.

One placement per frame (``filmgate.feed.placement``) takes boxes, masks and tracks through turning,
scaling, cropping and mirroring, the same one that the pixels went through.

N objects of a frame, T frames, B clips, H W of the window.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from filmgate.catalog import Catalog
from filmgate.catalog.sample import Sample
from filmgate.closing import Closing
from filmgate.errors import UserError
from filmgate.feed.geometry import Orientation, Size, asked_size
from filmgate.feed.picture import Window
from filmgate.feed.placement import Placement, Transport, areas, cut_boxes, place, window_of
from filmgate.pack import FrameObjects, PackedImage
from filmgate.pack.frames import pack_beside
from filmgate.pack.mask import Bits
from filmgate.spec import Job


@dataclass(frozen=True, kw_only=True, eq=False)
class FrameAnnotations:
    """The objects of one frame of a clip, as far as they show in its window."""

    boxes_N4: NDArray[np.float64]
    """x1, y1, x2, y2 in pixels of the window, cut at its edges."""
    classes_N: NDArray[np.int64]
    """Class numbers, from 0, of ``Annotator.classes``."""
    track_ids_N: NDArray[np.int64]
    """The same number is the same thing in all frames of a video; -1 where no track is known."""
    is_crowd_N: NDArray[np.bool_]
    """Whether it is a group that was not taken apart."""
    visible_share_N: NDArray[np.float64]
    """Area of the box inside the window over all of its area."""
    has_mask_N: NDArray[np.bool_]
    """Whether the object has more than a box."""
    num_outside: int
    """Objects of the frame that lie beside the window; they are not among the N."""
    image: int
    """Row of the pack."""
    placement: Placement
    """From the upright picture to the window."""
    objects: FrameObjects
    """The N objects in pixels of the upright picture."""

    def __len__(self) -> int:
        return len(self.boxes_N4)

    def masks(self) -> Bits:
        """Bool (N, H, W), made when asked for; nothing is True for an object without a mask."""
        masks = np.zeros((len(self), *self.placement.size), np.bool_)
        for number, mask in enumerate(self.objects.masks):
            if mask is not None:
                masks[number] = self.placement.mask(mask)
        return masks

    def class_map(self, background: int) -> NDArray[np.int64]:
        """int64 (H, W): the class of each pixel, ``background`` where nothing is drawn.

        Later objects lie on top; groups lie below all others.
        """
        classes_HW = np.full(self.placement.size, background, np.int64)
        for number in np.argsort(~self.is_crowd_N, kind="stable").tolist():
            mask = self.objects.masks[number]
            if mask is not None:
                classes_HW[self.placement.mask(mask)] = self.classes_N[number]
        return classes_HW


class Annotator(Closing):
    """Finds the annotations of frames of a pack's catalog. Cheap to make, picklable."""

    def __init__(self, catalog: Catalog, job: Job | None = None) -> None:
        """The job is whose clips are to be annotated. Raises UserError for a catalog without."""
        pack = pack_beside(catalog)
        if pack is None or pack.header.annotations is None:
            raise UserError(
                f"{catalog.path} has no annotations",
                hint="filmgate pack FOLDER --out DIR --annotations coco:FILE",
            )
        self._pack = pack
        self._catalog = catalog
        self._job = job

    def __reduce__(self) -> tuple[object, tuple[Catalog, Job | None]]:
        return Annotator, (self._catalog, self._job)

    @property
    def classes(self) -> list[str]:
        """Name of each class."""
        return self._pack.classes

    def of_samples(self, samples: Sequence[Sample | None]) -> list[list[FrameAnnotations] | None]:
        """(B, T) of the clips of a batch, ``batch.samples``; None for masked clips."""
        return [None if sample is None else self.of_sample(sample) for sample in samples]

    def of_sample(self, sample: Sample) -> list[FrameAnnotations]:
        """(T,) of one clip of the job."""
        assert self._job is not None, "which clips they are is told by the job"
        first = self._pack.row(self._pack.first_of_video(sample.video))
        window = window_of(
            self._job.clip, sample, _orientation_of(first), (first.height, first.width)
        )
        transport = self._job.data.transport
        frames = sample.frame_indices_T.tolist()
        return [self._placed(sample.video, frame, window, transport) for frame in frames]

    def read(
        self,
        video: int,
        frame_indices: Sequence[int],
        *,
        size: Size | None = None,
        short_side: int | None = None,
    ) -> list[FrameAnnotations]:
        """(T,) of what a ``ClipReader`` of that size reads as RGB."""
        first = self._pack.row(self._pack.first_of_video(video))
        upright = _orientation_of(first).upright((first.height, first.width))
        window = Window(size=asked_size(upright, size, short_side))
        return [self._placed(video, int(frame), window, "rgb24") for frame in frame_indices]

    def close(self) -> None:
        """Close the pack."""
        self._pack.close()

    def _placed(
        self, video: int, frame: int, window: Window, transport: Transport
    ) -> FrameAnnotations:
        number = self._pack.first_of_video(video) + frame
        image = self._pack.row(number)
        placement = place(
            window, _orientation_of(image), (image.height, image.width), image.pixel_format,
            transport,
        )  # fmt: skip
        return annotations_in(self._pack.objects(number), placement, number)


def annotations_in(objects: FrameObjects, placement: Placement, image: int) -> FrameAnnotations:
    """The objects of a picture that show in a window."""
    whole = placement.boxes(objects.boxes_N4)
    cut = cut_boxes(whole, placement.size)
    area = areas(cut)
    shows = area > 0
    share = np.divide(area, areas(whole), out=np.zeros_like(area), where=shows)
    return FrameAnnotations(
        boxes_N4=cut[shows],
        classes_N=objects.classes_N[shows],
        track_ids_N=objects.track_ids_N[shows],
        is_crowd_N=objects.is_crowd_N[shows],
        visible_share_N=share[shows],
        has_mask_N=np.array([mask is not None for mask in objects.masks], np.bool_)[shows],
        num_outside=int(np.count_nonzero(~shows)),
        image=image,
        placement=placement,
        objects=objects.take(shows),
    )


def _orientation_of(image: PackedImage) -> Orientation:
    return Orientation(
        rotation_degrees=image.rotation_degrees, mirrored=image.mirrored, sample_aspect=None
    )
