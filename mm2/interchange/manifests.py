"""Fills the templates of images, manifests and units."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from mm2.interchange.deployment import Deployment
from mm2.interchange.fill_template import filled
from mm2.metrics.shipped import ALERTS, DASHBOARD, shipped

_CONFIGURATION: Final = ("mm2.properties", "deployed.properties.j2")
_TEMPLATES: Final[Mapping[str, Mapping[str, str]]] = {
    "docker": {"Dockerfile": "Dockerfile.j2"},
    "compose": dict([("compose.yaml", "compose.yaml.j2"), _CONFIGURATION]),
    "kubernetes": {"kubernetes.yaml": "kubernetes.yaml.j2"},
    "systemd": dict([("mm2.service", "mm2.service.j2"), _CONFIGURATION]),
}
"""Templates by the names of the files that each kind consists of."""

SHIPPED: Final[Mapping[str, str]] = {"prometheus": ALERTS, "grafana": DASHBOARD}
"""Files of kinds that are the same for each mirror."""

_SCRAPE: Final = "prometheus-scrape.yml"


def manifests(kind: str, deployment: Deployment) -> dict[str, str]:
    """The texts of a kind's files, by their names."""
    if kind in SHIPPED:
        has_job = kind == "prometheus" and deployment.scrape is not None
        job = {_SCRAPE: filled(f"{_SCRAPE}.j2", mirror=deployment)} if has_job else {}
        return {SHIPPED[kind]: shipped(SHIPPED[kind]), **job}
    files = _TEMPLATES[kind].items()
    return {name: filled(template, mirror=deployment) for name, template in files}
