"""Workers of a group, steered over REST; one is killed, and another one goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from mm2.core.connect.status_table import StatusTable
from mm2.demo.broker_settings import free_ports
from mm2.kafka.logs.read_log import read_to_end
from tests.support.cluster import Cluster
from tests.support.connect import distributed, sample
from tests.support.eventually import eventually
from tests.support.mirror import Mirror
from tests.support.records import Sample, committed, create_topic, produce
from tests.support.rest_client import RestClient
from tests.support.scrapes import Scrape
from tests.support.topics import partition_counts

pytestmark = [pytest.mark.broker, pytest.mark.spark]

_POLICY = "connector.client.config.override.policy"
_REFUSED = (
    ("producer.override.batch.size", "1000", f"not allowed: {_POLICY} is None"),
    ("transforms", "mask", "transforms.mask.type is missing"),
    ("value.converter", "org.apache.kafka.connect.json.JsonConverter", "copied as bytes"),
)
"""Settings that the workers refuse, and what they say."""


@dataclass(frozen=True)
class _Connector:
    """A connector that copies a topic; it and its group are named as that topic."""

    name: str
    source: Cluster
    target: Cluster

    @property
    def config(self) -> Mapping[str, str]:
        return {
            "connector.class": "org.apache.kafka.connect.mirror.MirrorSourceConnector",
            "source.cluster.alias": f"A{self.name[-4:]}",
            "source.cluster.bootstrap.servers": self.source.bootstrap,
            "target.cluster.alias": f"B{self.name[-4:]}",
            "topics": self.name,
            "heartbeats.replication.enabled": "false",
            "replication.factor": "1",
            "offset-syncs.topic.replication.factor": "1",
            "refresh.topics.interval.seconds": "1",
        }

    def write(self, *numbers: int) -> None:
        produce(self.source.bootstrap, self.name, [Sample(value=b"%d" % n) for n in numbers])

    def copied(self) -> list[int]:
        remote = f"A{self.name[-4:]}.{self.name}"
        return [int(record.value or b"") for record in committed(self.target.bootstrap, remote)]

    def said(self) -> dict[str, str]:
        """What the group's status topic says, as Connect's workers would read it."""
        settings = {"bootstrap.servers": self.target.bootstrap}
        table = StatusTable()
        for record in asyncio.run(read_to_end("B", settings, f"{self.name}-status")):
            table.take(record.key, record.value)
        return {str(key).split("-", 2)[2]: each.state.value for key, each in table.statuses.items()}


@dataclass(frozen=True)
class _Worker:
    """A worker of the connector's group."""

    process: Mirror
    rest: RestClient

    @property
    def has_led(self) -> bool:
        """As it says in its log; it is not REST's business which process leads."""
        return "flow.led" in self.process.text()


def _worker(connector: _Connector, folder: Path, port: int, *, overrides: str = "None") -> _Worker:
    text = sample(
        "connect-distributed.properties",
        (connector.source, connector.target),
        {
            "group.id": connector.name,
            "config.storage.topic": f"{connector.name}-configs",
            "offset.storage.topic": f"{connector.name}-offsets",
            "status.storage.topic": f"{connector.name}-status",
            "listeners": f"http://127.0.0.1:{port}",
            "#exactly.once.source.support": "enabled",
        },
    )
    text = text.replace("#exactly", "exactly") + f"\n{_POLICY} = {overrides}\n"
    return _Worker(distributed(folder, text), RestClient(port))


def test_connectors_of_a_killed_worker_go_on_in_another_one(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path
) -> None:
    """Exactly once; what REST is asked at one worker is so at all of them, and stays so."""
    create_topic(cluster_a.bootstrap, unique)
    connector = _Connector(unique, cluster_a, cluster_b)
    connector.write(*range(100))
    first, second = (_worker(connector, tmp_path, port) for port in free_ports(2))
    with first.process, second.process:
        _makes(first.rest, connector)
        _shows(second.rest, connector)
        leader, heir = (first, second) if first.has_led else (second, first)
        assert leader.has_led
        leader.process.kill()
        _goes_on(heir, connector)
        _stops(heir.rest, connector)
        _deletes(heir.rest, connector)
        assert heir.process.stop() == 0
    assert connector.copied() == list(range(200))


def _makes(rest: RestClient, connector: _Connector) -> None:
    eventually(lambda: rest.ask("GET", "/connectors") == [])
    path = f"/connectors/{connector.name}/config"
    for key, value, told in _REFUSED:
        with pytest.raises(AssertionError, match=f"^400: .*{told}"):
            rest.ask("PUT", path, {**connector.config, key: value})
    rest.ask("PUT", path, connector.config)


def _shows(rest: RestClient, connector: _Connector) -> None:
    """A worker that was not asked knows of the connector; it copies, and is said to run."""
    name = connector.name
    eventually(lambda: rest.ask("GET", "/connectors") == [name])
    eventually(connector.copied, until=lambda found: found == list(range(100)))
    eventually(lambda: rest.state(name) == "RUNNING")
    page = eventually(lambda: rest.text("/", "text/html"), until=lambda found: "running" in found)
    assert f'<span class="name">{name}</span>: ' in page
    eventually(lambda: connector.said() == {name: "RUNNING", f"{name}-0": "RUNNING"})


def _goes_on(heir: _Worker, connector: _Connector) -> None:
    connector.write(*range(100, 200))
    eventually(connector.copied, until=lambda found: found == list(range(200)))
    # A task of the killed worker may have copied them, before it saw that it is alone.
    eventually(lambda: heir.has_led)
    eventually(lambda: _counted(heir.rest) == 200)


def _counted(rest: RestClient) -> float:
    """Records that this worker says were copied, by all that ever led the connector."""
    found = Scrape(rest.text("/metrics"))
    return found.value("kafka_connect_mirror_mirrorsourceconnector_record_count")


def _stops(rest: RestClient, connector: _Connector) -> None:
    name = connector.name
    rest.ask("PUT", f"/connectors/{name}/stop")
    eventually(lambda: rest.state(name) == "STOPPED")
    eventually(lambda: connector.said() == {name: "STOPPED"})
    offsets = eventually(lambda: rest.ask("GET", f"/connectors/{name}/offsets")["offsets"])
    assert [each["offset"] for each in offsets] == [{"offset": 199}]


def _deletes(rest: RestClient, connector: _Connector) -> None:
    rest.ask("DELETE", f"/connectors/{connector.name}")
    assert rest.ask("GET", "/connectors") == []
    eventually(lambda: connector.said() == {})


def test_a_connector_copies_into_a_cluster_that_is_not_its_workers(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path
) -> None:
    """The worker keeps its group and topics in the source; positions are where records are."""
    create_topic(cluster_a.bootstrap, unique)
    connector = _Connector(unique, cluster_a, cluster_b)
    connector.write(*range(10))
    elsewhere = {
        "target.cluster.bootstrap.servers": cluster_b.bootstrap,
        "producer.override.bootstrap.servers": cluster_b.bootstrap,
    }
    (port,) = free_ports(1)
    at_source = _Connector(unique, cluster_b, cluster_a)
    with (worker := _worker(at_source, tmp_path, port, overrides="All")).process:
        eventually(lambda: worker.rest.ask("GET", "/connectors") == [])
        config = {**connector.config, **elsewhere}
        worker.rest.ask("PUT", f"/connectors/{unique}/config", config)
        eventually(connector.copied, until=lambda found: found == list(range(10)))
        eventually(lambda: at_source.said() == {unique: "RUNNING", f"{unique}-0": "RUNNING"})
        assert worker.process.stop() == 0
    connector.write(10)
    with (worker := _worker(at_source, tmp_path, port, overrides="All")).process:
        eventually(connector.copied, until=lambda found: found == list(range(11)))
        assert worker.process.stop() == 0
    assert f"A{unique[-4:]}.{unique}" not in partition_counts(cluster_a)
