"""What a bundle's task is told of the user's settings."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from mm2.core.policy import build_policy
from mm2.driver.flows_of_file import load_flows
from mm2.herder.bundles.make_bundle_spec import bundle_spec
from mm2.herder.topics.internal_topics import internal_topics
from mm2.protocol.bundle_spec import BundleSpec
from mm2.telemetry.levels import CHOSEN, LogLevels
from tests.support.configs import TWO_CLUSTERS_TEXT


def _spec(folder: Path, text: str = "") -> BundleSpec:
    path = folder / "mm2.properties"
    path.write_text(f"{TWO_CLUSTERS_TEXT}A->B.enabled = true\n{text}")
    (flow,) = load_flows(path, ["B"])
    return bundle_spec(flow, 3, 1, "syncs")


def test_client_ids_are_javas_so_that_quotas_keep_working(tmp_path: Path) -> None:
    """Behaviours 1.5; C079."""
    spec = _spec(tmp_path)
    assert spec.source["client.id"] == "A->B|MirrorSourceConnector-3|replication-consumer"
    assert spec.target["client.id"] == "connector-producer-MirrorSourceConnector-3"


def test_the_users_client_ids_count(tmp_path: Path) -> None:
    spec = _spec(tmp_path, "A.consumer.client.id = east\nB.producer.client.id = west\n")
    assert spec.source["client.id"] == "east|A->B|MirrorSourceConnector-3|replication-consumer"
    assert spec.target["client.id"] == "west"


def test_a_task_that_starts_later_logs_as_its_leader_s_node(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert _spec(tmp_path).log_levels == {}
    monkeypatch.setattr(CHOSEN, "levels", {})
    LogLevels(CHOSEN).set("source", "DEBUG")
    assert _spec(tmp_path).log_levels == {"source": "DEBUG"}


def test_the_rack_and_how_often_to_ask_for_a_better_replica_are_the_consumers(
    tmp_path: Path,
) -> None:
    spec = _spec(tmp_path, "A.consumer.client.rack = east\nA.consumer.metadata.max.age.ms = 5000\n")
    assert (spec.rack, spec.replica_lease_s) == ("east", 5.0)
    assert (_spec(tmp_path).rack, _spec(tmp_path).replica_lease_s) == ("", 300.0)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", {"mm2-control.A.internal", "mm2-configs.A.internal", "mm2-offset-syncs.B.internal"}),
        (
            "replication.policy.separator = x\n",
            {"Axcheckpointsxinternal", "mm2-offset-syncsxBxinternal"},
        ),
        (
            "errors.tolerance = all\nA->B.errors.deadletterqueue.topic.name = letters\n",
            {"letters"},
        ),
    ],
)
def test_a_task_knows_where_its_transforms_may_send_nothing(
    tmp_path: Path, text: str, expected: set[str]
) -> None:
    own = _spec(tmp_path, text).own_topics
    assert expected <= own.names
    assert own.heartbeats == "heartbeats"
    assert not any(map(own.holds, ("heartbeats", "A.orders", "orders", "internal")))


def test_runs_go_where_offset_syncs_go(tmp_path: Path) -> None:
    syncs = _spec(tmp_path).offset_syncs
    assert syncs is not None
    assert (syncs.cluster, syncs.runs_topic) == ("A", "mm2-offset-runs.B.internal")
    syncs = _spec(tmp_path, "offset-syncs.topic.location = target\n").offset_syncs
    assert syncs is not None
    assert (syncs.cluster, syncs.runs_topic) == ("B", "mm2-offset-runs.A.internal")


def test_runs_are_off_where_they_or_offset_syncs_are(tmp_path: Path) -> None:
    syncs = _spec(tmp_path, "emit.offset-runs.enabled = false\n").offset_syncs
    assert syncs is not None
    assert syncs.runs_topic is None
    text = "emit.offset-syncs.enabled = false\nemit.checkpoints.enabled = false\n"
    assert _spec(tmp_path, text).offset_syncs is None
    path = tmp_path / "mm2.properties"
    (flow,) = load_flows(path, ["B"])
    policy = build_policy(flow.source.properties)
    names = {topic.name for topic in internal_topics(flow, policy)}
    assert not {name for name in names if "offset-runs" in name or "offset-syncs" in name}


def test_limits_are_those_of_the_file(tmp_path: Path) -> None:
    spec = _spec(tmp_path, "A->B.flow.byte.rate.limit = 1000\nB.producer.buffer.memory = 9000000\n")
    assert (spec.byte_rate_limit, spec.data.buffer_memory) == (1000, 9_000_000)
    assert _spec(tmp_path).byte_rate_limit == -1
    assert _spec(tmp_path, "A->B.flow.byte.rate.limit = 1.5MiB\n").byte_rate_limit == 1_572_864


def test_a_task_knows_which_of_its_settings_to_hide(tmp_path: Path) -> None:
    (tmp_path / "secrets").write_text("user=svc-mirror\nother=not-of-this-task\n")
    spec = _spec(
        tmp_path,
        "config.providers = f\n"
        "config.providers.f.class = org.apache.kafka.common.config.provider.FileConfigProvider\n"
        f"B.producer.ssl.key.password = ${{f:{tmp_path}/secrets:user}}\n"
        f"B.consumer.ssl.key.password = ${{f:{tmp_path}/secrets:other}}\n",
    )
    (hidden,) = spec.hidden
    assert (hidden.text, hidden.shown) == ("svc-mirror", f"${{f:{tmp_path}/secrets:user}}")
    carried = pickle.dumps(spec)
    assert b"svc-mirror" in carried
    assert b"not-of-this-task" not in carried, "settings of other clients stay with the driver"
