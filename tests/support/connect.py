"""
Workers of Connect as a user runs them, with the sample files of ``config``.

The samples are for brokers on fixed ports, aliases A and B, and all topics; tests give them the
ports of their clusters and names that no other test uses.
"""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Mapping
from pathlib import Path

from mm2.core.connect.status_table import StatusTable
from mm2.kafka.logs.read_log import read_to_end
from tests.support.cluster import Cluster
from tests.support.mirror import ROOT, Mirror

STANDALONE = Path(sys.executable).with_name("connect-standalone")
DISTRIBUTED = Path(sys.executable).with_name("connect-distributed")
_PORTS = {"127.0.0.1:9092": 0, "127.0.0.1:9192": 1}


def sample(name: str, clusters: tuple[Cluster, Cluster], changes: Mapping[str, str]) -> str:
    """
    A sample file with the addresses of clusters, and other values for some of its keys.

    Fails if the sample does not have a key that is changed.
    """
    text = (ROOT / "config" / name).read_text()
    for written, number in _PORTS.items():
        text = text.replace(written, clusters[number].bootstrap)
    for key, value in changes.items():
        text, found = re.subn(rf"(?m)^{re.escape(key)} = .*$", f"{key} = {value}", text)
        assert found == 1, f"{name} has no {key}"
    return text


def standalone(folder: Path, worker: str, connectors: Mapping[str, str]) -> Mirror:
    """A standalone worker, by the texts of its files."""
    paths = []
    for name, text in connectors.items():
        path = folder / name
        path.write_text(text)
        paths.append(str(path))
    return Mirror(folder, worker, command=lambda file: [str(STANDALONE), str(file), *paths])


def distributed(folder: Path, worker: str) -> Mirror:
    """One worker of a group, by the text of its file."""
    return Mirror(folder, worker, command=lambda file: [str(DISTRIBUTED), str(file)])


def statuses_of(cluster: Cluster, topic: str) -> StatusTable:
    """What a status topic says."""
    servers = {"bootstrap.servers": cluster.bootstrap}
    table = StatusTable()
    for record in asyncio.run(read_to_end(cluster.name, servers, topic, newest_only=True)):
        table.take(record.key, record.value)
    return table
