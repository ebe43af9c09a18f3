"""Files for operators: a dashboard for Grafana and alert rules for Prometheus."""

from __future__ import annotations

from importlib.resources import files
from typing import Final

DASHBOARD: Final = "grafana-dashboard.json"
ALERTS: Final = "prometheus-rules.yml"


def shipped(name: str) -> str:
    """The text of a file: ``DASHBOARD`` or ``ALERTS``."""
    return files(__package__ or "").joinpath(name).read_text(encoding="utf-8")
