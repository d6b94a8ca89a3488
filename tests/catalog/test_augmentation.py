from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from filmgate.catalog.augmentation import SampleAugmentation, changes_pixels, draw_augmentation
from filmgate.catalog.make_order import make_order
from filmgate.spec import Augment, Clip, Data, Job
from filmgate.spec.job import About
from tests.catalog.test_rectangle import is_inside

AUGMENTS = st.builds(
    Augment,
    brightness=st.sampled_from([0.0, 0.4, 2.0]),
    contrast=st.sampled_from([0.0, 0.4]),
    saturation=st.sampled_from([0.0, 1.0]),
    hue=st.sampled_from([0.0, 0.1, 0.5]),
    erasing_probability=st.sampled_from([0.0, 0.25, 1.0]),
    mixup_alpha=st.sampled_from([0.0, 0.2, 1.0, 8.0]),
    cutmix_alpha=st.sampled_from([0.0, 1.0]),
    mix_probability=st.sampled_from([0.0, 0.5, 1.0]),
)
CLIPS = st.tuples(st.integers(1, 300), st.integers(1, 300))
NUMBERS = st.integers(0, 10**12)


def order_of(augment: Augment, split: str = "train", seed: int = 0, digest: str = "blake3:0"):
    job = Job(
        job=About(seed=seed),
        clip=Clip(frames=4, stride=2),
        augment=augment,
        data=Data(holdout=0.5),
    )
    num_frames_V = np.full(7, 80, np.int64)
    return make_order(job, split, catalog_digest=digest, num_frames_V=num_frames_V)


@given(AUGMENTS, CLIPS, st.lists(NUMBERS, min_size=1, max_size=6), st.integers(0, 3))
def test_an_augmentation_depends_on_the_sample_alone(augment, clip, numbers, attempt):
    one = order_of(augment)
    forward = [one.augmentation(n, attempt, clip) for n in numbers]
    backward = [order_of(augment).augmentation(n, attempt, clip) for n in reversed(numbers)]
    assert forward == backward[::-1]
    assert all((a is None) == (not changes_pixels(augment)) for a in forward)


@given(AUGMENTS, CLIPS, NUMBERS)
def test_every_number_lies_in_its_range(augment, clip, number):
    drawn = draw_augmentation(augment, b"key", number, 0, clip)
    strengths = (augment.brightness, augment.contrast, augment.saturation)
    for factor, strength in zip(drawn.factors, strengths, strict=True):
        assert max(0, 1 - strength) <= factor <= 1 + strength
    assert -augment.hue <= drawn.hue <= augment.hue
    assert sorted(drawn.jitter_order) == [0, 1, 2, 3]
    assert 0 <= drawn.own_share <= 1
    if drawn.erased is not None:
        assert augment.erasing_probability > 0 and is_inside(drawn.erased, clip)
    if drawn.cut is not None:
        assert augment.cutmix_alpha > 0 and is_inside(drawn.cut, clip)
        box = drawn.cut.height * drawn.cut.width
        assert math.isclose(1 - drawn.own_share, box / (clip[0] * clip[1]))


@given(AUGMENTS, CLIPS, st.integers(0, 10**9), st.integers(0, 2), st.integers(0, 2))
def test_a_pair_is_mixed_alike_whatever_stands_in_for_its_samples(augment, clip, pair, one, other):
    first = draw_augmentation(augment, b"key", 2 * pair, one, clip)
    second = draw_augmentation(augment, b"key", 2 * pair + 1, other, clip)
    assert (first.own_share, first.cut) == (second.own_share, second.cut)


@given(AUGMENTS, NUMBERS)
def test_held_out_clips_are_never_augmented(augment, number):
    held = order_of(augment, "holdout")
    assert held.augmentation(number, 0, (40, 40)) is None
    assert held.digest == order_of(Augment(), "holdout").digest


def test_settings_seed_catalog_and_number_each_give_other_numbers():
    jitter = Augment(brightness=0.4)
    orders = [order_of(jitter), order_of(jitter, seed=1), order_of(jitter, digest="blake3:1")]
    drawn = [order.augmentation(3, 0, (40, 40)).factors for order in orders]
    drawn += [orders[0].augmentation(n, a, (40, 40)).factors for n, a in ((4, 0), (3, 1))]
    assert len(set(drawn)) == 5
    assert orders[0].digest != order_of(Augment(brightness=0.5)).digest
    assert orders[0].digest != order_of(Augment()).digest


def test_augmentation_changes_no_clip():
    plain, augmented = order_of(Augment()), order_of(Augment(hue=0.1, mixup_alpha=0.2))
    for n in range(20):
        one, other = plain.sample(n), augmented.sample(n)
        assert one.video == other.video and one.flip == other.flip
        assert one.frame_indices_T.tolist() == other.frame_indices_T.tolist()


def many(augment: Augment, count: int = 2000) -> list[SampleAugmentation]:
    return [draw_augmentation(augment, b"key", n, 0, (112, 112)) for n in range(count)]


def test_shares_are_those_that_were_asked_for():
    drawn = many(Augment(erasing_probability=0.25, mixup_alpha=0.5, cutmix_alpha=1.0))
    assert 0.22 < np.mean([a.erased is not None for a in drawn]) < 0.28
    assert 0.4 < np.mean([a.cut is not None for a in drawn]) < 0.55
    drawn = many(Augment(mixup_alpha=1.0, mix_probability=0.3))
    assert 0.26 < np.mean([a.own_share < 1 for a in drawn]) < 0.34


@pytest.mark.parametrize("alpha", [0.2, 1.0, 8.0])
def test_mixing_shares_have_the_mean_and_the_variance_of_the_beta_distribution(alpha):
    shares = [a.own_share for a in many(Augment(mixup_alpha=alpha), 8000)[::2]]
    assert abs(np.mean(shares) - 0.5) < 0.03
    assert np.var(shares) == pytest.approx(1 / (4 * (2 * alpha + 1)), rel=0.12)


def test_factors_are_even_and_every_order_of_the_changes_comes():
    drawn = many(Augment(brightness=0.4, contrast=0.4, saturation=0.4, hue=0.2))
    factors = np.array([[*a.factors, a.hue] for a in drawn])
    assert np.allclose(factors.mean(axis=0), [1, 1, 1, 0], atol=0.03)
    assert factors[:, 0].min() < 0.61 and factors[:, 0].max() > 1.39
    assert abs(np.corrcoef(factors.T) - np.eye(4)).max() < 0.1
    assert len({a.jitter_order for a in drawn}) == 24


def test_an_erased_part_has_the_area_that_was_asked_for():
    augment = Augment(erasing_probability=1.0, erasing_scale=(0.1, 0.2), erasing_ratio=(0.5, 2.0))
    drawn = [a.erased for a in many(augment, 300)]
    assert all(box is not None for box in drawn)
    areas = [box.height * box.width / 112**2 for box in drawn]
    assert 0.095 < min(areas) < max(areas) < 0.21
    assert all(0.45 < box.height / box.width < 2.2 for box in drawn)
