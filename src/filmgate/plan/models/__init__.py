"""The known video models by name, each from its published configuration."""

from filmgate.plan.models.table import find_model, model_names

__all__ = ["find_model", "model_names"]
