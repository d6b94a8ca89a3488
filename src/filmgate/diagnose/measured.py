"""Everything the telemetry tells, gathered once for the rules that judge it."""

from __future__ import annotations

from dataclasses import dataclass

from filmgate.diagnose.budget import accelerator_utilisation, budget, training_shares
from filmgate.diagnose.history import History
from filmgate.diagnose.rates import rates, stages
from filmgate.diagnose.verdict import Part, Rates, Stage
from filmgate.records.telemetry import Start


@dataclass(frozen=True, kw_only=True)
class Measured:
    """The numbers of one run; built by ``measure``."""

    history: History
    budget: list[Part]
    shares: dict[str, float]
    """Part -> share of training time (steps and saves); all 0 when no step counts."""
    rates: Rates
    stages: list[Stage]

    @property
    def num_steps(self) -> int:
        """Counted steps."""
        return len(self.history.steps)

    @property
    def start(self) -> Start | None:
        """Of the newest attempt."""
        return self.history.start

    @property
    def utilisation(self) -> float | None:
        """AU; None when no step counts."""
        return accelerator_utilisation(self.shares) if self.num_steps else None

    @property
    def step_seconds(self) -> float:
        """Mean step time with its share of saves."""
        training = sum(part.total_seconds for part in self.budget if part.name != "evaluation")
        return training / self.num_steps if self.num_steps else 0.0

    @property
    def data_wait_seconds(self) -> float:
        """Mean data wait of a step."""
        return self.shares["data_wait"] * self.step_seconds

    @property
    def is_contended(self) -> bool:
        """Whether trainer and workers want more cores than there are; False where unknown."""
        wanted, cores = self.rates.cores_wanted, self.rates.cores
        return wanted is not None and cores is not None and wanted > cores

    @property
    def free_cores(self) -> float | None:
        """Cores that neither trainer nor workers keep busy; None where unknown."""
        wanted, cores = self.rates.cores_wanted, self.rates.cores
        return None if wanted is None or cores is None else max(0.0, cores - wanted)

    def stage_share(self, *names: str) -> float:
        """Share of worker seconds in the named stages together."""
        return sum(stage.share for stage in self.stages if stage.name in names)


def measure(history: History) -> Measured:
    """Do all the arithmetic once."""
    return Measured(
        history=history,
        budget=budget(history),
        shares=training_shares(history.steps, history.saves),
        rates=rates(history),
        stages=stages(history.feed),
    )
