"""The feed behind a DataLoader."""

from __future__ import annotations

import pytest
import torch
from torch.utils.data import DataLoader

from filmgate.errors import UserError
from filmgate.feed import ClipDataset
from tests.feed.conftest import job_of
from tests.feed.test_feed import batches


@pytest.mark.parametrize(("loader_workers", "feed_workers"), [(0, 0), (0, 1), (1, 1), (2, 0)])
def test_a_data_loader_gives_the_batches_of_the_feed_in_order(
    catalog, loader_workers, feed_workers
):
    plain = batches(catalog, 5)
    dataset = ClipDataset(job_of(feed_workers), catalog, num_batches=5)
    loader = DataLoader(
        dataset,
        batch_size=None,
        num_workers=loader_workers,
        multiprocessing_context="spawn" if loader_workers else None,
    )
    rows = list(loader)
    assert len(rows) == len(dataset) == 5
    for row, batch in zip(rows, plain, strict=True):
        assert torch.equal(row["pixel_values"], batch.frames_BTCHW)
        assert torch.equal(row["labels"], batch.labels_B)


def test_the_held_out_split_ends_for_every_loader_worker(catalog):
    rows = list(
        DataLoader(
            ClipDataset(job_of(0, batch_size=5), catalog, split="holdout"),
            batch_size=None,
            num_workers=2,
            multiprocessing_context="spawn",
        )
    )
    assert [int((row["labels"] >= 0).sum()) for row in rows] == [5, 5, 2]


def test_an_endless_dataset_is_refused(catalog):
    with pytest.raises(UserError, match="never ends"):
        ClipDataset(job_of(0), catalog)
