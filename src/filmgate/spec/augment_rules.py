"""What [augment] cannot mean: ranges the wrong way round, odd batches, keys without effect."""

from __future__ import annotations

from filmgate.errors import JobError
from filmgate.spec.job import Augment, Job

_RANGES = ("crop_scale", "crop_ratio", "erasing_scale", "erasing_ratio")


def check_augment(job: Job, origin: str) -> None:
    """Raise JobError for a range whose first number is the higher, clips that cannot be mixed in
    pairs, or a key that does nothing."""
    augment = job.augment
    for key in _RANGES:
        low, high = getattr(augment, key)
        if low > high:
            raise JobError(
                f"{origin}: augment.{key} is [{low}, {high}]; the lower number comes first",
                hint=f"write {key} = [{high}, {low}]",
            )
    has_mixup, has_cutmix = augment.mixup_alpha > 0, augment.cutmix_alpha > 0
    if (has_mixup or has_cutmix) and augment.mix_probability > 0 and job.train.batch_size % 2:
        raise JobError(
            f"{origin}: mixup and CutMix take clips in pairs, but train.batch_size is "
            f"{job.train.batch_size}",
            hint="make it even, on every rank",
        )
    needs = {
        ("crop_scale", "crop_ratio"): (
            job.clip.crop == "random-resized",
            'crop = "random-resized" in [clip]',
        ),
        ("erasing_scale", "erasing_ratio"): (
            augment.erasing_probability > 0,
            "erasing_probability above 0",
        ),
        ("mix_probability",): (has_mixup or has_cutmix, "mixup_alpha or cutmix_alpha above 0"),
        ("cutmix_probability",): (
            has_mixup and has_cutmix,
            "mixup_alpha and cutmix_alpha above 0",
        ),
    }
    for keys, (is_used, what) in needs.items():
        for key in keys:
            if not is_used and getattr(augment, key) != getattr(Augment(), key):
                raise JobError(
                    f"{origin}: augment.{key} does nothing as the job stands; it needs {what}",
                    hint="set that too, or remove the key",
                )
