from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from filmgate.errors import UserError
from filmgate.spec import Job, Limits
from filmgate.train.request import Origin, keys_digest, outcome_keys, refuse_other_job

KEYS = outcome_keys(Job(), "blake3:1")


def test_every_key_that_decides_the_outcome_is_among_the_keys() -> None:
    assert KEYS["clip.frames"] == 8
    assert KEYS["train.learning_rate"] == Job().train.learning_rate
    assert KEYS["catalog"] == "blake3:1"


def test_limits_device_and_commit_interval_may_change_between_attempts() -> None:
    job = Job(
        limits=Limits(workers=3),
        train=replace(Job().train, commit_every_steps=3, keep_commits=5, device="cpu"),
        job=replace(Job().job, name="other"),
    )
    assert outcome_keys(job, "blake3:1") == KEYS
    assert keys_digest(outcome_keys(job, "blake3:1")) == keys_digest(KEYS)


def test_another_job_is_refused_and_every_difference_named() -> None:
    job = Job(train=replace(Job().train, steps=7), clip=replace(Job().clip, height=64))
    with pytest.raises(UserError, match="holds the work of another job") as raised:
        refuse_other_job(KEYS, outcome_keys(job, "blake3:2"), Path("runs/x"))
    for word in ("train.steps", "7 now", "clip.height", "catalog"):
        assert word in raised.value.message
    assert "learning_rate" not in raised.value.message


def test_a_key_that_only_one_side_knows_is_a_difference() -> None:
    with pytest.raises(UserError, match=r"data\.new"):
        refuse_other_job(KEYS, KEYS | {"data.new": 1}, Path("runs/x"))


def test_another_thread_count_is_named() -> None:
    here = Origin(keys=KEYS, device="cpu", train_threads=2, torch_version="2")
    assert here.differences(here) == []
    assert here.differences(replace(here, train_threads=4)) == ["train threads 2 there, 4 here"]
