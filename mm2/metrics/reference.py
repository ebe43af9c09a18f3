"""The page of the reference that lists all series, made from their tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from mm2.metrics import (
    connect_series,
    copy_series,
    event_series,
    java_series,
    own_series,
    spark_series,
    stream_series,
)
from mm2.metrics.exposition import Series

_HEAD: Final = """\
# Metrics

`GET /metrics` on a node's [REST interface](rest.md) answers in Prometheus' text format, for the
flows that this node leads. [How to use it](../how-to/monitor.md). This page is made from the
tables that the server renders.

Counts of partitions go on when tasks, nodes and leaders change; other counters begin at zero with
the leader or the task. Java's counts are gauges, because JMX and its exporters have them so.
"""

_SOURCE_TEXT: Final = """\
Begin with `kafka_connect_mirror_mirrorsourceconnector_`. Labels: `source`, `target`, `topic` (the
remote one), `partition`. With `metric.names.formats = new` they begin with
`kafka_connect_plugins_`, and have the labels `connector` and `task`, too. Connectors of a Connect
worker that share both clusters and a topic have the same labels in the old format: one of them is
shown."""

_CHECKPOINT_TEXT: Final = """\
Begin with `kafka_connect_mirror_mirrorcheckpointconnector_`, or with `kafka_connect_plugins_` in
the new format. Labels: `source`, `target`, `group`, `topic` (the remote one), `partition`."""

_COPIES_TEXT: Final = """\
Of flows and topics to which a task has copied, as `mm2 status` and `mm2 topics` show them."""

_EVENTS_TEXT: Final = """\
Of this node and of its tasks, as far as they are logged: `--log-level error` counts no warnings.
`event` is one of [the list](events.md), or `other`. Most series begin with the first such event."""

_STREAMS_TEXT: Final = """\
Where `--metrics.listener` of [the legacy tool](../how-to/run-the-legacy-mirror-maker.md) says. Its
counts begin anew when the group gives a partition to a stream. It has no other series."""

_PROCESS: Final = """
## The process

`mm2_build_info` with the label `version`, and `process_*` and `python_*` of prometheus-client.
"""

_Row = tuple[str, str, str, str]


def reference_page() -> str:
    """The page, in Markdown."""
    return "".join(
        [
            _HEAD,
            *_section(
                "## MirrorSourceConnector", _SOURCE_TEXT, _rows(java_series.OF_PARTITIONS, "")
            ),
            *_section(
                "## MirrorCheckpointConnector", _CHECKPOINT_TEXT, _rows(java_series.OF_GROUPS, "")
            ),
            *_section(
                "## Connect's worker and Kafka's clients",
                "Values of `connector` and `clientid` are in quotes, as JMX writes them.",
                _connect_rows(),
            ),
            *_section("## Flows, connectors and tasks", "", _flow_rows()),
            *_section("## How far copies are", _COPIES_TEXT, _copy_rows()),
            *_section(
                "## Partitions",
                "Labels: `flow`, `source`, `target`, `topic` (the remote one), `partition`.",
                _rows(own_series.OF_PARTITIONS, ""),
            ),
            *_section(
                "## Groups",
                "Labels: `flow`, `source`, `target`, `group`, `topic` (the remote one), "
                "`partition`.",
                _rows(own_series.OF_GROUPS, ""),
            ),
            *_section(
                "## Spark",
                "Of a node whose `spark.master` is a cluster; there are none with a local one.",
                _rows(spark_series.OF_SPARK, ""),
            ),
            *_section(
                "## Log events",
                _EVENTS_TEXT,
                _rows(event_series.OF_EVENTS, "`event`, `level`"),
            ),
            *_section(
                "## kafka-mirror-maker",
                _STREAMS_TEXT,
                [
                    *_rows(stream_series.OF_STREAMS, "`group`, `stream`"),
                    *_rows(stream_series.OF_OFFSET_STORES, "`group`, `stream`, `store`"),
                    *_rows(
                        stream_series.OF_STREAM_PARTITIONS,
                        "`group`, `stream`, `topic`, `partition`",
                    ),
                ],
            ),
            _PROCESS,
        ]
    )


def _section(title: str, text: str, rows: Iterable[_Row]) -> Iterator[str]:
    found = list(rows)
    has_labels = any(labels for _, labels, _, _ in found)
    yield f"\n{title}\n\n"
    if text:
        yield f"{text}\n\n"
    yield (
        "| series | labels | type | |\n|---|---|---|---|\n"
        if has_labels
        else ("| series | type | |\n|---|---|---|\n")
    )
    for name, labels, kind, doc in found:
        cells = [f"`{name}`", *([labels] if has_labels else []), kind, doc]
        yield f"| {' | '.join(cells)} |\n"


def _rows(table: Sequence[Series[Any]], labels: str, prefix: str = "") -> Iterator[_Row]:
    for each in table:
        yield prefix + each.name, labels, each.kind, each.doc


def _connect_rows() -> Iterator[_Row]:
    style, place = connect_series.JMX_STYLE, "`connector`, `task`"
    yield from _rows([connect_series.STATUS], f"{place}, `status`")
    yield from _rows(connect_series.WORKER["worker"], "", style.worker)
    yield from _rows(connect_series.WORKER["rebalance"], "", style.rebalance)
    yield from _rows(connect_series.WORKER["coordinator"], "`clientid`", style.coordinator)
    yield from _rows(
        [connect_series.CONSUMER_LAG],
        "`clientid`, `topic` (the source's), `partition`",
        style.fetch,
    )
    yield from _rows([connect_series.CONSUMER.named(style.incoming)], "`clientid`")
    yield from _rows([connect_series.PRODUCER_BYTES.named(style.outgoing)], "`clientid`")
    yield from _rows(connect_series.PRODUCER, "`clientid`", style.producer)
    yield from _rows(connect_series.COMMITS, place, style.commits)
    yield from _rows([connect_series.ACTIVE], place, style.source)


def _flow_rows() -> Iterator[_Row]:
    flow = "`flow`, `source`, `target`"
    yield from _rows(own_series.OF_FLOWS, flow)
    yield from _rows(own_series.OF_CUTS, flow)
    yield from _rows(own_series.OF_WAYS, f"{flow}, `topic`, `way`")
    yield from _rows(own_series.OF_CONNECTORS, f"{flow}, `connector`")
    yield from _rows(own_series.OF_TASKS, f"{flow}, `task`")


def _copy_rows() -> Iterator[_Row]:
    flow = "`flow`, `source`, `target`"
    yield from _rows(copy_series.OF_COPIES, flow, copy_series.OF_FLOWS)
    yield from _rows(
        copy_series.OF_COPIES, f"{flow}, `topic` (the remote one)", copy_series.OF_TOPICS
    )
