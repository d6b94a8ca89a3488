from __future__ import annotations

import colorsys
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch

from filmgate.catalog.augmentation import SampleAugmentation
from filmgate.catalog.rectangle import Rectangle
from filmgate.errors import UserError
from filmgate.feed import ClipDataset, open_feed
from filmgate.feed.augment import augment_frames, mix_labels
from filmgate.feed.augmentation import stack
from tests.feed.conftest import job_of
from tests.feed.test_faults import damage
from tests.feed.test_feed import all_same, batches, take

ALL = {
    "brightness": 0.4,
    "contrast": 0.4,
    "saturation": 0.4,
    "hue": 0.1,
    "erasing_probability": 0.5,
    "mixup_alpha": 0.8,
    "cutmix_alpha": 1.0,
}
PLAIN = SampleAugmentation()


def frames_of(num_clips: int = 2, seed: int = 0) -> torch.Tensor:
    drawn = torch.Generator().manual_seed(seed)
    shape = (num_clips, 3, 3, 10, 12)
    return torch.randint(0, 256, shape, generator=drawn, dtype=torch.uint8)


def augmented(frames_BTCHW: torch.Tensor, *clips: SampleAugmentation) -> torch.Tensor:
    before = frames_BTCHW.clone()
    out = augment_frames(frames_BTCHW, stack(clips, has_soft_labels=True), fill=0.45)
    assert torch.equal(frames_BTCHW, before)
    assert out.dtype == torch.float32 and out.shape == frames_BTCHW.shape
    return out


def gray_of(pixels: np.ndarray) -> np.ndarray:
    """(..., 3) -> (..., 1), ITU-R BT.601."""
    return (pixels @ [0.299, 0.587, 0.114])[..., None]


def change(pixels: np.ndarray, kind: int, amount: float) -> np.ndarray:
    """torchvision's definitions, plainly: (T, H, W, 3) of 0..1."""
    if kind == 0:
        return np.clip(pixels * amount, 0, 1)
    if kind == 1:
        return np.clip(amount * pixels + (1 - amount) * gray_of(pixels).mean(), 0, 1)
    if kind == 2:
        return np.clip(amount * pixels + (1 - amount) * gray_of(pixels), 0, 1)
    turned = [
        colorsys.hsv_to_rgb((hue + amount) % 1, saturation, value)
        for hue, saturation, value in (colorsys.rgb_to_hsv(*p) for p in pixels.reshape(-1, 3))
    ]
    return np.array(turned).reshape(pixels.shape)


@pytest.mark.parametrize(
    "order", [(0, 1, 2, 3), (3, 2, 1, 0), (1, 3, 0, 2)], ids=["as listed", "back", "mixed"]
)
def test_colours_change_as_the_plain_formulas_say_in_the_clips_own_order(order):
    frames = frames_of()
    clip = SampleAugmentation(factors=(1.3, 0.6, 1.7), hue=-0.2, jitter_order=order)
    got = augmented(frames, PLAIN, clip)
    assert torch.equal(got[0], frames[0] / 255)
    pixels = frames[1].permute(0, 2, 3, 1).double().numpy() / 255
    for kind in order:
        pixels = change(pixels, kind, (*clip.factors, clip.hue)[kind])
    assert np.abs(got[1].permute(0, 2, 3, 1).numpy() - pixels).max() < 1e-4


@pytest.mark.parametrize("kind", range(4))
@pytest.mark.parametrize("amount", [0.0, 0.4, 1.9])
def test_each_change_alone_is_the_plain_formula(kind, amount):
    factors = tuple(amount if place == kind else 1.0 for place in range(3))
    hue = (amount - 1.0) / 2 if kind == 3 else 0.0
    frames = frames_of(1)
    got = augmented(frames, SampleAugmentation(factors=factors, hue=hue))
    pixels = frames[0].permute(0, 2, 3, 1).double().numpy() / 255
    wanted = change(pixels, kind, hue if kind == 3 else amount)
    assert np.abs(got[0].permute(0, 2, 3, 1).numpy() - wanted).max() < 1e-4


def test_what_is_erased_is_filled_in_all_frames_and_nothing_else_is():
    frames = frames_of()
    got = augmented(frames, PLAIN, SampleAugmentation(erased=Rectangle(2, 3, 4, 5)))
    assert (got[1, :, :, 2:6, 3:8] == 0.45).all()
    got[1, :, :, 2:6, 3:8] = frames[1, :, :, 2:6, 3:8] / 255
    assert torch.allclose(got, frames / 255)


def test_mixup_blends_each_clip_with_its_partner_and_the_labels_alike():
    frames, labels = frames_of(4), torch.tensor([0, 1, 2, 2])
    clips = [SampleAugmentation(own_share=share) for share in (0.7, 0.7, 0.2, 0.2)]
    got, plain = augmented(frames, *clips), frames / 255
    assert torch.allclose(got[0], 0.7 * plain[0] + 0.3 * plain[1], atol=1e-6)
    assert torch.allclose(got[1], 0.7 * plain[1] + 0.3 * plain[0], atol=1e-6)
    assert torch.allclose(got[3], 0.2 * plain[3] + 0.8 * plain[2], atol=1e-6)
    soft = mix_labels(labels, stack(clips, has_soft_labels=True), 3)
    wanted = torch.tensor([[0.7, 0.3, 0], [0.3, 0.7, 0], [0, 0, 1], [0, 0, 1]])
    assert torch.allclose(soft, wanted, atol=1e-6)


def test_cutmix_exchanges_the_box_and_blends_the_labels_by_its_area():
    frames = frames_of()
    clip = SampleAugmentation(own_share=0.8, cut=Rectangle(1, 2, 4, 6))
    got, wanted = augmented(frames, clip, clip), frames / 255
    wanted[:, :, :, 1:5, 2:8] = wanted.flip(0)[:, :, :, 1:5, 2:8].clone()
    assert torch.equal(got, wanted)
    soft = mix_labels(torch.tensor([0, 1]), stack([clip, clip], has_soft_labels=True), 2)
    assert torch.allclose(soft, torch.tensor([[0.8, 0.2], [0.2, 0.8]]))


def test_colours_and_erasing_come_before_mixing():
    frames = frames_of()
    dark = SampleAugmentation(factors=(0.5, 1.0, 1.0), own_share=0.6)
    hole = SampleAugmentation(erased=Rectangle(0, 0, 5, 5), own_share=0.6)
    got, one, other = augmented(frames, dark, hole), frames[0] / 255 * 0.5, frames[1] / 255
    other[:, :, :5, :5] = 0.45
    assert torch.allclose(got[0], 0.6 * one + 0.4 * other, atol=1e-5)


def test_a_masked_clip_and_its_partner_are_not_mixed():
    mixed = SampleAugmentation(own_share=0.5, hue=0.1)
    stacked = stack([None, mixed, mixed, mixed], has_soft_labels=True)
    assert stacked.own_share_B.tolist() == [1.0, 1.0, 0.5, 0.5]
    assert stacked.hue_B.tolist() == pytest.approx([0.0, 0.1, 0.1, 0.1])
    soft = mix_labels(torch.tensor([-100, 1, 0, 1]), stacked, 2)
    assert soft[1:].tolist() == [[0, 1], [0.5, 0.5], [0.5, 0.5]]


def outcome(batch) -> torch.Tensor:
    return augment_frames(batch.frames_BTCHW, batch.augmentation)


@pytest.mark.parametrize("keys", [{}, {"lookahead": 3, "cache": "1GB"}, {"cache": "1GB"}])
def test_workers_looking_ahead_and_cache_change_no_augmented_pixel(catalog, keys):
    plain = batches(catalog, 6, **ALL)
    others = batches(catalog, 6, 2, **ALL, **keys)
    assert all_same(plain, others)
    for one, other in zip(plain, others, strict=True):
        assert torch.equal(outcome(one), outcome(other))
    assert not torch.equal(outcome(plain[0]), plain[0].frames_BTCHW / 255)


@pytest.mark.parametrize(
    "keys",
    [
        {"sampling": "dense", "clips_per_video": 3},
        {"sampling": "uniform", "stride": None, "clips_per_video": 2},
        {"fps": 10.0, "short": "loop", "weights": "class-balanced"},
        {"frames": 40, "short": "loop"},
        {"frames": 40, "short": "repeat-last", "clips_per_video": 2, "lookahead": 2},
    ],
    ids=lambda keys: " ".join(map(str, keys.values())),
)
def test_every_way_of_sampling_goes_with_augmentation(catalog, keys):
    settings = {**ALL, "crop": "random-resized", **keys}
    plain, others = (batches(catalog, 5, workers, **settings) for workers in (0, 1))
    assert all_same(plain, others)
    unchanged = batches(catalog, 5, **keys)
    for batch, other, same_clip in zip(plain, others, unchanged, strict=True):
        assert torch.equal(batch.frame_indices_BT, same_clip.frame_indices_BT)
        assert torch.equal(outcome(batch), outcome(other))
        assert not torch.equal(batch.frames_BTCHW, same_clip.frames_BTCHW)


def test_views_in_evaluation_are_those_of_a_job_without_augmentation(catalog):
    views = []
    for keys in ({}, {**ALL, "crop": "random-resized"}):
        with open_feed(job_of(0, eval_crops=3, **keys), catalog, split="holdout") as feed:
            views.append(list(feed))
    assert all_same(*views)
    assert all(batch.augmentation is None for batch in views[1])


def test_the_number_of_ranks_changes_no_augmented_pixel(catalog):
    whole = batches(catalog, 4, **ALL)
    for rank in (0, 1):
        rows = slice(2 * rank, 2 * rank + 2)
        with open_feed(job_of(0, **ALL), catalog, rank=rank, world_size=2) as feed:
            for batch, part in zip(whole, take(feed, 4), strict=True):
                assert torch.equal(outcome(part), outcome(batch)[rows])
                soft = mix_labels(part.labels_B, part.augmentation, 4)
                assert torch.equal(soft, mix_labels(batch.labels_B, batch.augmentation, 4)[rows])


def test_pairs_that_ranks_would_part_are_refused(catalog):
    with pytest.raises(UserError, match=r"each rank's batch is 1: batch_size 4 on 4") as caught:
        open_feed(job_of(0, **ALL), catalog, rank=0, world_size=4)
    assert "multiple of 8" in caught.value.hint
    with pytest.raises(UserError, match="start_sample is 3"):
        open_feed(job_of(0, **ALL), catalog, start_sample=3)
    with open_feed(job_of(0, hue=0.1), catalog, rank=0, world_size=4) as feed:
        next(feed)
    with open_feed(job_of(0, batch_size=3, **ALL), catalog, split="holdout") as feed:
        assert next(feed).augmentation is None


def test_the_digest_of_the_samples_covers_the_augmentation(catalog):
    digests = {batches(catalog, 1, **keys)[0].samples_digest for keys in ({}, ALL, {"hue": 0.1})}
    assert len(digests) == 3
    assert batches(catalog, 1)[0].augmentation is None


def test_a_resumed_feed_goes_on_with_the_same_augmentation(catalog):
    plain = batches(catalog, 6, **ALL)
    with open_feed(job_of(1, **ALL), catalog) as feed:
        take(feed, 3)
        state = feed.state_dict()
    with open_feed(job_of(0, **ALL), catalog) as feed:
        feed.load_state_dict(state)
        for one, other in zip(plain[3:], take(feed, 3), strict=True):
            assert torch.equal(outcome(one), outcome(other))
    with (
        open_feed(job_of(0, **{**ALL, "hue": 0.2}), catalog) as feed,
        pytest.raises(UserError, match=r"augment\.hue was 0\.1, is 0\.2"),
    ):
        feed.load_state_dict(state)


def test_substitutes_are_augmented_as_themselves(own_catalog, own_footage):
    damage(own_footage / "cold" / "cold1.mp4")
    keys = {"error_budget": 1.0, "holdout": 0.0, **ALL}
    runs = [batches(own_catalog, 6, workers, **keys) for workers in (0, 2)]
    assert all_same(*runs)
    for one, other in zip(*runs, strict=True):
        assert torch.equal(outcome(one), outcome(other))


def test_a_dataset_that_would_pass_over_augmentation_is_refused(catalog):
    with pytest.raises(UserError, match="asks for colour") as caught:
        ClipDataset(job_of(0, hue=0.1), catalog, num_batches=2)
    assert "open_feed" in caught.value.hint
    ClipDataset(job_of(0, crop="random-resized"), catalog, num_batches=2)
    ClipDataset(job_of(0, hue=0.1), catalog, split="holdout")


def test_a_machine_without_kornia_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "kornia.enhance", None)
    with pytest.raises(UserError, match="colours cannot be changed") as caught:
        augmented(frames_of(), PLAIN, SampleAugmentation(hue=0.1))
    assert "filmgate[augment]" in caught.value.hint
    augmented(frames_of(), replace(PLAIN, own_share=0.5), replace(PLAIN, own_share=0.5))
