"""What the configurations of a worker and a connector make of the connector's flow."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from mm2.config.flow_config import data_producer, flow_config
from mm2.config.mirror_maker_config import MirrorMakerConfig
from mm2.connect.checkpoint_sink_connector import file_of
from mm2.connect.connector import Connector, read_connector
from mm2.connect.worker_config import WorkerConfig
from mm2.core.policy import build_policy
from mm2.errors import ConfigErrors
from mm2.herder.bundles.make_bundle_spec import bundle_spec
from mm2.herder.bundles.task_fencing import transactional_id
from mm2.herder.topics.internal_topics import internal_topics

_SAMPLES = Path(__file__).resolve().parents[3] / "config"
_JSON = "org.apache.kafka.connect.json.JsonConverter"
_WORKER = {
    "bootstrap.servers": "w:1",
    "group.id": "g",
    "config.storage.topic": "configs",
    "offset.storage.topic": "offsets",
    "status.storage.topic": "states",
}
_ENVIRONMENT = "org.apache.kafka.common.config.provider.EnvVarConfigProvider"
_SOURCE = {
    "name": "m",
    "connector.class": "MirrorSourceConnector",
    "source.cluster.alias": "A",
    "target.cluster.alias": "B",
    "source.cluster.bootstrap.servers": "a:1",
}
_SINK = {
    "name": "m",
    "connector.class": "org.apache.kafka.connect.mirror.MirrorSinkConnector",
    "source.cluster.alias": "A",
    "target.cluster.alias": "B",
    "target.cluster.bootstrap.servers": "b:1",
}


def _connector(
    config: Mapping[str, str], *, worker: Mapping[str, str] | None = None, **more: str
) -> Connector:
    written = {**config, **{key.replace("_", "."): value for key, value in more.items()}}
    return read_connector(
        written, WorkerConfig(raw={**_WORKER, **(worker or {})}, is_distributed=True)
    )


def test_topics_of_the_worker_are_kept_from_the_connector_s_transforms() -> None:
    own = bundle_spec(_connector(_SOURCE).flow, 0, 1, "syncs").own_topics
    assert {"configs", "offsets", "states"} <= own.names


def _servers(connector: Connector) -> dict[str, str | None]:
    """Where the clients of a connector connect to."""
    flow = connector.flow
    clients = {
        "records in": flow.source.source_consumer("c"),
        "records out": data_producer(flow, 0).properties,
        "source admin": flow.source.source_admin("a"),
        "target admin": flow.source.target_admin("a"),
        "own topics": flow.herder.client("consumer", "control"),
    }
    return {name: client.get("bootstrap.servers") for name, client in clients.items()}


def _topics(connector: Connector) -> dict[str, int]:
    topics = internal_topics(connector.flow, build_policy(connector.flow.source.properties))
    return {topic.name: topic.replication_factor for topic in topics}


def test_a_source_connector_copies_into_the_cluster_of_its_worker() -> None:
    assert _servers(_connector(_SOURCE)) == {
        "records in": "a:1",
        "records out": "w:1",
        "source admin": "a:1",
        "target admin": "w:1",
        "own topics": "w:1",
    }


@pytest.mark.parametrize(
    "key", ["target.cluster.bootstrap.servers", "producer.override.bootstrap.servers"]
)
def test_a_source_connector_copies_wherever_it_says(key: str) -> None:
    connector = _connector({**_SOURCE, key: "b:1"})
    assert _servers(connector) == {
        "records in": "a:1",
        "records out": "b:1",
        "source admin": "a:1",
        "target admin": "b:1",
        "own topics": "b:1",
    }


def test_a_sink_connector_copies_out_of_the_cluster_of_its_worker() -> None:
    assert _servers(_connector(_SINK)) == {
        "records in": "w:1",
        "records out": "b:1",
        "source admin": "w:1",
        "target admin": "b:1",
        "own topics": "b:1",
    }


def test_the_worker_s_secrets_go_to_its_own_cluster_only() -> None:
    secret = {
        "sasl.jaas.config": "secret",
        "security.protocol": "SASL_SSL",
        "producer.sasl.jaas.config": "secret",
        "producer.batch.size": "1000",
    }
    near = _connector(_SOURCE, worker=secret).flow
    assert near.herder.client("producer", "x")["sasl.jaas.config"] == "secret"
    assert near.source.target_admin("x")["security.protocol"] == "SASL_SSL"
    assert "sasl.jaas.config" not in near.source.source_admin("x")
    far = _connector({**_SOURCE, "target.cluster.bootstrap.servers": "b:1"}, worker=secret).flow
    out = data_producer(far, 0).properties
    assert (out.get("sasl.jaas.config"), out["batch.size"]) == (None, "1000")
    assert "security.protocol" not in far.herder.client("producer", "x")
    assert "security.protocol" not in far.source.target_admin("x")


def test_consumers_of_a_sink_follow_the_worker_s_keys_and_the_overrides() -> None:
    worker = {"consumer.fetch.max.bytes": "1000", "consumer.fetch.min.bytes": "7"}
    override = {"consumer.override.fetch.max.bytes": "2000"}
    data = _connector({**_SINK, **override}, worker=worker).flow.data
    assert (data.fetch_max_bytes, data.fetch_min_bytes) == (2000, 7)
    assert _connector(_SOURCE, worker=worker).flow.data.fetch_min_bytes == 1


@pytest.mark.parametrize(
    ("name", "running"),
    [
        ("MirrorSourceConnector", (True, False, False)),
        ("MirrorSink", (True, False, False)),
        ("CheckpointSink", (False, False, False)),
        ("MirrorCheckpoint", (False, True, False)),
        ("org.apache.kafka.connect.mirror.MirrorHeartbeatConnector", (False, False, True)),
    ],
)
def test_a_connector_does_its_part_of_a_flow_and_nothing_else(
    name: str, running: tuple[bool, bool, bool]
) -> None:
    flow = _connector(
        {**_SOURCE, "connector.class": name, "target.cluster.bootstrap.servers": "b:1"}
    ).flow
    beats = flow.heartbeat.emit_heartbeats is not None
    assert (flow.source.runs, flow.emits_checkpoints, beats) == running


def test_positions_are_where_connect_has_them_and_under_the_same_name() -> None:
    connector = _connector(_SOURCE)
    herder = connector.flow.herder
    assert (herder.offsets_topic, herder.names.connector) == ("offsets", "m")
    assert transactional_id(connector.flow, 2) == "g-m-2"
    elsewhere = _connector(_SINK).flow.herder
    assert elsewhere.offsets_topic == "mm2-offsets.g.A.internal"


@pytest.mark.parametrize(
    "servers", ["w:1", " W:1 ", "w:1, w2:1", "w3:1,w2:1", "PLAINTEXT://w2.:1", "${env:S}"]
)
def test_a_target_is_the_worker_s_cluster_however_its_servers_are_written(servers: str) -> None:
    worker = WorkerConfig(
        raw={**_WORKER, "bootstrap.servers": "w:1,w2:1", "config.providers": "env"}
        | {"config.providers.env.class": _ENVIRONMENT},
        is_distributed=True,
        environment={"S": "w2:1"},
    )
    config = {**_SOURCE, "target.cluster.bootstrap.servers": servers}
    assert read_connector(config, worker).flow.herder.offsets_topic == "offsets"


@pytest.mark.parametrize("key", ["target.cluster.", "producer.override."])
def test_a_server_beside_the_worker_s_is_not_given_its_credentials(key: str) -> None:
    login = dict.fromkeys(("sasl.jaas.config", "producer.sasl.jaas.config"), "secret")
    flow = _connector({**_SOURCE, f"{key}bootstrap.servers": "evil:1,w:1"}, worker=login).flow
    for client in (
        data_producer(flow, 0).properties,
        flow.source.target_admin(None),
        flow.checkpoint.target_consumer(None),
    ):
        assert (client["bootstrap.servers"], client["sasl.jaas.config"]) == ("w:1", "secret")


@pytest.mark.parametrize("servers", ["w:2", "x:1", "localhost:1"])
def test_a_target_with_other_servers_is_another_cluster(servers: str) -> None:
    flow = _connector({**_SOURCE, "target.cluster.bootstrap.servers": servers}).flow
    assert flow.herder.offsets_topic == "mm2-offsets.g.A.internal"


def test_equal_names_in_two_groups_share_nothing() -> None:
    """Nor do those of two standalone workers that copy from different clusters."""
    sinks = [_connector(_SINK, worker={"group.id": group}).flow.herder for group in ("g1", "g2")]
    alone = WorkerConfig(raw={"bootstrap.servers": "w:1"}, is_distributed=False)
    sources = [
        read_connector({**_SOURCE, "source.cluster.alias": alias}, alone).flow.herder
        for alias in ("A1", "A2")
    ]
    for one, other in (sinks, sources):
        assert one.offsets_topic != other.offsets_topic
        assert one.group_id != other.group_id, "which begins transactional ids"
        assert one.names.control_topic != other.names.control_topic
        assert one.names.election_group != other.names.election_group
        assert one.names.positions_group != other.names.positions_group


def test_a_connector_needs_only_the_topics_of_its_part() -> None:
    own = {"mm2-control.g.m.internal": 3, "mm2-progress.g.m.internal": 3}
    assert _topics(_connector(_SINK)) == {
        **own,
        "mm2-offsets.g.A.internal": 3,
        "mm2-offset-syncs.B.internal": 3,
        "mm2-offset-runs.B.internal": 3,
    }
    checkpoints = {**_SOURCE, "connector.class": "MirrorCheckpointConnector"}
    assert _topics(_connector(checkpoints)) == {**own, "A.checkpoints.internal": 3}
    heartbeats = {**_SOURCE, "connector.class": "MirrorHeartbeatConnector"}
    assert _topics(_connector(heartbeats)) == {**own, "heartbeats": 3}


def test_a_sink_is_exactly_once_when_it_says_so_itself() -> None:
    """No key of the worker's is about sinks; KIP-656's positions are on the target."""
    keys = {
        "exactly.once.support": "required",
        "consumer.override.isolation.level": "read_committed",
    }
    assert _connector({**_SINK, **keys}).flow.herder.exactly_once == "enabled"
    assert _connector(_SINK).flow.herder.exactly_once == "disabled"
    with pytest.raises(ConfigErrors, match=r"needs exactly\.once\.source\.support = enabled"):
        _connector({**_SOURCE, **keys})


def test_expressions_are_resolved_by_the_worker_s_providers(tmp_path: Path) -> None:
    (tmp_path / "topics").write_text("orders")
    worker = {
        "config.providers": "dir",
        "config.providers.dir.class": (
            "org.apache.kafka.common.config.provider.DirectoryConfigProvider"
        ),
    }
    topics = f"${{dir:{tmp_path}:topics}}"
    connector = _connector(_SOURCE, worker=worker, topics=topics)
    assert connector.flow.source.properties["topics"] == "orders"
    assert connector.config["topics"] == topics, "what is shown are not secrets"


def test_a_heartbeat_connector_needs_no_source() -> None:
    config = {**_SOURCE, "connector.class": "MirrorHeartbeatConnector"}
    del config["source.cluster.bootstrap.servers"]
    assert _connector(config).flow.heartbeat.emit_heartbeats is not None


def test_all_mistakes_are_told_at_once_as_the_user_would_write_them() -> None:
    config = {
        **_SOURCE,
        "tasks.max": "0",
        "offset.lag.max": "x",
        "producer.override.batch.size": "y",
    }
    del config["source.cluster.bootstrap.servers"]
    with pytest.raises(ConfigErrors) as raised:
        read_connector(config, WorkerConfig(raw=_WORKER, is_distributed=True), {"tasks.max": 3})
    keys = {problem.key: problem.line for problem in raised.value.problems}
    assert keys == {
        "source.cluster.bootstrap.servers": None,
        "tasks.max": 3,
        "offset.lag.max": None,
        "producer.override.batch.size": None,
    }


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"name": " "}, "name is missing"),
        ({"source.cluster.alias": ""}, "source.cluster.alias is missing"),
        ({"connector.class": ""}, "connector.class is missing"),
        ({"connector.class": "MirorSourceConnector"}, "Did you mean 'MirrorSourceConnector'"),
        ({"connector.class": "FileStreamSource"}, "runs MirrorMaker's connectors only"),
        (
            {"emit.offset-syncs.enabled": "false", "offset-syncs.topic.location": "target"},
            "remove one of them",
        ),
        ({"transforms": "mask"}, "transforms = mask: transforms.mask.type is missing"),
        ({"predicates": "isSecret"}, "predicates = isSecret: predicates.isSecret.type is"),
        ({"transforms": " "}, None),
        ({"value.converter": _JSON}, f"value.converter = {_JSON}: .* Write org"),
        ({"header.converter": _JSON}, f"header.converter = {_JSON}: .* Write org"),
        ({"header.converter": "org.apache.kafka.connect.storage.SimpleHeaderConverter"}, None),
        ({"producer.override.interceptor.classes": "x.Y"}, "without interceptors"),
        ({"topics": "${env:"}, "topics: Invalid pattern"),
    ],
)
def test_what_connect_refuses_is_refused(change: Mapping[str, str], told: str | None) -> None:
    if told is None:
        _connector({**_SOURCE, **change})
        return
    with pytest.raises(ConfigErrors, match=told):
        _connector({**_SOURCE, **change})


def test_keys_without_effect_are_told_with_what_was_meant() -> None:
    config = {
        **_SOURCE,
        "topcs": "a",
        "group.id": "x",
        "config.action.reload": "none",
        "key.converter": "org.apache.kafka.connect.converters.ByteArrayConverter",
    }
    warnings = "\n".join(_connector(config).flow.warnings)
    assert "topcs: unknown key" in warnings
    assert "Did you mean 'topics'" in warnings
    assert "group.id: no effect in a connector" in warnings
    assert "config.action.reload = none: no effect" in warnings
    assert "key.converter" not in warnings


@pytest.mark.parametrize(
    ("config", "of_source", "of_target"), [(_SOURCE, "5", None), (_SINK, None, "5")]
)
def test_the_remote_cluster_of_a_sink_is_its_target(
    config: Mapping[str, str], of_source: str | None, of_target: str | None
) -> None:
    """KIP-382 runs a sink beside its source, and a source beside its target."""
    source = _connector({**config, "remote.admin.retry.backoff.ms": "5"}).flow.source
    assert source.source_admin("r").get("retry.backoff.ms") == of_source
    assert source.target_admin("r").get("retry.backoff.ms") == of_target


def test_a_checkpoint_sink_uses_what_a_file_of_dedicated_nodes_would_say() -> None:
    """And its groups are synced unless it says otherwise."""
    config = {
        **_SINK,
        "connector.class": "CheckpointSinkConnector",
        "source.cluster.security.protocol": "PLAINTEXT",
        "groups": "g.*",
    }
    flow = _connector(config).flow
    assert flow.checkpoint.sync_group_offsets is not None
    maker = MirrorMakerConfig(raw=file_of(flow.flow, flow.checkpoint.properties))
    made = flow_config(maker, flow.flow).checkpoint
    assert made.properties["groups"] == "g.*"
    for side in ("source", "target"):
        mine = getattr(flow.checkpoint, f"{side}_admin")("x")
        theirs = getattr(made, f"{side}_admin")("x")
        assert mine["bootstrap.servers"] == theirs["bootstrap.servers"]
