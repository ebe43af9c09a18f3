"""A Connect client that others have written shows and steers a flow, and a worker's connector."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from operator import lt
from pathlib import Path

import pytest

from mm2.core.connect.status_records import RunState
from mm2.demo.broker_settings import free_ports
from tests.reference.connect_client import ConnectClient, connect_client
from tests.support.cluster import Cluster
from tests.support.connect import distributed, sample, statuses_of
from tests.support.eventually import eventually
from tests.support.mirror import Mirror, properties
from tests.support.raw import log_of, records_in
from tests.support.records import Sample, create_topic, produce
from tests.support.rest_client import RestClient

pytestmark = [
    pytest.mark.broker,
    pytest.mark.reference,
    pytest.mark.spark,
    pytest.mark.timeout(240),
]

CLASS = "org.apache.kafka.connect.mirror.MirrorSourceConnector"


def test_it_shows_and_steers_a_flow_of_a_dedicated_node(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path
) -> None:
    source = f"S{unique[-8:]}"
    create_topic(cluster_a.bootstrap, unique)
    produce(cluster_a.bootstrap, unique, [Sample(value=b"1"), Sample(value=b"2")])
    settings = {
        f"{source}->T.enabled": "true",
        f"{source}->T.topics": unique,
        f"T->{source}.emit.heartbeats.enabled": "false",
        "heartbeats.replication.enabled": "false",
        "listeners": "http://127.0.0.1:0",
        "rest.read.only": "false",
    }
    text = properties({source: cluster_a.bootstrap, "T": cluster_b.bootstrap}, settings)
    name = f"{source}->T.MirrorSourceConnector"
    with Mirror(tmp_path, text) as mirror:
        url = eventually(lambda: _url(mirror))
        with connect_client(url) as client:
            eventually(lambda: client.is_in(name, "RUNNING", 1))
            _shows(client, name, remote=f"{source}.{unique}")
            _steers(client, name, lambda: mirror.text().count('"bundle.restarted"'))
            with pytest.raises(AssertionError, match=r"InvalidRequestException: .*take the flow"):
                client.ask("delete", name)
            with pytest.raises(AssertionError, match="ResourceNotFoundException"):
                client.ask("connector", "nobody")
        assert mirror.stop() == 0
    said = statuses_of(cluster_b, f"mm2-status.{source}.internal")
    assert {each.state for each in said.statuses.values()} == {RunState.UNASSIGNED}
    copies = records_in(log_of(cluster_b.bootstrap, f"{source}.{unique}"))
    assert [record.value for record in copies] == [b"1", b"2"]


def test_it_makes_moves_and_deletes_a_connector_of_a_worker(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path
) -> None:
    """The client knows no offsets: these are asked for as kafbat UI does."""
    create_topic(cluster_a.bootstrap, unique)
    produce(cluster_a.bootstrap, unique, [Sample(value=b"1"), Sample(value=b"2")])
    source, (port,) = f"S{unique[-8:]}", free_ports(1)
    config = {
        "connector.class": CLASS,
        "source.cluster.alias": source,
        "source.cluster.bootstrap.servers": cluster_a.bootstrap,
        "target.cluster.alias": "T",
        "topics": unique,
        # Others that use the source leave heartbeats there, which had positions, too.
        "heartbeats.replication.enabled": "false",
        "replication.factor": "1",
        "offset-syncs.topic.replication.factor": "1",
    }
    worker = distributed(tmp_path, _worker(unique, (cluster_a, cluster_b), port))
    remote = f"{source}.{unique}"

    def copied() -> list[bytes | None]:
        return [record.value for record in records_in(log_of(cluster_b.bootstrap, remote))]

    url = f"http://127.0.0.1:{port}"
    with worker, connect_client(url) as client:
        made = eventually(lambda: client.ask("add", unique, config))
        assert made["config"] == {**config, "name": unique}
        eventually(lambda: client.is_in(unique, "RUNNING", 1))
        eventually(copied, until=lambda found: found == [b"1", b"2"])
        _shows(client, unique, remote=remote)
        _steers(client, unique, lambda: worker.text().count('"connector.started"'))
        rest, path = RestClient(port), f"/connectors/{unique}/offsets"
        where = {"cluster": source, "partition": 0, "topic": unique}
        asked = {"offsets": [{"partition": where, "offset": {"offset": 0}}]}
        # Its tasks may end a little later than it is shown as stopped.
        eventually(lambda: rest.ask("PATCH", path, asked))
        assert rest.ask("GET", path) == asked
        client.ask("resume", unique)
        eventually(copied, until=lambda found: found == [b"1", b"2", b"2"])
        client.ask("delete", unique)
        eventually(lambda: client.ask("connectors"), until=lambda left: left == [])
        assert worker.stop() == 0


def _shows(client: ConnectClient, name: str, *, remote: str) -> None:
    assert client.ask("version")["version"] == "4.3.0"
    assert name in client.ask("connectors")
    assert name in {each["name"] for each in client.ask("statuses")}
    assert name in {each["name"] for each in client.ask("definitions")}
    client.ask("all")
    assert client.ask("connector", name)["config"] == client.ask("config", name)
    (task,) = client.ask("tasks", name)
    assert task["id"] == {"connector": name, "task": 0}
    assert client.ask("task", name, 0)["state"] == "RUNNING"
    assert remote in json.dumps(eventually(lambda: client.ask("topics", name)))
    assert CLASS in {each["className"] for each in client.ask("plugins")}


def _steers(client: ConnectClient, name: str, begun: Callable[[], int]) -> None:
    """
    Ends with a connector that is stopped.

    Args:
        client: the client.
        name: the connector.
        begun: how often it was seen to begin anew.
    """
    config = client.ask("config", name)
    limited = {**config, "flow.byte.rate.limit": "1000000"}
    assert client.ask("validate", "MirrorSourceConnector", limited)["errorCount"] == 0
    wrong = {**config, "tasks.max": "many"}
    assert client.ask("validate", "MirrorSourceConnector", wrong)["errorCount"] == 1
    assert client.ask("update", name, limited)["config"] == limited
    assert client.ask("update", name, config)["config"] == config
    client.ask("pause", name)
    eventually(lambda: client.state(name), until=lambda state: state == "PAUSED")
    client.ask("resume", name)
    eventually(lambda: client.is_in(name, "RUNNING", 1))
    for restart in (["restart", name], ["restart-task", name, 0]):
        before = begun()
        # A new leader has no tasks before it has divided the partitions.
        eventually(partial(client.ask, *restart), until=lambda _: True)
        eventually(begun, until=partial(lt, before))
        eventually(lambda: client.is_in(name, "RUNNING", 1))
    client.ask("stop", name)
    eventually(lambda: client.is_in(name, "STOPPED", 0))


def _url(mirror: Mirror) -> str:
    (line,) = [each for each in mirror.text().splitlines() if "rest.listening" in each]
    return str(json.loads(line)["advertised"])


def _worker(unique: str, clusters: tuple[Cluster, Cluster], port: int) -> str:
    return sample(
        "connect-distributed.properties",
        clusters,
        {
            "group.id": unique,
            "config.storage.topic": f"{unique}-configs",
            "offset.storage.topic": f"{unique}-offsets",
            "status.storage.topic": f"{unique}-status",
            "listeners": f"http://127.0.0.1:{port}",
        },
    )
