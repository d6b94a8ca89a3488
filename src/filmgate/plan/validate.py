"""Predictions of published measurements, and how many of them hold.

A row is predicted from its description alone: its measured floor is never read.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

from filmgate.errors import UserError
from filmgate.plan.memory import estimate_memory, verdict
from filmgate.plan.model import ModelFacts
from filmgate.plan.models import find_model, model_names
from filmgate.plan.request import PlanRequest
from filmgate.records import Record

COLUMNS = ("id", "model", "task", "frames", "height", "width", "batch", "method", "precision",
           "mem_value", "mem_unit")  # fmt: skip
"""Columns that a file of rows has to have; more are read where they are."""
UNITS = {"GiB": 2**30, "GB": 10**9, "MiB": 2**20, "MB": 10**6}
WIDEST = 1.35
"""Highest over lowest figure that still counts."""
WANTED_SHARE = 0.8
"""Share of rows that have to hold."""

Use = Literal["peak", "bound", "out of memory"]


class RowCheck(Record, frozen=True, kw_only=True):
    """One published row and what filmgate says of it."""

    row: str
    """Its id."""
    model: str
    """Model as the row names it."""
    use: Use | None
    """``peak``: the value is a peak; ``bound``: the load was higher than the training peak, so that
    the value bounds it; ``out of memory``: it did not run. None where the row was not predicted."""
    published_bytes: int | None
    """The value, in bytes; for a row out of memory what the card had."""
    half_digit_bytes: int
    """Half of the last published digit: the value may be that much off."""
    reserved_low_bytes: int | None
    """Least that is predicted; None where the row was not predicted."""
    reserved_high_bytes: int | None
    """Most that is predicted."""
    ratio: float | None
    """Published value over the middle of the prediction."""
    verdict: str | None
    """For a row out of memory: what is said of its card."""
    holds: bool
    """Whether the interval holds the value, or the verdict is not ``fits``."""
    reason: str | None
    """Why the row was not predicted; None where it was."""


class Validation(Record, frozen=True):
    """Every row, and the score."""

    rows: tuple[RowCheck, ...]
    """In the order of the file."""
    num_rows: int
    """Rows read."""
    num_held: int
    """Rows whose interval holds the published value, or that are rightly not said to fit."""
    share_held: float
    """The same as a share of all rows, also of those that were not predicted."""
    widest_ratio: float | None
    """Highest over lowest figure of the widest interval; None without one."""
    num_false_fits: int
    """Rows published as out of memory that were said to fit."""
    holds: bool
    """80 % of the rows held, none wider than 1.35, and no false ``fits``."""


def validate_rows(path: Path) -> Validation:
    """Predict every row of a CSV file. Raises UserError where it is no such file."""
    return score([check_row(row) for row in read_rows(path)])


def read_rows(path: Path) -> list[dict[str, str]]:
    """The rows of a file. Raises UserError naming the columns that are missing."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            rows = [{key: value or "" for key, value in row.items() if key} for row in reader]
            found = set(reader.fieldnames or ())
    except UnicodeDecodeError:
        raise UserError(f"{path} is not UTF-8 text", hint="save it as CSV in UTF-8") from None
    missing = [column for column in COLUMNS if column not in found]
    if missing or not rows:
        what = f"has no column {', '.join(missing)}" if missing else "has no rows"
        raise UserError(f"{path} {what}", hint=f"columns that are needed: {', '.join(COLUMNS)}")
    return rows


def score(rows: Iterable[RowCheck]) -> Validation:
    """The rows with their score."""
    rows = tuple(rows)
    widths = [
        row.reserved_high_bytes / row.reserved_low_bytes
        for row in rows
        if row.reserved_high_bytes is not None and row.reserved_low_bytes
    ]
    held = sum(row.holds for row in rows)
    false_fits = sum(row.use == "out of memory" and row.verdict == "fits" for row in rows)
    share = held / len(rows) if rows else 0.0
    widest = max(widths, default=None)
    return Validation(
        rows=rows,
        num_rows=len(rows),
        num_held=held,
        share_held=share,
        widest_ratio=widest,
        num_false_fits=false_fits,
        holds=share >= WANTED_SHARE and not false_fits and (widest is None or widest <= WIDEST),
    )


def check_row(row: Mapping[str, str]) -> RowCheck:
    """One row predicted and compared; what cannot be predicted says why and does not hold."""
    base: dict[str, Any] = {"row": row["id"], "model": row["model"]}
    try:
        value, half_digit, is_oom = _published(row)
        estimate = estimate_memory(request_from_row(row))
    except UserError as error:
        return RowCheck(
            **base, use=None, published_bytes=None, half_digit_bytes=0, reserved_low_bytes=None,
            reserved_high_bytes=None, ratio=None, verdict=None, holds=False, reason=error.message,
        )  # fmt: skip
    low, high = estimate.reserved_low_bytes, estimate.reserved_high_bytes
    if not re.search("reserved|allocated", row.get("mem_metric", "")):
        # Not a counter of the allocator: what a person saw on the card, context included.
        high = min(high + estimate.context_high_bytes, int(WIDEST * low))
    said = verdict(estimate, value) if is_oom else None
    inside = low - half_digit <= value <= high + half_digit
    return RowCheck(
        **base,
        use="out of memory" if is_oom else _use(row),
        published_bytes=value,
        half_digit_bytes=half_digit,
        reserved_low_bytes=low,
        reserved_high_bytes=high,
        ratio=None if is_oom else 2 * value / (low + high),
        verdict=said,
        holds=said != "fits" if is_oom else inside,
        reason=None,
    )


def request_from_row(row: Mapping[str, str]) -> PlanRequest:
    """What a row's own words describe. Raises UserError naming the column that is not clear."""
    facts = _model(row)
    mode = {"lora": "lora", "full": "full", "sft": "full", "generate": "generate"}.get(
        "generate" if row["task"] not in ("train", "") else row["method"].lower()
    )
    if mode is None:
        raise UserError(
            f"row {row['id']}: method {row['method']!r} is not known; allowed: lora, full",
            hint="write one of them",
        )
    shard, offload = _sharding(row)
    gpus = _number(row, "n_gpu", 1)
    rank = row.get("lora_rank", "")
    return PlanRequest(
        model=facts.name,
        mode=mode,  # type: ignore[arg-type]
        lora_rank=int(rank) if rank.isdigit() else 64,
        frames=_number(row, "frames", None),
        height=_number(row, "height", None),
        width=_number(row, "width", None),
        batch=_number(row, "batch", 1),
        precision=_precision(row, mode),  # type: ignore[arg-type]
        optimizer=_optimizer(row),  # type: ignore[arg-type]
        checkpointing="none" if row.get("grad_ckpt", "").lower() in ("none", "no") else "block",
        latents_precomputed=row.get("latents_precomputed", "").lower() != "no",
        resident=_resident(row, mode),  # type: ignore[arg-type]
        offload=offload,  # type: ignore[arg-type]
        gpus=gpus,
        sharding=shard if gpus > 1 or shard.startswith("zero") else "none",  # type: ignore[arg-type]
    )


def _model(row: Mapping[str, str]) -> ModelFacts:
    """The known model that a row means; its size in billions decides between sizes."""
    named = row["model"]
    plain = re.sub(r"[^a-z0-9.]", "", named.lower())
    for known in model_names():
        if re.sub(r"[^a-z0-9.]", "", known) == plain:
            return find_model(known)
    family = [known for known in model_names() if _family(known) and _family(known) in plain]
    size = row.get("params_b", "")
    if family and re.fullmatch(r"[0-9.]+", size):
        close = min(family, key=lambda known: abs(find_model(known).parameters - float(size) * 1e9))
        if abs(find_model(close).parameters / (float(size) * 1e9) - 1) < 0.2:
            return find_model(close)
    return find_model(named)


def _family(known: str) -> str:
    """Letters and version in front of a model's size."""
    return re.sub(r"[^a-z0-9.]", "", re.split(r"-(?=[a-z]*\d)", known)[0])


def _precision(row: Mapping[str, str], mode: str) -> str:
    """Full fine-tuning in 16 bits is autocast over float32 weights unless DeepSpeed holds them."""
    named = row["precision"].lower()
    base = {"bf16": "bf16", "bfloat16": "bf16", "fp16": "fp16", "float16": "fp16", "fp32": "fp32",
            "float32": "fp32", "fp8": "fp8", "float8": "fp8"}.get(named)  # fmt: skip
    if base is None:
        raise UserError(
            f"row {row['id']}: precision {row['precision']!r} is not known; allowed: bf16, fp16, "
            "fp32, fp8", hint="write one of them",
        )  # fmt: skip
    return f"{base}-mixed" if mode == "full" and base in ("bf16", "fp16") else base


def _optimizer(row: Mapping[str, str]) -> str:
    named = row.get("optimizer", "").lower()
    if "8bit" in named:
        return "adamw8bit"
    return "adafactor" if "adafactor" in named else "sgd" if named == "sgd" else "adamw"


def _sharding(row: Mapping[str, str]) -> tuple[str, str]:
    """How GPUs divide the work and what waits in RAM, from the row's words."""
    words = f"{row.get('offload_or_shard', '')} {row.get('optimizer', '')}".lower()
    shard = next((kind for kind in ("zero2", "zero3", "fsdp", "ddp") if kind in words), "none")
    offload = "none"
    if "grad->cpu" in words:
        offload = "optimizer+gradients"
    elif "offload" in words:
        offload = "optimizer+weights" if shard in ("zero3", "fsdp") else "optimizer"
    gpus = _number(row, "n_gpu", 1)
    if shard == "none" and gpus > 1:
        shard = "ddp"
    return ("fsdp2" if shard == "fsdp" else shard), offload


def _resident(row: Mapping[str, str], mode: str) -> str:
    """Trainers that make the latents themselves load the whole pipeline first."""
    if mode == "generate":
        return "stages" if "offload" in row.get("offload_or_shard", "").lower() else "all"
    if row.get("latents_precomputed", "").lower() == "no":
        return "all"
    return "all-then-backbone"


def _number(row: Mapping[str, str], column: str, default: int | None) -> int:
    text = row.get(column, "")
    if not text and default is not None:
        return default
    try:
        number = int(float(text))
    except ValueError:
        number = 0
    if number < 1:
        raise UserError(
            f"row {row['id']}: {column} is {text!r}; allowed: whole numbers from 1",
            hint="fill it in",
        )
    return number


def _published(row: Mapping[str, str]) -> tuple[int, int, bool]:
    """Bytes, half of the last digit in bytes, and whether it ran out of memory."""
    text, unit = row["mem_value"].strip(), row["mem_unit"].strip()
    match = re.fullmatch(r"(?:(OOM)\s*>?\s*)?(\d+(?:\.(\d+))?)", text, re.IGNORECASE)
    if match is None or unit not in UNITS:
        raise UserError(
            f"row {row['id']}: {text!r} {unit!r} is no memory; allowed: a number or OOM>number, "
            f"and {', '.join(UNITS)}", hint="mend the row",
        )  # fmt: skip
    digits = len(match[3]) if match[3] else 0
    scale = UNITS[unit]
    return int(float(match[2]) * scale), int(0.5 * 10**-digits * scale), match[1] is not None


def _use(row: Mapping[str, str]) -> Use:
    return "bound" if row.get("usable_for", "").startswith("floor-only") else "peak"
