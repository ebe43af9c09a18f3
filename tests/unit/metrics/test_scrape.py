"""What a node exports of the flows that it leads."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from mm2.config.flow_config import FlowConfig
from mm2.config.metrics_settings import MetricsSettings
from mm2.config.rest_settings import read_rest
from mm2.connect.connector import read_connector
from mm2.connect.worker_config import WorkerConfig
from mm2.errors import ConfigErrors
from mm2.herder.view.led_flow import LedFlow
from mm2.herder.view.topic_views import topics_of
from mm2.metrics.exposition import Family, Series, labels_of
from mm2.metrics.reference import reference_page
from mm2.metrics.scrape import Metrics
from tests.support.configs import B_TO_A, config_of, flow_of
from tests.support.fake_connectors import FakeConnectors
from tests.support.rest import ANY_PORT, interface, settings
from tests.support.scrapes import Scrape, add_checkpoint, full_flow, scrape
from tests.support.seen_flow import NOW, SeenFlow, place

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "metrics.md"
SOURCE = "kafka_connect_mirror_mirrorsourceconnector_"
CHECKPOINT = "kafka_connect_mirror_mirrorcheckpointconnector_"
BYTES = "org.apache.kafka.connect.converters.ByteArrayConverter"
PLACE = {"source": "A", "target": "B", "topic": "A.t", "partition": "0"}

BY_PARTITION = {"topic": ".+", "partition": "[0-9]+"}
BY_CLUSTERS = {"source": ".+", "target": ".+"}
STRIMZI = {
    "kafka_connect_worker_connector_count": {},
    "kafka_connect_worker_task_count": {},
    f"{SOURCE}record_rate": {},
    f"{SOURCE}byte_rate": {},
    f"{SOURCE}record_age_ms": BY_PARTITION,
    f"{SOURCE}record_age_ms_avg": BY_PARTITION,
    f"{SOURCE}record_age_ms_min": BY_PARTITION,
    f"{SOURCE}record_age_ms_max": BY_PARTITION,
    f"{SOURCE}replication_latency_ms": BY_PARTITION,
    f"{SOURCE}replication_latency_ms_avg": BY_PARTITION,
    f"{SOURCE}replication_latency_ms_min": BY_PARTITION,
    f"{SOURCE}replication_latency_ms_max": BY_PARTITION,
    f"{CHECKPOINT}checkpoint_latency_ms": BY_CLUSTERS,
    f"{CHECKPOINT}checkpoint_latency_ms_avg": BY_CLUSTERS,
    f"{CHECKPOINT}checkpoint_latency_ms_min": BY_CLUSTERS,
    f"{CHECKPOINT}checkpoint_latency_ms_max": BY_CLUSTERS,
    "kafka_consumer_fetch_manager_records_lag": {
        "clientid": r'(?!consumer-mirrormaker2-).*replication-consumer"',
        **BY_PARTITION,
    },
    "kafka_consumer_incoming_byte_total": {},
    "kafka_producer_outgoing_byte_total": {},
    "kafka_producer_buffer_available_bytes": {"clientid": r'".*SourceConnector-[0-9]+"'},
    "kafka_connect_connector_task_offset_commit_avg_time_ms": {
        "connector": r'".*SourceConnector"',
        "task": "[0-9]+",
    },
    "kafka_connect_source_task_source_record_active_count": {"connector": r'".*SourceConnector"'},
    "kafka_connect_coordinator_assigned_connectors": {},
    "kafka_connect_coordinator_assigned_tasks": {},
    "kafka_connect_worker_rebalance_rebalancing": {},
}
"""
The series of Strimzi's MirrorMaker 2 dashboard (for the JMX exporter) that are not the JVM's or the
container's, with the labels that its queries match or group by.
"""

REPORTER = {
    "kafka_connect_connect_coordinator_metrics_assigned_connectors",
    "kafka_connect_connect_coordinator_metrics_assigned_tasks",
    "kafka_connect_connect_worker_metrics_connector_count",
    "kafka_connect_connect_worker_metrics_task_count",
    "kafka_connect_connect_worker_rebalance_metrics_rebalancing",
    "kafka_connect_connector_task_metrics_offset_commit_avg_time_ms",
    "kafka_consumer_consumer_fetch_manager_metrics_records_lag",
    "kafka_consumer_consumer_metrics_incoming_byte",
    "kafka_producer_producer_metrics_buffer_available_bytes",
    "kafka_producer_producer_metrics_outgoing_byte",
}
"""Of its dashboard for its own metrics reporter, those that have other names."""


@pytest.mark.parametrize("name", STRIMZI)
def test_strimzis_dashboard_finds_its_series(name: str) -> None:
    found = scrape(full_flow()).all(name)
    matching = [
        each
        for each in found
        if all(re.fullmatch(p, each.labels.get(label, "")) for label, p in STRIMZI[name].items())
    ]
    assert matching
    assert matching == found, "and its sums have all of them"


def test_the_reporters_names_are_there_on_request() -> None:
    assert not REPORTER & scrape(full_flow()).names
    found = scrape(full_flow(), aliases=["reporter"])
    assert found.names >= REPORTER
    lag = "kafka_consumer_consumer_fetch_manager_metrics_records_lag"
    (client,) = {each.labels["client_id"] for each in found.all(lag, partition="0")}
    assert client == "A->B|MirrorSourceConnector-0|replication-consumer"


def test_the_older_spelling_is_there_on_request() -> None:
    name = "kafka_connect_mirror_source_connector_record_count"
    assert name not in scrape(full_flow()).names
    found = scrape(full_flow(), aliases=["snake"])
    assert found.value(name, **PLACE, destination="B") == 10
    assert found.value(f"{SOURCE}record_count", **PLACE) == 10


@pytest.mark.parametrize(
    ("formats", "legacy", "new"), [("legacy", 1, 0), ("new", 0, 1), ("legacy, new", 1, 1)]
)
def test_the_formats_of_metric_names_are_obeyed(formats: str, legacy: int, new: int) -> None:
    seen = full_flow()
    seen.config = flow_of({"A->B.metric.names.formats": formats})
    found = scrape(seen)
    for name in ("record_count", "checkpoint_latency_ms"):
        prefix = SOURCE if name == "record_count" else CHECKPOINT
        assert len(found.all(prefix + name, partition="0")) == legacy
        assert len(found.all(f"kafka_connect_plugins_{name}", partition="0", task="0")) == new


def test_java_has_these_attributes() -> None:
    found = scrape(full_flow())
    values = {
        each.name.removeprefix(SOURCE): each.value
        for each in found.samples
        if each.name.startswith(SOURCE) and PLACE.items() <= each.labels.items()
    }
    assert values == {
        "record_count": 10,
        "record_rate": 0,
        "byte_count": 1000,
        "byte_rate": 0,
        "record_age_ms": 5,
        "record_age_ms_min": 1,
        "record_age_ms_max": 9,
        "record_age_ms_avg": 4,
        "replication_latency_ms": 50,
        "replication_latency_ms_min": 10,
        "replication_latency_ms_max": 90,
        "replication_latency_ms_avg": 40,
        "record_bytes": 100,
        "record_bytes_min": 90,
        "record_bytes_max": 110,
        "record_bytes_avg": 100,
    }
    group = {**PLACE, "group": "g"}
    latencies = {
        s: found.value(f"{CHECKPOINT}checkpoint_latency_ms{s}", **group) for s in _SUFFIXES
    }
    assert latencies == {"": 4, "_min": 1, "_max": 7, "_avg": 3.5}


_SUFFIXES = ("", "_min", "_max", "_avg")


def test_our_own_series_tell_what_java_does_not() -> None:
    found = scrape(full_flow(), now_ms=NOW + 1000)
    flow = {"flow": "A->B", "source": "A", "target": "B"}
    of_partition = {
        "lag_records": 20,
        "copied_offset": 9,
        "source_end_offset": 30,
        "eta_seconds": float("inf"),
        "backfill_records": 7,
        "end_to_end_latency_ms": 6,
        "lost_records_total": 1,
        "skipped_records_total": 3,
        "dead_letters_total": 2,
        "left_out_records_total": 4,
        "diverged_records_total": 0,
        "failed": 0,
        "last_stable_offset_age_seconds": 1.5,
    }
    for name, value in of_partition.items():
        assert found.value(f"mm2_partition_{name}", **PLACE) == value, name
    assert found.value("mm2_flow_leader", **flow) == 1
    assert found.value("mm2_flow_epoch", **flow) == 7
    assert found.value("mm2_flow_groups", **flow) == 1
    assert found.value("mm2_checkpoint_exact", **PLACE, group="g") == 1
    assert found.value("mm2_heartbeat_age_seconds", way="A->B") == 2
    assert found.value("mm2_flow_heartbeat_age_seconds", **flow) == 0.5
    assert found.value("mm2_connector_as_wanted", connector="A->B.MirrorSourceConnector") == 1
    assert {"mm2_build_info", "process_cpu_seconds_total"} <= found.names


def test_how_far_a_copy_is_behind() -> None:
    seen = SeenFlow()
    for seconds, reached, end in ((0, 10, 10), (4, 10, 50), (8, 30, 50)):
        told = place(0, records=reached, position=reached - 1, end=end, lag=end - reached)
        seen.report(0, told, at_ms=NOW + 1000 * seconds)
        seen.report(1, place(2, records=1, end=1, lag=0), at_ms=NOW + 1000 * seconds)
    found = scrape(seen, now_ms=NOW + 8000)
    assert found.value("mm2_partition_lag_seconds", **PLACE) == 8
    assert found.value("mm2_partition_lag_seconds", **{**PLACE, "partition": "2"}) == 0
    assert found.value("mm2_partition_eta_seconds", **{**PLACE, "partition": "2"}) == 0
    seen.report(0, place(0, records=50, position=49, end=50, lag=0), at_ms=NOW + 9000)
    assert scrape(seen, now_ms=NOW + 9000).value("mm2_partition_lag_seconds", **PLACE) == 0


def test_how_far_a_first_copy_is() -> None:
    seen = SeenFlow()
    for seconds, reached in ((30, 0), (34, 100), (42, 300)):
        numbers = {"records": reached, "bytes": 10 * reached, "position": reached - 1}
        told = place(0, start=0, end=5000, lag=5000 - reached, **numbers)
        seen.report(0, told, place(1, start=0), at_ms=NOW + 1000 * seconds)
        seen.report(1, place(2, start=0), at_ms=NOW + 1000 * seconds)
    found = scrape(seen, now_ms=NOW + 42_000)
    # 4700 of 5020 records are left, and 30 fewer each second.
    copied = {
        "copied_percent": 6,
        "lag_records": 4700,
        "lag_bytes": 47_000,
        "record_rate": 30,
        "byte_rate": 300,
        "eta_seconds": 157,
        "catching_up": 1,
    }
    for of in ("flow", "topic"):
        assert {name: found.value(f"mm2_{of}_{name}") for name in copied} == copied
    (shown,) = topics_of(seen.view(NOW + 42_000))
    assert (shown.progress.percent, shown.progress.bytes_left) == (6, 47_000)
    assert shown.progress.eta_s == 157
    (sample,) = found.all("mm2_topic_copied_percent")
    assert sample.labels == {"flow": "A->B", "source": "A", "target": "B", "topic": "A.t"}


def test_a_copy_that_does_not_come_nearer_is_never_complete() -> None:
    seen = SeenFlow()
    seen.report(0, place(0, start=0, end=100, lag=90), place(1, start=0))
    seen.report(1, place(2, start=0))
    assert scrape(seen).value("mm2_flow_eta_seconds") == float("inf")


def test_of_a_log_that_is_not_known_nobody_knows_how_much_is_copied() -> None:
    found = scrape(SeenFlow())
    assert not found.all("mm2_flow_copied_percent")
    assert found.value("mm2_flow_eta_seconds") == 0


def test_partitions_that_nobody_has_any_more_have_no_series() -> None:
    seen = full_flow()
    seen.report(0, place(9, records=5))
    assert not scrape(seen).all(f"{SOURCE}record_count", partition="9")


def test_groups_are_bounded() -> None:
    seen = full_flow()
    for number in range(5):
        add_checkpoint(seen, f"newer-{number}", NOW + number)
    found = scrape(seen, most_groups=2)
    kept = {each.labels["group"] for each in found.all(f"{CHECKPOINT}checkpoint_latency_ms")}
    assert kept == {"newer-3", "newer-4"}
    assert found.value("mm2_flow_groups_without_series") == 4


def test_groups_without_checkpoints_for_an_hour_have_no_series() -> None:
    seen = full_flow()
    seen.report(0, place(0, records=10), at_ms=NOW + 3_700_000)
    assert not scrape(seen, now_ms=NOW + 3_700_000).all("mm2_checkpoint_exact")


def test_names_of_groups_may_be_anything() -> None:
    seen, name = full_flow(), 'a"b\\c\nd{}ö'
    add_checkpoint(seen, name)
    groups = {each.labels["group"] for each in scrape(seen).all("mm2_checkpoint_exact")}
    assert groups == {"g", name}


@given(st.text())
def test_any_label_is_read_as_it_was(value: str) -> None:
    series: Series[str] = Series("a", "doc", len)
    text = Family(series, [(labels_of({"l": value}), value)]).text()
    (family,) = text_string_to_metric_families(text)
    (sample,) = family.samples
    assert sample.labels == {"l": value.encode(errors="replace").decode()}


def test_two_flows_are_in_one_scrape() -> None:
    """Reading it checks that names are in one place, and that no two samples are the same."""
    back = SeenFlow(config_of({"B->A.enabled": "true"}, B_TO_A))
    found = scrape(full_flow(), back)
    assert {each.labels["flow"] for each in found.all("mm2_flow_leader")} == {"A->B", "B->A"}
    assert found.value("kafka_connect_worker_connector_count") == 6


def test_connectors_that_copy_the_same_topic_have_their_own_series() -> None:
    """Reading it checks that no two samples are the same; Java's labels do not tell them apart."""
    found = scrape(SeenFlow(_connector("one")), SeenFlow(_connector("other")))
    assert len(found.all(f"{SOURCE}record_count", **PLACE)) == 1
    lags = found.all("mm2_partition_lag_records", **PLACE)
    assert {each.labels["flow"] for each in lags} == {"one", "other"}


def _connector(name: str) -> FlowConfig:
    """What a worker of Connect runs for a source connector from A to B."""
    worker = WorkerConfig(raw={}, is_distributed=False)
    aliases = {"source.cluster.alias": "A", "target.cluster.alias": "B"}
    servers = {"source.cluster.bootstrap.servers": "a:1"}
    own = {"name": name, "connector.class": "MirrorSourceConnector", **aliases, **servers}
    converters = {f"{each}.converter": BYTES for each in ("key", "value")}
    return read_connector({**own, **converters}, worker).flow


def test_a_node_that_leads_nothing_has_no_flows() -> None:
    assert scrape().value("kafka_connect_worker_connector_count") == 0
    assert not scrape().all("mm2_flow_leader")


async def test_metrics_are_served_as_prometheus_reads_them() -> None:
    seen = full_flow()
    metrics = Metrics(lambda: [LedFlow(seen.config, seen.snapshot)], MetricsSettings())
    async with (
        interface(FakeConnectors(), metrics=metrics) as client,
        client.session.get(f"{client.url}/metrics") as response,
    ):
        assert response.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
        found = Scrape(await response.text())
    assert "mm2_flow_leader" in found.names


async def test_where_metrics_are_off_there_are_none() -> None:
    async with interface(FakeConnectors()) as client:
        assert (await client.ask("GET", "/metrics"))[0] == 404


async def test_metrics_have_a_listener_of_their_own_on_request() -> None:
    metrics = Metrics(list, MetricsSettings())
    of = settings(metrics_listeners=(ANY_PORT,))
    async with interface(FakeConnectors(), of, metrics=metrics) as client:
        for path in ("metrics", "health", "health/ready"):
            async with client.session.get(f"{client.metrics_url}/{path}") as response:
                assert response.status == 200
        async with client.session.get(f"{client.metrics_url}/connectors") as response:
            assert (response.status, json.loads(await response.text())["error_code"]) == (404, 404)


def test_settings_of_metrics_are_read() -> None:
    found = read_rest(
        {
            "rest.enabled": "false",
            "metrics.listeners": "http://127.0.0.1:0",
            "metrics.name.aliases": "snake, reporter",
            "metrics.groups.max": "5",
        }
    )
    assert found is not None
    assert found.listeners == ()
    assert found.metrics_listeners == (ANY_PORT,)
    assert found.metrics == MetricsSettings(aliases=("snake", "reporter"), most_groups=5)
    assert read_rest({"rest.enabled": "false"}) is None
    with pytest.raises(ConfigErrors, match=r"metrics\.listeners"):
        read_rest({"metrics.listeners": "127.0.0.1:9404"})


def test_the_page_of_the_reference_is_up_to_date() -> None:
    assert PAGE.read_text() == reference_page(), "run scripts/generate-docs"


@pytest.mark.parametrize("name", sorted(scrape(full_flow()).names))
def test_every_series_is_in_the_reference(name: str) -> None:
    stem = name.removeprefix(SOURCE).removeprefix(CHECKPOINT)
    is_of_the_process = name.startswith(("process_", "python_"))
    assert is_of_the_process or f"`{stem}`" in reference_page()
