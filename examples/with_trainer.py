"""The feed in the Trainer of Hugging Face's transformers.

python with_trainer.py FOLDER
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import torch
from transformers import Trainer, TrainingArguments

from filmgate.catalog import index_videos
from filmgate.feed import ClipDataset
from filmgate.spec import Clip, Job, Limits, Train


class SmallModel(torch.nn.Module):
    """Takes and gives what the Trainer expects."""

    def __init__(self) -> None:
        super().__init__()
        self.head = torch.nn.Linear(4 * 3 * 32 * 32, 8)

    def forward(self, pixel_values: torch.Tensor, labels: torch.Tensor) -> dict[str, torch.Tensor]:
        """uint8 (B, T, C, H, W) in; masked clips have the label that the loss leaves out."""
        logits = self.head(pixel_values.flatten(1).float() / 255)
        return {"loss": torch.nn.functional.cross_entropy(logits, labels), "logits": logits}


class FeedTrainer(Trainer):  # untyped where it is not installed
    """Hands the dataset's batches on as they are."""

    def get_train_dataloader(self) -> torch.utils.data.DataLoader[dict[str, torch.Tensor]]:
        """One row of the dataset is a whole batch."""
        assert isinstance(self.train_dataset, ClipDataset)
        return torch.utils.data.DataLoader(self.train_dataset, batch_size=None)


def main(folder: Path) -> None:
    job = Job(
        clip=Clip(frames=4, stride=2, height=32, width=32),
        train=Train(batch_size=4),
        limits=Limits(workers=1),
    )
    with tempfile.TemporaryDirectory() as work_folder:
        catalog = index_videos([folder], Path(work_folder) / "catalog", workers=0)
        trainer = FeedTrainer(
            model=SmallModel(),
            args=TrainingArguments(
                output_dir=work_folder,
                max_steps=3,
                use_cpu=True,
                report_to=[],
                save_strategy="no",
                logging_steps=1,
                disable_tqdm=True,
            ),
            train_dataset=ClipDataset(job, catalog, num_batches=3),
        )
        print(f"steps {trainer.train().global_step}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
