"""A training loop of one's own around a DataLoader.

python data_loader.py FOLDER
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import torch
from torch.utils.data import DataLoader

from filmgate.catalog import index_videos
from filmgate.feed import ClipDataset
from filmgate.spec import Clip, Job, Limits, Train


def main(folder: Path) -> None:
    job = Job(
        clip=Clip(frames=4, stride=2, height=32, width=32),
        train=Train(batch_size=4),
        limits=Limits(workers=1),
    )
    model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.LazyLinear(8))
    with tempfile.TemporaryDirectory() as catalog_folder:
        catalog = index_videos([folder], Path(catalog_folder), workers=0)
        dataset = ClipDataset(job, catalog, num_batches=3)
        for row in DataLoader(dataset, batch_size=None):
            logits = model(row["pixel_values"].float() / 255)
            loss = torch.nn.functional.cross_entropy(logits, row["labels"])
            torch.autograd.backward(loss)
            print(f"loss {loss.item():.3f}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
