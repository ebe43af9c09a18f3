"""Each alert rule fires for what it is about, when it says so, and is silent otherwise."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import pytest
import yaml

from mm2.metrics.shipped import ALERTS, shipped
from tests.support.promtool import NEEDS_PROMTOOL, promtool

pytestmark = NEEDS_PROMTOOL

_FLOW: Final = 'flow="A->B",source="A",target="B",instance="n1",job="mm2"'
_TOPIC: Final = f'{_FLOW},topic="A.t",partition="0"'
_NODE: Final = 'instance="n1",job="mm2"'
_LED: Final = 'mm2_flow_leader{flow="A->B",source="A",target="B",job="mm2",instance='
_WARNING: Final = f'{_NODE},level="warning",event='
_NEVER: Final = " ".join(["Inf"] * 45)

_Input = Mapping[str, str]
"""Values of series, one for each minute."""

_FIRES: Final[Mapping[str, list[tuple[int, _Input]]]] = {
    "MirrorFlowNotLed": [(8, {f'{_LED}"n1"}}': "1x5 stale"})],
    "MirrorFlowLedTwice": [(2, {f'{_LED}"n1"}}': "1x20", f'{_LED}"n2"}}': "1x20"})],
    "MirrorBehind": [(5, {f"mm2_partition_lag_seconds{{{_TOPIC}}}": "301x20"})],
    "MirrorNeverCatchesUp": [(30, {f"mm2_partition_eta_seconds{{{_TOPIC}}}": _NEVER})],
    "MirrorLatencyHigh": [
        (10, {f"mm2_partition_end_to_end_latency_ms_avg{{{_TOPIC}}}": "60001x20"})
    ],
    "MirrorRecordsLost": [(6, {f"mm2_partition_lost_records_total{{{_TOPIC}}}": "0x5 1x9"})],
    "MirrorRecordsDiverged": [
        (6, {f"mm2_partition_diverged_records_total{{{_TOPIC}}}": "0x5 1x9"})
    ],
    "MirrorRecordsSkipped": [(6, {f"mm2_partition_skipped_records_total{{{_TOPIC}}}": "0x5 1x9"})],
    "MirrorPartitionFailed": [(5, {f"mm2_partition_failed{{{_TOPIC}}}": "1x20"})],
    "MirrorConnectorNotAsWanted": [
        (5, {f'mm2_connector_as_wanted{{{_FLOW},connector="MirrorSourceConnector"}}': "0x20"})
    ],
    "MirrorTaskSilent": [(2, {f'mm2_task_report_age_seconds{{{_FLOW},task="0"}}': "121x20"})],
    "MirrorHeartbeatsNotWritten": [(2, {f"mm2_flow_heartbeat_age_seconds{{{_FLOW}}}": "61x20"})],
    "MirrorHeartbeatsStale": [
        (5, {f'mm2_heartbeat_age_seconds{{{_FLOW},topic="heartbeats",way="A->B"}}': "121x20"})
    ],
    "MirrorTransactionHangs": [
        (4, {f"mm2_partition_last_stable_offset_age_seconds{{{_TOPIC}}}": "720+60x9"})
    ],
    "MirrorGroupsWithoutMetrics": [(60, {f"mm2_flow_groups_without_series{{{_FLOW}}}": "3x90"})],
    "MirrorTasksWaitForSpark": [(10, {f"mm2_spark_tasks_waiting{{{_NODE}}}": "2x20"})],
    "MirrorNodeWithoutExecutor": [(30, {f"mm2_spark_warm{{{_NODE}}}": "0x60"})],
    "MirrorSparkCoresMissing": [(60, {f"mm2_spark_cores_missing{{{_NODE}}}": "1x90"})],
    "MirrorSparkExecutorsLost": [(31, {f"mm2_spark_executors_lost_total{{{_NODE}}}": "0x30 4x9"})],
    "MirrorSparkApplicationRestarts": [
        (31, {f"mm2_spark_application_restarts_total{{{_NODE}}}": "0x30 4x9"})
    ],
    "MirrorSyncsFail": [
        (36, {f'mm2_events_total{{{_WARNING}"{event}"}}': values})
        for event, values in (
            ("job.failed", "0x5 1x9 2x9 3x9 4x9"),
            ("topic_acls.not_synced", "0x5 1x9 2x9 3x9 4x9"),
            ("group_offsets.not_synced", "0x5 1+1x60"),
            ("topic_config.not_synced", "0x5 1x60"),
        )
    ],
}
"""By rule: from which minute on it fires for which series."""

_SILENT: Final[Mapping[str, list[_Input]]] = {
    "MirrorFlowNotLed": [
        {f'{_LED}"n1"}}': "1x5 stale", f'{_LED}"n2"}}': "_x5 1x90"},
        {f'{_LED}"n1"}}': "1x90"},
    ],
    "MirrorFlowLedTwice": [
        {f'{_LED}"n1"}}': "1x90", f'mm2_flow_leader{{flow="B->A",{_NODE}}}': "1x90"}
    ],
    "MirrorBehind": [{f"mm2_partition_lag_seconds{{{_TOPIC}}}": "300x90"}],
    "MirrorNeverCatchesUp": [{f"mm2_partition_eta_seconds{{{_TOPIC}}}": "86400x90"}],
    "MirrorLatencyHigh": [{f"mm2_partition_end_to_end_latency_ms_avg{{{_TOPIC}}}": "60000x90"}],
    "MirrorRecordsLost": [{f"mm2_partition_lost_records_total{{{_TOPIC}}}": "7x90"}],
    "MirrorRecordsDiverged": [{f"mm2_partition_diverged_records_total{{{_TOPIC}}}": "7x90"}],
    "MirrorRecordsSkipped": [{f"mm2_partition_skipped_records_total{{{_TOPIC}}}": "7x90"}],
    "MirrorPartitionFailed": [{f"mm2_partition_failed{{{_TOPIC}}}": "0x9 1x4 0x76"}],
    "MirrorConnectorNotAsWanted": [
        {f'mm2_connector_as_wanted{{{_FLOW},connector="MirrorSourceConnector"}}': "1x9 0x4 1x76"}
    ],
    "MirrorTaskSilent": [{f'mm2_task_report_age_seconds{{{_FLOW},task="0"}}': "120x90"}],
    "MirrorHeartbeatsNotWritten": [{f"mm2_flow_heartbeat_age_seconds{{{_FLOW}}}": "60x90"}],
    "MirrorHeartbeatsStale": [
        {f'mm2_heartbeat_age_seconds{{{_FLOW},topic="heartbeats",way="A->B"}}': "120x90"}
    ],
    "MirrorTransactionHangs": [
        {f"mm2_partition_last_stable_offset_age_seconds{{{_TOPIC}}}": "900x90"}
    ],
    "MirrorGroupsWithoutMetrics": [{f"mm2_flow_groups_without_series{{{_FLOW}}}": "0x90"}],
    "MirrorTasksWaitForSpark": [{f"mm2_spark_tasks_waiting{{{_NODE}}}": "2x9 0x80"}],
    "MirrorNodeWithoutExecutor": [{f"mm2_spark_warm{{{_NODE}}}": "0x29 1x30"}],
    "MirrorSparkCoresMissing": [{f"mm2_spark_cores_missing{{{_NODE}}}": "1x59 0x30"}],
    "MirrorSparkExecutorsLost": [{f"mm2_spark_executors_lost_total{{{_NODE}}}": "0x30 1x60"}],
    "MirrorSparkApplicationRestarts": [
        {f"mm2_spark_application_restarts_total{{{_NODE}}}": "0x30 1x60"}
    ],
    "MirrorSyncsFail": [
        {f'mm2_events_total{{{_WARNING}"job.failed"}}': "0x5 1x85"},
        {f'mm2_events_total{{{_WARNING}"topic_config.not_synced"}}': "1x90"},
        {f'mm2_events_total{{{_WARNING}"kafka.throttled"}}': "0+1x90"},
    ],
}
"""By rule: series for which it never fires in an hour and a half."""


def _rules() -> set[str]:
    (group,) = yaml.safe_load(shipped(ALERTS))["groups"]
    return {rule["alert"] for rule in group["rules"]}


def _firing() -> Iterator[tuple[str, int, _Input]]:
    for name, cases in _FIRES.items():
        yield from ((name, minute, series) for minute, series in cases)


def _silent() -> Iterator[tuple[str, _Input]]:
    for name, cases in _SILENT.items():
        yield from ((name, series) for series in cases)


def test_each_rule_is_seen_to_fire_and_to_be_silent() -> None:
    assert _rules() == {*_FIRES} == {*_SILENT}


@pytest.mark.parametrize(("rule", "minute", "series"), [*_firing()])
def test_a_rule_fires_when_it_says_so(
    tmp_path: Path, rule: str, minute: int, series: _Input
) -> None:
    _check(tmp_path, rule, series, {minute - 1: 0, minute: 1})


@pytest.mark.parametrize(("rule", "series"), [*_silent()])
def test_a_rule_is_silent_otherwise(tmp_path: Path, rule: str, series: _Input) -> None:
    _check(tmp_path, rule, series, dict.fromkeys(range(90), 0))


def _check(folder: Path, rule: str, series: _Input, firing: Mapping[int, int]) -> None:
    """How many alerts of a rule fire at some minutes."""
    (folder / ALERTS).write_text(shipped(ALERTS))
    alerts = f'count(ALERTS{{alertname="{rule}",alertstate="firing"}}) or vector(0)'
    case = {
        "interval": "1m",
        "input_series": [{"series": each, "values": values} for each, values in series.items()],
        "promql_expr_test": [
            {"expr": alerts, "eval_time": f"{at}m", "exp_samples": [{"labels": "{}", "value": n}]}
            for at, n in firing.items()
        ],
    }
    tests = folder / "tests.yml"
    document = {"rule_files": [ALERTS], "evaluation_interval": "1m", "tests": [case]}
    tests.write_text(yaml.safe_dump(document))
    promtool("test", "rules", tests)
