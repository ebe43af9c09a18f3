"""
The series of Java's MirrorSourceConnector and MirrorCheckpointConnector, and how they are named.

``legacy`` and ``new`` are the formats of KIP-1280, as Strimzi's rules for the JMX exporter and its
metrics reporter turn JMX names into Prometheus'. ``snake`` is a spelling of older rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from mm2.config.keys.keys_top import SNAKE
from mm2.config.metrics_settings import MetricsSettings
from mm2.core.model import CHECKPOINT_CONNECTOR, SOURCE_CONNECTOR
from mm2.metrics.exposition import Family, Labels, Series, Value, families, labels_of
from mm2.metrics.groups import MeteredGroup
from mm2.metrics.partitions import Flow, Partition

_T = TypeVar("_T")

LEGACY: Final = "legacy"
NEW: Final = "new"

_STATISTICS: Final = (
    ("", "the last"),
    ("_min", "the least of the last minute"),
    ("_max", "the highest of the last minute"),
    ("_avg", "the mean of the last minute"),
)


def sampled(name: str, doc: str, field: str) -> Iterator[Series[Partition]]:
    """The four statistics of what tasks report in a field, named as Java's."""
    for place, (suffix, which) in enumerate(_STATISTICS):

        def value(each: Partition, place: int = place) -> Value:
            sample = getattr(each.seen.last, field) if each.seen else ()
            return sample[place] if sample else None

        yield Series(name + suffix, f"{doc}: {which}.", value)


OF_PARTITIONS: Final[Sequence[Series[Partition]]] = (
    Series(
        "record_count",
        "Records copied, by all tasks that ever had the partition.",
        lambda each: each.counts.records,
    ),
    Series(
        "record_rate",
        "Records copied per second, over 10 s.",
        lambda each: each.view.records_per_s,
    ),
    Series(
        "byte_count",
        "Bytes of batches as produced, by all tasks that ever had the partition.",
        lambda each: each.counts.bytes,
    ),
    Series(
        "byte_rate",
        "Bytes of batches as produced per second, over 10 s.",
        lambda each: each.view.bytes_per_s,
    ),
    *sampled("record_age_ms", "Age of a batch's oldest record when it was read", "age_ms"),
    *sampled(
        "replication_latency_ms",
        "Age of a batch's oldest record when the target had it",
        "replication_ms",
    ),
    *sampled(
        "record_bytes", "Bytes of a record, as compressed, the mean of a batch", "record_bytes"
    ),
)

OF_GROUPS: Final[Sequence[Series[MeteredGroup]]] = (
    Series(
        "checkpoint_latency_ms",
        "Time from a checkpoint's choice until it was written: the last.",
        lambda each: each.last.last_ms,
    ),
    Series(
        "checkpoint_latency_ms_min",
        "The same: the least of the last minute.",
        lambda each: each.last.min_ms,
    ),
    Series(
        "checkpoint_latency_ms_max",
        "The same: the highest of the last minute.",
        lambda each: each.last.max_ms,
    ),
    Series(
        "checkpoint_latency_ms_avg",
        "The same: the mean of the last minute.",
        lambda each: each.last.avg_ms,
    ),
)


@dataclass(frozen=True, slots=True)
class Spelling:
    """
    One way to name the series of a connector.

    Attributes:
        prefix: of names.
        applies: whether a flow's series are named so.
        labels: of a flow and the number of a task, before those of the partition.
    """

    prefix: str
    applies: Callable[[Flow, MetricsSettings], bool]
    labels: Callable[[Flow, int], Mapping[str, object]]


def _clusters(flow: Flow, _: int) -> Mapping[str, object]:
    return flow.clusters


def _older(flow: Flow, _: int) -> Mapping[str, object]:
    return {**flow.clusters, "destination": flow.config.flow.target}


def _plugin(part: str) -> Callable[[Flow, int], Mapping[str, object]]:
    return lambda flow, task: {"connector": flow.connector(part), "task": task, **flow.clusters}


def _source(name: str) -> Callable[[Flow, MetricsSettings], bool]:
    return lambda flow, _: name in flow.config.source.metric_names_formats


def _checkpoint(name: str) -> Callable[[Flow, MetricsSettings], bool]:
    return lambda flow, _: name in flow.config.checkpoint.metric_names_formats


def _snake(_: Flow, settings: MetricsSettings) -> bool:
    return SNAKE in settings.aliases


SOURCE_SPELLINGS: Final = (
    Spelling("kafka_connect_mirror_mirrorsourceconnector_", _source(LEGACY), _clusters),
    Spelling("kafka_connect_plugins_", _source(NEW), _plugin(SOURCE_CONNECTOR)),
    Spelling("kafka_connect_mirror_source_connector_", _snake, _older),
)
CHECKPOINT_SPELLINGS: Final = (
    Spelling("kafka_connect_mirror_mirrorcheckpointconnector_", _checkpoint(LEGACY), _clusters),
    Spelling("kafka_connect_plugins_", _checkpoint(NEW), _plugin(CHECKPOINT_CONNECTOR)),
    Spelling("kafka_connect_mirror_checkpoint_connector_", _snake, _older),
)


def of_partitions(
    partitions: Sequence[Partition], settings: MetricsSettings
) -> Iterator[Family[Partition]]:
    """The series of source connectors."""
    for spelling in SOURCE_SPELLINGS:
        table = [each.prefixed(spelling.prefix) for each in OF_PARTITIONS]
        found = (
            (labels_of({**spelling.labels(each.flow, each.view.task), **each.labels}), each)
            for each in partitions
            if spelling.applies(each.flow, settings)
        )
        yield from families(table, _first(found))


def of_groups(
    groups: Sequence[MeteredGroup], settings: MetricsSettings
) -> Iterator[Family[MeteredGroup]]:
    """The series of checkpoint connectors."""
    for spelling in CHECKPOINT_SPELLINGS:
        table = [each.prefixed(spelling.prefix) for each in OF_GROUPS]
        found = (
            (labels_of({**spelling.labels(each.flow, 0), **each.labels}), each)
            for each in groups
            if spelling.applies(each.flow, settings)
        )
        yield from families(table, _first(found))


def _first(found: Iterable[tuple[Labels, _T]]) -> Iterable[tuple[Labels, _T]]:
    """
    One of those with the same labels, as a name of JMX is registered once.

    Connectors that share both clusters and a topic have the same labels here.
    """
    kept: dict[str, tuple[Labels, _T]] = {}
    for labels, thing in found:
        kept.setdefault(labels.text, (labels, thing))
    return kept.values()
