"""
Quotas of clients, set as an operator does it.
"""

from __future__ import annotations

import subprocess

from tests.support.cluster import Cluster
from tests.support.process import java_command


def set_quota(cluster: Cluster, client_id: str, kind: str, rate: int) -> None:
    """Limits what clients of this id may do."""
    command = java_command(
        "kafka.admin.ConfigCommand",
        *("--bootstrap-server", cluster.bootstrap, "--alter", "--add-config", f"{kind}={rate}"),
        *("--entity-type", "clients", "--entity-name", client_id),
    )
    subprocess.run(command, check=True, capture_output=True, timeout=120)
