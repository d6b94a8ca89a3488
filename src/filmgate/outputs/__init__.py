"""A run's numbers for others: TensorBoard files, an MLflow server, a Prometheus endpoint.

A process of its own follows the run's telemetry, which is the spool, and hands it on; nothing that
happens to it reaches training. ``filmgate.outputs.start.start_sender`` begins one.
"""

from filmgate.outputs.record import OutputsRecord, OutputState

__all__ = ["OutputState", "OutputsRecord"]
