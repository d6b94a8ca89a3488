"""An MLflow server, by MLflow's own client.

A request whose answer is lost may have been done: the next one first asks the server what it has,
so that every number arrives once.
"""

from __future__ import annotations

from collections.abc import Sequence

import requests
from mlflow.entities import Metric
from mlflow.exceptions import MlflowException
from mlflow.tracking import MlflowClient

from filmgate.outputs.points import Point
from filmgate.outputs.sink import OutputFault

MOST_METRICS = 1000
"""That MLflow takes in one request."""
RUN_TAG = "filmgate.run"
FAULTS = (MlflowException, requests.RequestException, OSError)


class MlflowSink:
    """One run of an experiment."""

    def __init__(
        self, uri: str, experiment: str, name: str, tag: str, run_id: str | None = None
    ) -> None:
        self._uri = uri
        self._experiment = experiment
        self._name = name
        self._tag = tag
        self._client: MlflowClient | None = None
        self.run_id = run_id

    def open(self) -> None:
        """Find the run by its tag, or make it."""
        try:
            self._client = MlflowClient(tracking_uri=self._uri)
            if self.run_id is None:
                self.run_id = self._find_run(self._client)
        except FAULTS as error:
            raise _fault(error) from None

    def put(self, points: Sequence[Point], *, is_unsure: bool) -> None:
        """Log them; those that are there already are left out where that is not sure."""
        client, run_id = self._ready()
        try:
            known = self._known(points) if is_unsure else set()
            metrics = [_metric(one) for one in points]
            new = [one for one in metrics if (one.key, one.step, one.timestamp) not in known]
            for start in range(0, len(new), MOST_METRICS):
                client.log_batch(run_id, metrics=new[start : start + MOST_METRICS])
        except FAULTS as error:
            raise _fault(error) from None

    def finish(self) -> None:
        """Mark the run as finished."""
        client, run_id = self._ready()
        try:
            client.set_terminated(run_id, "FINISHED")
        except FAULTS as error:
            raise _fault(error) from None

    def close(self) -> None:
        """Nothing is held."""

    def _find_run(self, client: MlflowClient) -> str:
        found = client.get_experiment_by_name(self._experiment)
        experiment = found.experiment_id if found else client.create_experiment(self._experiment)
        runs = client.search_runs([experiment], f"tags.`{RUN_TAG}` = '{self._tag}'")
        if runs:
            return str(runs[0].info.run_id)
        made = client.create_run(experiment, tags={RUN_TAG: self._tag}, run_name=self._name)
        return str(made.info.run_id)

    def _known(self, points: Sequence[Point]) -> set[tuple[str, int, int]]:
        client, run_id = self._ready()
        return {
            (metric.key, metric.step, metric.timestamp)
            for key in {point.key for point in points}
            for metric in client.get_metric_history(run_id, key)
        }

    def _ready(self) -> tuple[MlflowClient, str]:
        assert self._client is not None and self.run_id is not None, "open() comes first"
        return self._client, self.run_id


def _metric(point: Point) -> Metric:
    return Metric(point.key, point.value, int(point.unix_seconds * 1000), point.step)


def _fault(error: Exception) -> OutputFault:
    return OutputFault(str(error).split("\n", maxsplit=1)[0][:300] or type(error).__name__)
