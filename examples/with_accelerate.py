"""The feed in an Accelerate loop: every process opens the feed of its own rank.

python with_accelerate.py FOLDER, or: accelerate launch with_accelerate.py FOLDER
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import torch
from accelerate import Accelerator

from filmgate.catalog import index_videos
from filmgate.feed import open_feed
from filmgate.spec import Clip, Job, Limits, Train


def main(folder: Path) -> None:
    accelerator = Accelerator(cpu=True)
    job = Job(
        clip=Clip(frames=4, stride=2, height=32, width=32),
        train=Train(batch_size=4),
        limits=Limits(workers=1),
    )
    model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(4 * 3 * 32 * 32, 8))
    model, optimizer = accelerator.prepare(model, torch.optim.SGD(model.parameters(), lr=0.01))
    with tempfile.TemporaryDirectory() as catalog_folder:
        catalog = index_videos([folder], Path(catalog_folder), workers=0)
        rank, world_size = accelerator.process_index, accelerator.num_processes
        with open_feed(job, catalog, rank=rank, world_size=world_size) as feed:
            for _ in range(3):
                batch = next(feed)
                frames = batch.frames_BTCHW.to(accelerator.device).float() / 255
                labels = batch.labels_B.to(accelerator.device)
                loss = torch.nn.functional.cross_entropy(model(frames), labels)
                accelerator.backward(loss)
                optimizer.step()
                optimizer.zero_grad()
                accelerator.print(f"loss {loss.item():.3f}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
