"""What a generator is told of each clip: the text, and its embedding.

B clips, P tokens, D their width.
"""

from __future__ import annotations

import csv
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from filmgate.errors import UserError
from filmgate.records import digest_bytes
from filmgate.train.families.backbones import Backbone, Text
from filmgate.train.families.latents import LatentStore
from filmgate.train.families.library import library

DRAWN_TOKENS = 8
"""Tokens of a text without an encoder, where the model does not ask for a number of its own."""
ENCODED_TOKENS = 256


class TextEncoder(ABC):
    """Embeds texts, one at a time; ``digest`` stands for how."""

    digest: str

    @abstractmethod
    def embed(self, text: str) -> dict[str, torch.Tensor]:
        """``tokens`` float (P, D), ``is_token`` bool (P,), and where wanted ``pooled`` (D,)."""


class DrawnText(TextEncoder):
    """Numbers that are drawn from the text: the same text the same numbers, without a meaning.

    What scratch runs do without an encoder: enough to tell a few kinds of clips apart.
    """

    def __init__(self, config: Any, backbone: Backbone) -> None:
        width = getattr(config, backbone.text_width)
        tokens = getattr(config, "max_text_seq_length", None) or DRAWN_TOKENS
        self._shape = (tokens, width)
        self._pooled = getattr(config, backbone.pooled_width) if backbone.pooled_width else None
        self.digest = digest_bytes(f"drawn {self._shape} {self._pooled}".encode())

    def embed(self, text: str) -> dict[str, torch.Tensor]:
        """As above."""
        seed = int(digest_bytes(text.encode()).removeprefix("blake3:")[:15], 16)
        drawn = torch.Generator().manual_seed(seed)
        found = {
            "tokens": torch.randn(self._shape, generator=drawn),
            "is_token": torch.ones(self._shape[0], dtype=torch.bool),
        }
        if self._pooled is not None:
            found["pooled"] = torch.randn(self._pooled, generator=drawn)
        return found


class FolderText(TextEncoder):
    """``text_encoder`` and ``tokenizer`` of a pipeline's folder: its last hidden states.

    As the pipelines of Wan, LTX-Video and CogVideoX do it: padding is zero.
    """

    def __init__(self, folder: Path, tokens: int) -> None:
        transformers = library("transformers")
        told = json.loads((folder / "text_encoder" / "config.json").read_text())
        kind: Any = getattr(transformers, told["architectures"][0])
        self._model = kind.from_pretrained(folder / "text_encoder", local_files_only=True).eval()
        self._tokenizer = transformers.AutoTokenizer.from_pretrained(
            folder / "tokenizer", local_files_only=True
        )
        self._tokens = tokens
        self.digest = digest_bytes(f"{folder.resolve()} {tokens}".encode())

    @torch.no_grad()
    def embed(self, text: str) -> dict[str, torch.Tensor]:
        """As above."""
        told = self._tokenizer(
            text, padding="max_length", max_length=self._tokens, truncation=True,
            return_tensors="pt",
        )  # fmt: skip
        states_PD = self._model(told.input_ids, told.attention_mask).last_hidden_state[0]
        is_token_P = told.attention_mask[0].bool()
        return {"tokens": states_PD * is_token_P[:, None], "is_token": is_token_P}


class Prompter:
    """The texts of clips, embedded once each."""

    def __init__(self, encoder: TextEncoder, store: LatentStore | None) -> None:
        self._encoder = encoder
        self._store = store
        self._kept: dict[str, dict[str, torch.Tensor]] = {}

    def embed(self, texts: Sequence[str], device: torch.device) -> Text:
        """Of each text."""
        found = [self._one(text) for text in texts]
        tokens, is_token = (
            torch.stack([one[name] for one in found]).to(device) for name in ("tokens", "is_token")
        )
        pooled = [one["pooled"] for one in found if "pooled" in one]
        return Text(tokens, is_token, torch.stack(pooled).to(device) if pooled else None)

    def _one(self, text: str) -> dict[str, torch.Tensor]:
        if text not in self._kept:
            key = f"text {self._encoder.digest} {text}"
            found = self._store.get(key) if self._store is not None else None
            if found is None:
                found = self._encoder.embed(text)
                if self._store is not None:
                    self._store.put(key, found)
            self._kept[text] = found
        return self._kept[text]


def read_prompts(path: Path) -> dict[str, str]:
    """Video's path or id -> prompt, of a CSV file. Raises UserError."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = csv.DictReader(file)
            missing = {"video", "prompt"}.difference(rows.fieldnames or [])
            if missing:
                raise UserError(
                    f"{path} has no column {' and '.join(sorted(missing))}",
                    hint="its first line has to name the columns video and prompt",
                )
            return {row["video"]: row["prompt"] for row in rows}
    except OSError as error:
        raise UserError(
            f"{path} cannot be read: {error.strerror}", hint="prompts in [generation] names it"
        ) from None


def prompt_of(
    prompts: dict[str, str] | None, class_name: Callable[[int], str]
) -> Callable[[str, int], str]:
    """What gives the text of a clip, by its video's id and class. Raises UserError for none."""

    def text(video_id: str, label: int) -> str:
        """Of one clip."""
        if prompts is None:
            return class_name(label)
        if video_id not in prompts:
            raise UserError(
                f"there is no prompt for the video {video_id}",
                hint="give every video a line in the file that prompts in [generation] names",
            )
        return prompts[video_id]

    return text
