"""Workers of a group, steered over REST; one is killed, and another one goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

import pytest

from mm2.core.status_table import StatusTable
from mm2.kafka.log import read_to_end
from tests.support.cluster import Cluster
from tests.support.connect import distributed, sample
from tests.support.eventually import eventually
from tests.support.layout import free_ports
from tests.support.records import Sample, committed, create_topic, produce
from tests.support.rest_client import RestClient

pytestmark = [pytest.mark.broker, pytest.mark.spark]


def _numbers(first: int, count: int) -> list[Sample]:
    return [Sample(value=b"%d" % n) for n in range(first, first + count)]


def _source(unique: str, source: Cluster) -> Mapping[str, str]:
    return {
        "connector.class": "org.apache.kafka.connect.mirror.MirrorSourceConnector",
        "source.cluster.alias": f"A{unique[-4:]}",
        "source.cluster.bootstrap.servers": source.bootstrap,
        "target.cluster.alias": f"B{unique[-4:]}",
        "topics": unique,
        "heartbeats.replication.enabled": "false",
        "replication.factor": "1",
        "offset-syncs.topic.replication.factor": "1",
        "refresh.topics.interval.seconds": "1",
    }


def test_connectors_of_a_killed_worker_go_on_in_another_one(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path
) -> None:
    """Exactly once; what REST is asked at one worker is so at all of them, and stays so."""
    create_topic(cluster_a.bootstrap, unique)
    produce(cluster_a.bootstrap, unique, _numbers(0, 100))
    remote = f"A{unique[-4:]}.{unique}"

    def copied() -> list[bytes | None]:
        return [record.value for record in committed(cluster_b.bootstrap, remote)]

    def values(count: int) -> list[bytes]:
        return [b"%d" % n for n in range(count)]

    def said() -> dict[str, str]:
        """What the group's status topic says, as Connect's workers would read it."""
        settings = {"bootstrap.servers": cluster_b.bootstrap}
        table = StatusTable()
        for record in asyncio.run(read_to_end("B", settings, f"{unique}-status")):
            table.take(record.key, record.value)
        return {str(key).split("-", 2)[2]: each.state.value for key, each in table.statuses.items()}

    ports = free_ports(2)
    workers = {}
    for port in ports:
        text = sample(
            "connect-distributed.properties",
            (cluster_a, cluster_b),
            {
                "group.id": unique,
                "config.storage.topic": f"{unique}-configs",
                "offset.storage.topic": f"{unique}-offsets",
                "status.storage.topic": f"{unique}-status",
                "listeners": f"http://127.0.0.1:{port}",
                "#exactly.once.source.support": "enabled",
            },
        )
        workers[port] = distributed(tmp_path, text.replace("#exactly", "exactly"))
    with workers[ports[0]], workers[ports[1]]:
        first, second = map(RestClient, ports)
        eventually(lambda: first.ask("GET", "/connectors") == [])
        first.ask("PUT", f"/connectors/{unique}/config", _source(unique, cluster_a))
        eventually(lambda: second.ask("GET", "/connectors") == [unique])
        eventually(copied, until=lambda found: found == values(100))
        eventually(lambda: second.state(unique) == "RUNNING")
        eventually(lambda: said() == {unique: "RUNNING", f"{unique}-0": "RUNNING"})
        # Whoever leads it says so in its log; it is not REST's business which process that is.
        leader = next(port for port, each in workers.items() if "flow.led" in each.text())
        workers[leader].kill()
        produce(cluster_a.bootstrap, unique, _numbers(100, 100))
        (heir,) = (port for port in ports if port != leader)
        other = RestClient(heir)
        eventually(copied, until=lambda found: found == values(200))
        # A task of the killed worker may have copied them, before it saw that it is alone.
        eventually(lambda: "flow.led" in workers[heir].text())
        other.ask("PUT", f"/connectors/{unique}/stop")
        eventually(lambda: other.state(unique) == "STOPPED")
        eventually(lambda: said() == {unique: "STOPPED"})
        offsets = eventually(lambda: other.ask("GET", f"/connectors/{unique}/offsets")["offsets"])
        assert [each["offset"] for each in offsets] == [{"offset": 199}]
        other.ask("DELETE", f"/connectors/{unique}")
        assert other.ask("GET", "/connectors") == []
        assert said() == {}
        assert workers[next(p for p in ports if p != leader)].stop() == 0
    assert copied() == values(200)
