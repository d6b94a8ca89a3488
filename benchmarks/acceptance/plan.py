"""Memory plans: against published numbers, against measured steps, and what they cost to make."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from typing import Any

from benchmarks.acceptance.check import Outcome, all_hold, check, not_measured
from benchmarks.acceptance.place import ROOT, Place
from benchmarks.acceptance.plan_families import FAMILIES, USES, differences
from benchmarks.acceptance.plan_measured import CASES, measured_bytes, traced_bytes
from filmgate.plan.models import find_model, model_names
from filmgate.plan.validate import RowCheck, validate_rows

TOPIC = "Plan"
ROWS = ROOT.parent / "shared" / "facts" / "vram_calibration.csv"
STATIC_WITHIN = 0.01
TRACE_WITHIN = 0.05
FAMILY_WITHIN = 0.10
FORMULA_SECONDS = 0.3
TRACE_SECONDS, TRACE_BYTES = 15.0, 2 * 2**30
FORMULA = """
import sys, time
began = time.process_time()
from filmgate.plan.memory import estimate_memory
from filmgate.plan.request import PlanRequest
estimate_memory(PlanRequest(model="wan2.1-14b", mode="lora", frames=81, height=480, width=832))
print(time.process_time() - began, "torch" in sys.modules)
"""
TRACED = """
import resource, time
began = time.process_time()
import torch
from torch import nn
from torch.nn import functional
from filmgate.plan.memory.setup import setup_of
from filmgate.plan.request import PlanRequest
from filmgate.train.trace import trace_job

class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.norm, self.heads = nn.LayerNorm(width), heads
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
    def forward(self, x):
        q, k, v = self.qkv(self.norm(x)).unflatten(-1, (3, self.heads, -1)).unbind(2)
        y = functional.scaled_dot_product_attention(*(t.transpose(1, 2) for t in (q, k, v)))
        x = x + self.out(y.transpose(1, 2).flatten(2))
        return x + self.down(functional.gelu(self.up(self.norm(x))))

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.patches = nn.Linear(3 * 16 * 16, 5120)
        self.blocks = nn.ModuleList(Block(5120, 40) for _ in range(45))
    def forward(self, x):
        x = x.unflatten(3, (-1, 16)).unflatten(5, (-1, 16)).transpose(4, 5).flatten(5)
        x = self.patches(x.movedim(2, -2).flatten(-2).flatten(1, 3))
        for block in self.blocks:
            x = block(x)
        return x

wanted = PlanRequest(model="own:model", mode="lora", frames=21, height=480, width=832)
work = trace_job(Model, (1, 21, 3, 480, 832), setup_of(wanted), name="own:model")
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
print(time.process_time() - began, peak, work.peak_bytes, work.peak_by_kind[0] / 2)
"""


@check(
    name="plan-static",
    topic=TOPIC,
    line="Weights of every known model, added up block by block, are the published number.",
    bar="within 1 % for every model",
)
def plan_static(place: Place) -> Outcome:
    misses, errors = [], []
    for name in model_names():
        facts = find_model(name)
        assert facts.parameters_published is not None
        error = facts.parameters / facts.parameters_published - 1
        errors.append(abs(error))
        if abs(error) > STATIC_WITHIN:
            misses.append(f"{name}: {facts.parameters}, {error:+.2%}")
    found = all_hold(misses, of=len(errors), what="models")
    return Outcome(
        figure=f"{found.figure}, {max(errors):.2%} off at most", holds=found.holds,
        details=found.details,
    )  # fmt: skip


@check(
    name="plan-calibration",
    topic=TOPIC,
    line="Published peaks lie in the interval that their row's own description gives.",
    bar="80 % of rows, no interval wider than 1.35x",
)
def plan_calibration(place: Place) -> Outcome:
    if not ROWS.exists():
        return not_measured("no published rows beside the checkout")
    found = validate_rows(ROWS)
    wide = found.widest_ratio or 0.0
    return Outcome(
        figure=f"{found.num_held} of {found.num_rows} rows ({found.share_held:.0%}), widest "
        f"{wide:.2f}x",
        holds=found.holds,
        details=tuple(_line(row) for row in found.rows if not row.holds),
    )


@check(
    name="plan-oom",
    topic=TOPIC,
    line="A job that is published as out of memory is never said to fit.",
    bar="no row",
)
def plan_oom(place: Place) -> Outcome:
    if not ROWS.exists():
        return not_measured("no published rows beside the checkout")
    rows = [row for row in validate_rows(ROWS).rows if row.use == "out of memory"]
    misses = [f"{row.row}: {row.verdict}" for row in rows if row.verdict == "fits"]
    found = all_hold(misses, of=len(rows), what="rows")
    said = sorted({str(row.verdict) for row in rows})
    return Outcome(figure=f"{found.figure}: {', '.join(said)}", holds=found.holds)


@check(
    name="plan-trace",
    topic=TOPIC,
    line="The traced peak of a step is what the CPU allocator counts of the same step.",
    bar="within 5 % for five small models",
)
def plan_trace(place: Place) -> Outcome:
    details, misses = [], []
    for name, case in CASES.items():
        share = traced_bytes(case) / measured_bytes(case) - 1
        line = f"{name}: {share:+.1%}"
        details.append(line)
        if case.counts and abs(share) > TRACE_WITHIN:
            misses.append(line)
    found = all_hold(misses, of=sum(case.counts for case in CASES.values()), what="models")
    return Outcome(figure=found.figure, holds=found.holds, details=tuple(details))


@check(
    name="plan-families",
    topic=TOPIC,
    line="What a step of a known model takes above its weights is what its published code, traced "
    "at the same size, takes.",
    bar="within 10 % for each family, trained, by adapters and generating, with checkpoints too",
)
def plan_families(place: Place) -> Outcome:
    if any(find_spec(name) is None for name in ("diffusers", "transformers")):
        return not_measured("needs diffusers and transformers")
    details, misses = [], []
    for name, family in FAMILIES.items():
        found = list(differences(family))
        line = f"{name}: " + "; ".join(f"{use} {share:+.1%}" for use, share in found)
        details.append(line)
        misses += [
            f"{name}, {use}: {share:+.1%}" for use, share in found if abs(share) > FAMILY_WITHIN
        ]
    found_all = all_hold(misses, of=len(FAMILIES) * len(USES), what="uses of families")
    return Outcome(
        figure=found_all.figure, holds=found_all.holds, details=(*details, *found_all.details)
    )


@check(
    name="plan-speed",
    topic=TOPIC,
    line="A plan for 14 billion weights costs little, by formulas and traced.",
    bar="formulas 0.3 s without torch; traced 15 s and 2 GiB (CPU time)",
)
def plan_speed(place: Place) -> Outcome:
    seconds, torch = min(_printed(FORMULA) for _ in range(3))
    traced, memory, _, weights = _printed(TRACED)
    formula, loaded = float(seconds), torch == "True"
    fits = float(traced) < TRACE_SECONDS and float(memory) < TRACE_BYTES
    return Outcome(
        figure=f"formulas {formula:.2f} s; traced {float(traced):.1f} s, "
        f"{float(memory) / 2**30:.2f} GiB",
        holds=formula < FORMULA_SECONDS and not loaded and fits,
        details=(f"traced model: {float(weights) / 1e9:.1f} billion weights",),
    )


def _printed(code: str) -> list[Any]:
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=600,
        cwd=ROOT,
    )  # fmt: skip
    return done.stdout.split()


def _line(row: RowCheck) -> str:
    if row.reserved_low_bytes is None or row.reserved_high_bytes is None:
        return f"{row.row} {row.model}: {row.reason}"
    low, high = row.reserved_low_bytes / 2**30, row.reserved_high_bytes / 2**30
    return f"{row.row} {row.model}: {low:.1f} to {high:.1f} GiB, published over middle {row.ratio}"
