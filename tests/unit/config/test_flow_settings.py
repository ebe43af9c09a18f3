"""Typed settings of a flow: values, switches, refusals, older spellings, mistakes together."""

from __future__ import annotations

import pickle
from datetime import timedelta

import pytest

from mm2.config.flow_config import FlowConfig, data_producer, flow_config
from mm2.config.layers import spark_properties
from mm2.config.mirror_maker_config import MirrorMakerConfig
from mm2.core.filters import build_config_property_filter
from mm2.errors import ConfigError, ConfigErrors
from tests.support.configs import A_TO_B, config_of, maker_of

_PROVIDER = {
    "config.providers": "env",
    "config.providers.env.class": "org.apache.kafka.common.config.provider.EnvVarConfigProvider",
}
_ENVIRONMENT = {"SECRET": "geheim", "TOPICS": "x, y"}


def _maker(**extra: str) -> MirrorMakerConfig:
    return maker_of(extra, _ENVIRONMENT)


def _config(**extra: str) -> FlowConfig:
    return flow_config(_maker(**extra), A_TO_B)


def _mistakes(**extra: str) -> tuple[ConfigError, ...]:
    with pytest.raises(ConfigErrors) as caught:
        _config(**extra)
    return caught.value.problems


def test_defaults_are_java_s() -> None:
    """The reference table 1.1."""
    config = _config()
    assert config.source.enabled is False
    assert config.source.refresh_topics == timedelta(seconds=600)
    assert config.source.replication_factor == 2
    assert config.source.offset_syncs_location == "source"
    assert config.source.offset_syncs_replication_factor == 3
    assert config.source.offset_lag_max == 100
    assert config.source.admin_timeout == timedelta(seconds=60)
    assert config.source.emit_offset_syncs is config.source.heartbeats_replication is True
    assert config.checkpoint.emit_checkpoints == timedelta(seconds=60)
    assert config.checkpoint.sync_group_offsets is None
    assert config.heartbeat.emit_heartbeats == timedelta(seconds=1)
    assert config.herder.offsets_partitions == 25
    assert config.herder.status_partitions == 5
    assert config.herder.exactly_once == "disabled"
    assert config.warnings == ()


def test_settings_can_be_sent_to_workers() -> None:
    config = _config(**{"A->B.enabled": "true", "spark.master": "local[2]"})
    assert pickle.loads(pickle.dumps(config)) == config


def test_positions_are_committed_every_second_unless_the_user_says_otherwise() -> None:
    assert _config().herder.offset_flush_interval == timedelta(seconds=1)
    assert _config(
        **{"B.offset.flush.interval.ms": "60000"}
    ).herder.offset_flush_interval == timedelta(seconds=60)


def test_switches_turn_jobs_off() -> None:
    """C105."""
    config = _config(
        **{
            "refresh.topics.enabled": "false",
            "A->B.sync.topic.acls.enabled": "FALSE",
            "sync.topic.configs.interval.seconds": "-1",
            "emit.heartbeats.enabled": "false",
            "emit.checkpoints.interval.seconds": "0",
        }
    )
    assert config.source.refresh_topics is None
    assert config.source.sync_topic_acls is None
    assert config.source.sync_topic_configs is None
    assert config.heartbeat.emit_heartbeats is None
    assert config.checkpoint.emit_checkpoints == timedelta(0)


def test_an_interval_beyond_all_times_is_the_longest_there_is() -> None:
    interval = _config(**{"refresh.topics.interval.seconds": str(2**63 - 1)}).source.refresh_topics
    assert interval is not None
    assert interval > timedelta(days=999_000_000)


def test_heartbeats_run_though_the_flow_is_not_enabled() -> None:
    """C311."""
    config = _config()
    assert config.heartbeat.runs
    assert not config.source.runs
    assert not config.checkpoint.runs


def test_checkpoints_switched_off_leave_the_others_running() -> None:
    """C107, C112."""
    config = _config(**{"A->B.enabled": "true", "emit.checkpoints.enabled": "false"})
    assert config.source.runs
    assert config.checkpoint.refusals == (
        "checkpoints need emit.checkpoints.enabled, which is false",
    )
    assert not config.checkpoint.runs


def test_checkpoints_need_offset_syncs() -> None:
    """C108."""
    config = _config(**{"A->B.enabled": "true", "emit.offset-syncs.enabled": "false"})
    assert len(config.checkpoint.refusals) == 1
    assert config.source.runs


def test_nothing_is_refused_in_a_flow_that_is_not_enabled() -> None:
    """C106."""
    assert _config(**{"emit.checkpoints.enabled": "false"}).checkpoint.refusals == ()


def test_settings_for_offset_syncs_contradict_their_being_off() -> None:
    """C111."""
    config = _config(
        **{
            "A->B.enabled": "true",
            "emit.offset-syncs.enabled": "false",
            "offset-syncs.topic.location": "target",
        }
    )
    assert "offset-syncs.topic.location" in config.source.refusals[0]
    assert not config.source.runs


def test_expressions_are_resolved() -> None:
    """C056: what Java leaves to the worker is done here."""
    config = _config(topics="${env:TOPICS}", **{"A.ssl.key.password": "${env:SECRET}"}, **_PROVIDER)
    assert config.source.properties["topics"] == "x, y"
    assert config.source.source_admin("r")["ssl.key.password"] == "geheim"


def test_a_flow_can_have_providers_of_its_own() -> None:
    """C457."""
    own = {f"A->B.{key}": value for key, value in _PROVIDER.items()}
    assert _config(topics="${env:TOPICS}", **own).source.properties["topics"] == "x, y"


def test_all_mistakes_of_a_flow_come_together_under_the_user_s_keys() -> None:
    mistakes = _mistakes(
        **{
            "A->B.tasks.max": "many",
            "refresh.topics.interval.seconds": "0",
            "B.offset.storage.replication.factor": "0",
            "A.security.protocol": "tls",
            "A->B.enabled": "yes",
        }
    )
    assert [(m.line, m.key) for m in mistakes] == [
        (4, "A->B.tasks.max"),
        (5, "refresh.topics.interval.seconds"),
        (6, "B.offset.storage.replication.factor"),
        (7, "A.security.protocol"),
        (8, "A->B.enabled"),
    ]


def test_a_cluster_without_servers_is_a_mistake_that_says_what_to_write() -> None:
    mistakes = _mistakes(**{"B.bootstrap.servers": " "})
    assert "write B.bootstrap.servers = host:port" in mistakes[0].message


def test_servers_may_be_given_for_one_flow_only() -> None:
    servers = {"clusters": "A, B", "B.bootstrap.servers": "b:1"}
    maker = MirrorMakerConfig(raw={**servers, "A->B.source.cluster.bootstrap.servers": "a:2"})
    admin = flow_config(maker, A_TO_B).source.source_admin("r")
    assert admin["bootstrap.servers"] == "a:2"


@pytest.mark.parametrize("prefix", ["", "A->B."])
def test_a_failing_provider_is_one_mistake(prefix: str) -> None:
    """The first time for the worker's providers, the second for the flow's own."""
    providers = {"config.providers": "x, v", "config.providers.v.class": "Vault"}
    if prefix:
        providers = {f"{prefix}config.providers": "v", f"{prefix}config.providers.v.class": "Vault"}
    mistakes = _mistakes(**providers)
    assert len(mistakes) == 1
    assert "Vault" in mistakes[0].message


def test_spark_keys_reach_the_session() -> None:
    extra = {"spark.master": "local[4]", "spark.password": "${env:SECRET}", **_PROVIDER}
    assert _config(**extra).spark == {"spark.master": "local[4]", "spark.password": "geheim"}


def test_a_cluster_may_be_called_spark() -> None:
    maker = MirrorMakerConfig(raw={"clusters": "spark, B", "spark.bootstrap.servers": "s:1"})
    assert spark_properties(maker) == {}


def test_older_spellings_take_effect_with_a_warning() -> None:
    """KIP-382."""
    config = _config(
        **{
            "rename.topics": "false",
            "refresh.topics": "false",
            "refresh.groups": "false",
            "emit.heartbeats": "false",
            "emit.checkpoints": "false",
            "sync.topic.configs": "false",
            "sync.topic.acls": "false",
            "topics.blacklist": "x",
            "A->B.groups.blacklist": "y",
            "topics.whitelist": "z",
            "remote.admin.request.timeout.ms": "5",
            "readahead.queue.capacity": "500",
            "heartbeats.topic.retention.ms": "86400000",
            "A->B.checkpoints.topic.retention.ms": "1500",
        }
    )
    policy = config.source.properties["replication.policy.class"]
    assert policy == "org.apache.kafka.connect.mirror.IdentityReplicationPolicy"
    assert config.source.refresh_topics is None
    assert config.source.sync_topic_configs is config.source.sync_topic_acls is None
    assert config.checkpoint.refresh_groups is config.checkpoint.emit_checkpoints is None
    assert config.heartbeat.emit_heartbeats is None
    assert config.source.properties["topics"] == "z"
    for part in (config.source, config.checkpoint):
        assert part.properties["topics.exclude"] == "x"
    assert config.checkpoint.properties["groups.exclude"] == "y"
    assert config.source.source_admin("r")["request.timeout.ms"] == "5"
    assert config.heartbeat.heartbeats_retention == timedelta(days=1)
    assert config.checkpoint.checkpoints_retention == timedelta(milliseconds=1500)
    assert config.source.offset_syncs_retention is None
    assert len(config.warnings) == 12


def test_older_spellings_do_not_change_what_java_computes() -> None:
    maker = _maker(
        **{"emit.heartbeats": "false", "topics.blacklist": "x", "rename.topics": "false"}
    )
    assert len(maker.cluster_pairs()) == 2
    plain = _maker().connector_base_config(A_TO_B, "MirrorSourceConnector")
    assert maker.connector_base_config(A_TO_B, "MirrorSourceConnector") == plain


@pytest.mark.parametrize(
    ("settings", "exclude"),
    [
        ({"topics.exclude": "new", "topics.blacklist": "old"}, "new"),
        ({"topics.exclude": "new", "A->B.topics.blacklist": "old"}, "old"),
        ({"A->B.topics.exclude": "new", "A->B.topics.blacklist": "old"}, "new"),
        ({"A->B.topics.exclude": "new", "topics.blacklist": "old"}, "new"),
    ],
)
def test_the_spelling_of_java_wins_on_the_same_level(
    settings: dict[str, str], exclude: str
) -> None:
    assert _config(**settings).source.properties["topics.exclude"] == exclude


@pytest.mark.parametrize("value", ["true", "maybe"])
def test_renaming_topics_is_the_default(value: str) -> None:
    assert "replication.policy.class" not in _config(**{"rename.topics": value}).source.properties


def test_defaults_of_topic_settings_are_chosen_at_top_level_too() -> None:
    """C426, a bug of Java: there the key counts for a flow only."""
    for key in ("use.defaults.from", "A->B.use.defaults.from"):
        assert _config(**{key: "source"}).source.properties["use.defaults.from"] == "source"
    both = {"use.defaults.from": "source", "A->B.use.defaults.from": "target"}
    assert _config(**both).source.properties["use.defaults.from"] == "target"
    properties = _config(**{"use.defaults.from": "source"}).source.properties
    assert build_config_property_filter(properties).should_replicate_source_default("x")


def test_what_goes_beyond_java_is_off_by_default() -> None:
    source = _config(**{"replication.factor": "-1"}).source
    assert source.replication_factor == -1
    assert not source.replication_factor_of_source
    assert not source.acls_prefixed
    assert not source.acls_same_name_all
    assert not source.acls_deleted
    assert not source.deletes_topics


def test_what_goes_beyond_java_can_be_switched_on_at_any_level() -> None:
    top = {
        "replication.factor.default.from": "source",
        "sync.topic.acls.prefixed.enabled": "true",
        "A->B.sync.topic.acls.delete.enabled": "true",
        "A->B.source.topic.deleted.policy": "delete",
    }
    assert not _config(**top).source.replication_factor_of_source, "two replicas are two replicas"
    source = _config(**top, **{"replication.factor": "-1"}).source
    assert source.replication_factor_of_source
    assert source.acls_prefixed
    assert source.acls_deleted
    assert source.deletes_topics


def test_a_policy_for_deleted_topics_that_is_none_is_a_mistake() -> None:
    (mistake,) = _mistakes(**{"A->B.source.topic.deleted.policy": "archive"})
    assert mistake.key == "A->B.source.topic.deleted.policy"
    assert "keep, delete" in mistake.message


def test_explicit_words_about_the_data_producer_are_told_from_defaults() -> None:
    """C221."""
    producer = data_producer(
        _config(**{"B.producer.acks": "1", "A->B.producer.override.linger.ms": "9"}), 3
    )
    assert producer.defaults["acks"] == "all"
    assert producer.defaults["client.id"] == "connector-producer-MirrorSourceConnector-3"
    assert producer.explicit == {"acks": "1", "bootstrap.servers": "b:1", "linger.ms": "9"}
    assert producer.properties["acks"] == "1"
    assert producer.properties["max.in.flight.requests.per.connection"] == "1"


def test_the_herder_s_clients_have_the_worker_s_keys() -> None:
    config = _config(
        **{"B.request.timeout.ms": "9", "B.acks": "1", "B.session.timeout.ms": "7", "B.xxx": "1"}
    )
    assert config.herder.client("producer", "offsets") == {
        "bootstrap.servers": "b:1",
        "request.timeout.ms": "9",
        "acks": "1",
        "client.id": "A->B-offsets",
    }


def test_a_number_that_is_none_is_a_fault_of_ours() -> None:
    from mm2.config.connector_reading import Parsed

    with pytest.raises(TypeError, match=r"tasks\.max"):
        Parsed(values={"tasks.max": None}, properties={}).integer("tasks.max")


def test_missing_data_are_reported_and_mirroring_goes_on_unless_the_user_wishes_otherwise() -> None:
    source = _config().source
    assert not source.gaps.fail_on_source_gap
    assert not source.gaps.fail_on_remote_gap
    assert source.gaps.hanging_transaction == timedelta(minutes=15)
    source = _config(
        **{
            "source.gap.policy": "fail",
            "A->B.target.topic.deleted.policy": "fail",
            "source.hanging.transaction.timeout.ms": "1500",
        }
    ).source
    assert source.gaps.fail_on_source_gap
    assert source.gaps.fail_on_remote_gap
    assert source.gaps.hanging_transaction == timedelta(milliseconds=1500)


@pytest.mark.parametrize("key", ["source.gap.policy", "target.topic.deleted.policy"])
def test_a_policy_for_missing_data_that_is_none_is_a_mistake(key: str) -> None:
    (mistake,) = _mistakes(**{key: "ignore"})
    assert mistake.key == key


def test_starts_of_partitions_are_read() -> None:
    source = _config(**{"source.start.offsets": "orders:2=17, .*=latest"}).source
    assert [(rule.topic, rule.partition) for rule in source.starts] == [("orders", 2), (".*", None)]
    (mistake,) = _mistakes(**{"A->B.source.start.offsets": "orders=soon"})
    assert mistake.key == "A->B.source.start.offsets"
    assert "'soon' is no time" in mistake.message


@pytest.mark.parametrize(
    "key", ["A.consumer.auto.offset.reset", "A->B.source.consumer.auto.offset.reset"]
)
def test_a_wrong_start_for_all_is_a_mistake(key: str) -> None:
    assert _config(**{key: "by_duration:PT1H"}).source.source_consumer(None)
    (mistake,) = _mistakes(**{key: "begin"})
    assert (mistake.key, mistake.value) == (key, "begin")
    assert "must be earliest, latest, none or by_duration" in mistake.message


def test_the_number_of_tasks_may_follow_the_lag() -> None:
    assert config_of({"tasks.max": " auto "}).source.tasks_max is None
