"""Settings of the clients of a connector (C071-C080, C102-C104, 1.5)."""

from __future__ import annotations

import pytest

from mm2.config.clients import Side, client_properties
from mm2.config.connector_reading import Parsed, parse_connector, read_checkpoint, read_source
from mm2.config.keys.definition import Definition
from mm2.config.keys.keys_clients import ClientKind
from mm2.core.model import ClusterAlias, SourceAndTarget

_BASE = {
    "name": "ConnectorName",
    "connector.class": "x.Y",
    "source.cluster.alias": "source1",
    "target.cluster.alias": "target2",
}
_FLOW = SourceAndTarget(ClusterAlias("source1"), ClusterAlias("target2"))


def test_a_source_consumer_is_exactly_what_java_s_test_expects() -> None:
    """C072, C075."""
    properties = {
        **_BASE,
        "consumer.max.poll.interval.ms": "120000",
        "source.cluster.bootstrap.servers": "localhost:2345",
        "security.protocol": "SSL",
    }
    assert client_properties(properties, "source", "consumer", "test") == {
        "enable.auto.commit": "false",
        "auto.offset.reset": "earliest",
        "max.poll.interval.ms": "120000",
        "client.id": "source1->target2|ConnectorName|test",
        "bootstrap.servers": "localhost:2345",
    }


@pytest.mark.parametrize("prefix", ["consumer.", "source.consumer."])
def test_the_start_of_consumers_can_be_chosen_but_not_their_commits(prefix: str) -> None:
    """C073-C075."""
    properties = {
        **_BASE,
        f"{prefix}auto.offset.reset": "latest",
        f"{prefix}enable.auto.commit": "true",
    }
    consumer = client_properties(properties, "source", "consumer", "test")
    assert consumer["auto.offset.reset"] == "latest"
    assert consumer["enable.auto.commit"] == "false"


@pytest.mark.parametrize(
    ("side", "kind", "prefix"),
    [
        ("source", "producer", "producer."),
        ("source", "producer", "source.producer."),
        ("source", "admin", "source.admin."),
        ("target", "admin", "admin."),
        ("target", "admin", "target.admin."),
    ],
)
def test_other_clients_get_what_is_given_for_them(
    side: Side, kind: ClientKind, prefix: str
) -> None:
    """C076-C078."""
    properties = {**_BASE, f"{prefix}some": "1", "consumer.other": "2"}
    assert client_properties(properties, side, kind, "test") == {
        "some": "1",
        "client.id": "source1->target2|ConnectorName|test",
    }


def test_the_side_s_own_keys_win() -> None:
    """C057, C071."""
    properties = {**_BASE, "producer.acks": "1", "target.producer.acks": "0"}
    assert client_properties(properties, "target", "producer", None)["acks"] == "0"
    assert client_properties(properties, "source", "producer", None)["acks"] == "1"


def test_client_ids_name_user_flow_connector_task_and_role() -> None:
    """C079 and 1.5."""
    properties = {**_BASE, "admin.client.id": "mine"}
    admin = client_properties(properties, "target", "admin", None)
    assert admin["client.id"] == "mine|source1->target2|ConnectorName"
    admin = client_properties(properties, "target", "admin", "role", task=4)
    assert admin["client.id"] == "mine|source1->target2|ConnectorName-4|role"


@pytest.mark.parametrize("location", ["source", "target"])
def test_offset_syncs_are_kept_where_the_user_says(location: str) -> None:
    """C101-C104."""
    properties = {
        **_BASE,
        "offset-syncs.topic.location": location,
        "source.cluster.bootstrap.servers": "source:1",
        "target.cluster.bootstrap.servers": "target:1",
    }
    source = read_source(_FLOW, _parsed(Definition.SOURCE, properties))
    checkpoint = read_checkpoint(_FLOW, _parsed(Definition.CHECKPOINT, properties))
    clients = {
        "producer": source.offset_syncs_producer(0),
        "admin": source.offset_syncs_admin(),
        "consumer": checkpoint.offset_syncs_consumer(1),
    }
    for kind, client in clients.items():
        assert client["bootstrap.servers"] == f"{location}:1"
        assert client["client.id"].endswith(f"|offset-syncs-{location}-{kind}")


def test_every_kind_of_client_is_offered_for_both_sides() -> None:
    properties = {
        **_BASE,
        "source.cluster.bootstrap.servers": "source:1",
        "target.cluster.bootstrap.servers": "target:1",
    }
    source = read_source(_FLOW, _parsed(Definition.SOURCE, properties))
    of_source = (source.source_consumer("r"), source.source_producer("r"), source.source_admin("r"))
    of_target = (source.target_consumer("r"), source.target_producer("r"), source.target_admin("r"))
    assert {client["bootstrap.servers"] for client in of_source} == {"source:1"}
    assert {client["bootstrap.servers"] for client in of_target} == {"target:1"}


def _parsed(definition: Definition, properties: dict[str, str]) -> Parsed:
    values, mistakes = parse_connector(definition, properties)
    assert not mistakes
    return Parsed(values=values, properties=properties)
