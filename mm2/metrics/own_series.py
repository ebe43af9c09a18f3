"""Our own series: what Java's MirrorMaker does not tell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from mm2.metrics.exposition import Family, Labels, Series, Value, families, labels_of
from mm2.metrics.groups import MeteredGroup
from mm2.metrics.java_series import sampled
from mm2.metrics.partitions import Flow, Partition
from mm2.metrics.tasks import MeteredConnector, MeteredTask
from mm2.protocol.heartbeat_progress import WayProgress


@dataclass(frozen=True, slots=True)
class Way:
    """Heartbeats that come in through a flow."""

    flow: Flow
    told: WayProgress


@dataclass(frozen=True, slots=True)
class Cut:
    """
    A flow with more groups than have series.

    Attributes:
        groups: partitions of groups without series.
    """

    flow: Flow
    groups: int


def _heartbeat_age_s(flow: Flow) -> Value:
    told = flow.led.snapshot.heartbeats
    return None if told is None else max(0, flow.now_ms - told.last_ms) / 1000


def _epoch(flow: Flow) -> Value:
    lease = flow.led.snapshot.lease
    return None if lease is None else lease.epoch


def _groups(flow: Flow) -> Value:
    told = flow.led.snapshot.checkpoints
    return None if told is None else told.groups


def _lease_age_s(flow: Flow) -> Value:
    snapshot = flow.led.snapshot
    return None if snapshot.lease is None else max(0, flow.now_ms - snapshot.lease_ms) / 1000


def _pinned_s(partition: Partition) -> Value:
    if partition.seen is None:
        return None
    since_ms = partition.seen.last.pinned_since_ms
    return max(0, partition.now_ms - since_ms) / 1000 if since_ms >= 0 else 0


OF_FLOWS: Final[Sequence[Series[Flow]]] = (
    Series("mm2_flow_leader", "1: this node leads the flow.", lambda _: 1),
    Series("mm2_flow_epoch", "Epoch of the leader; grows with each one.", _epoch),
    Series("mm2_flow_lease_age_seconds", "Time since the leader renewed its lease.", _lease_age_s),
    Series(
        "mm2_flow_heartbeat_age_seconds",
        "Time since the flow last wrote a heartbeat.",
        _heartbeat_age_s,
    ),
    Series(
        "mm2_flow_groups",
        "Consumer groups whose offsets are translated.",
        _groups,
    ),
)

OF_WAYS: Final[Sequence[Series[Way]]] = (
    Series(
        "mm2_heartbeat_age_seconds",
        "Age of the newest heartbeat that has come in this way.",
        lambda each: (
            max(0, each.flow.now_ms - each.told.last_ms) / 1000 if each.told.last_ms >= 0 else None
        ),
    ),
)

OF_CUTS: Final[Sequence[Series[Cut]]] = (
    Series(
        "mm2_flow_groups_without_series",
        "Partitions of groups beyond metrics.groups.max, which have no series.",
        lambda each: each.groups,
    ),
)

OF_CONNECTORS: Final[Sequence[Series[MeteredConnector]]] = (
    Series(
        "mm2_connector_as_wanted",
        "1 if the connector and its tasks do what operators want of them.",
        lambda each: int(each.view.is_in_target_state),
    ),
)

OF_TASKS: Final[Sequence[Series[MeteredTask]]] = (
    Series("mm2_task_report_age_seconds", "Time since the task reported.", lambda each: each.age_s),
    Series(
        "mm2_task_source_throttled_ms_total",
        "Time that quotas of the source have held the task back, since it started.",
        lambda each: each.report.pace.source_throttled_ms if each.report else None,
        "counter",
    ),
    Series(
        "mm2_task_target_throttled_ms_total",
        "Time that quotas of the target have held the task back, since it started.",
        lambda each: each.report.pace.target_throttled_ms if each.report else None,
        "counter",
    ),
    Series(
        "mm2_task_byte_rate_limit",
        "The task's share of the flow's limit, in bytes per second; absent without one.",
        lambda each: each.report.pace.byte_rate_limit if each.report else None,
    ),
)

OF_PARTITIONS: Final[Sequence[Series[Partition]]] = (
    Series("mm2_partition_lag_records", "Records that are not copied.", lambda each: each.view.lag),
    Series(
        "mm2_partition_lag_seconds",
        "Time since the copy was last complete; 0 if it is.",
        lambda each: each.behind_s,
    ),
    Series(
        "mm2_partition_copied_offset",
        "Offset of the source up to which all is copied, that one included.",
        lambda each: each.copied,
    ),
    Series(
        "mm2_partition_source_end_offset",
        "End of the source's log: high watermark, or last stable offset if read committed.",
        lambda each: each.end,
    ),
    Series(
        "mm2_partition_eta_seconds",
        "Time until the copy is complete if both logs go on growing as they do; +Inf: never.",
        lambda each: each.eta_s,
    ),
    Series(
        "mm2_partition_backfill_records",
        "Records to copy that the source had already when the task began.",
        lambda each: each.seen.last.backfill if each.seen else None,
    ),
    *sampled(
        "mm2_partition_end_to_end_latency_ms",
        "From a batch's oldest timestamp to its acknowledgement by the target, without backfill",
        "live_ms",
    ),
    Series(
        "mm2_partition_lost_records_total",
        "Offsets that were gone from the source before they were copied.",
        lambda each: each.counts.lost,
        "counter",
    ),
    Series(
        "mm2_partition_diverged_records_total",
        "Offsets that were copied and that the source no longer has.",
        lambda each: each.counts.diverged,
        "counter",
    ),
    Series(
        "mm2_partition_skipped_records_total",
        "Records that were not copied, as errors.tolerance says.",
        lambda each: each.counts.skipped,
        "counter",
    ),
    Series(
        "mm2_partition_dead_letters_total",
        "Of the skipped records, those written to the dead-letter topic.",
        lambda each: each.counts.dead_letters,
        "counter",
    ),
    Series(
        "mm2_partition_left_out_records_total",
        "Records of which transforms, handlers or provenance made no copy; after an error, those"
        " that are handled again count again.",
        lambda each: each.counts.left_out,
        "counter",
    ),
    Series(
        "mm2_partition_failed",
        "1 if the partition does not go on because of an error.",
        lambda each: int(each.seen.last.error is not None) if each.seen else None,
    ),
    Series(
        "mm2_partition_last_stable_offset_age_seconds",
        "For how long an open transaction has held back the source's last stable offset; 0: none"
        " does.",
        _pinned_s,
    ),
)

OF_GROUPS: Final[Sequence[Series[MeteredGroup]]] = (
    Series(
        "mm2_checkpoint_exact",
        "1 if the group's offset was last translated exactly, 0 if to one before it.",
        lambda each: int(each.last.exact),
    ),
)


def of_flows(
    flows: Sequence[Flow], connectors: Sequence[MeteredConnector], tasks: Sequence[MeteredTask]
) -> Iterator[Family[Any]]:
    """Of whole flows, and of their connectors and tasks."""
    yield from families(OF_FLOWS, ((labels_of(each.names), each) for each in flows))
    yield from families(OF_WAYS, _ways(flows))
    yield from families(
        OF_CONNECTORS,
        ((labels_of({**each.flow.names, "connector": each.name}), each) for each in connectors),
    )
    yield from families(
        OF_TASKS, ((labels_of({**each.flow.names, "task": each.number}), each) for each in tasks)
    )


def of_partitions(partitions: Sequence[Partition]) -> Iterator[Family[Partition]]:
    """Of partitions, with Java's labels after those of the flow."""
    yield from families(
        OF_PARTITIONS,
        ((labels_of({**each.flow.names, **each.labels}), each) for each in partitions),
    )


def of_groups(groups: Sequence[MeteredGroup], cuts: Sequence[Cut]) -> Iterator[Family[Any]]:
    """Of groups, with Java's labels after those of the flow."""
    yield from families(OF_CUTS, ((labels_of(each.flow.names), each) for each in cuts))
    yield from families(
        OF_GROUPS, ((labels_of({**each.flow.names, **each.labels}), each) for each in groups)
    )


def _ways(flows: Sequence[Flow]) -> Iterator[tuple[Labels, Way]]:
    for flow in flows:
        told = flow.led.snapshot.heartbeats
        for each in told.ways if told else ():
            labels = {**flow.names, "topic": each.topic, "way": "->".join(each.way)}
            yield labels_of(labels), Way(flow, each)
