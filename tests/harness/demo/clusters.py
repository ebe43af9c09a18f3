"""The demo's two clusters, and the configuration that fits their addresses."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from tests.support.cluster import KafkaCluster
from tests.support.layout import HOST, ROOT, free_ports

CONFIG: Final = ROOT / "config" / "mirror-maker.properties"
PORTS: Final[Mapping[str, int]] = {"A": 9092, "B": 9192}
"""Those of the configuration."""


def taken_ports() -> list[int]:
    """The configuration's ports on which somebody listens already."""
    return [port for port in PORTS.values() if _is_taken(port)]


def other_ports() -> dict[str, int]:
    """Free ports to take instead."""
    return dict(zip(PORTS, free_ports(len(PORTS)), strict=True))


def clusters(ports: Mapping[str, int]) -> list[KafkaCluster]:
    """The clusters, not started."""
    return [KafkaCluster(alias, port=port) for alias, port in ports.items()]


def configuration(file: Path, ports: Mapping[str, int], folder: Path) -> Path:
    """The configuration file; a copy with other addresses in ``folder`` if the ports differ."""
    if dict(ports) == dict(PORTS):
        return file
    text = file.read_text()
    for alias, port in ports.items():
        text = text.replace(f"{HOST}:{PORTS[alias]}", f"{HOST}:{port}")
    copy = folder / file.name
    copy.write_text(text)
    return copy


def _is_taken(port: int) -> bool:
    with socket.socket() as candidate:
        # As a broker does: what the last demo's connections left behind is no obstacle.
        candidate.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            candidate.bind((HOST, port))
        except OSError:
            return True
    return False
