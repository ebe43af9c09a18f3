"""
The series of Connect's workers and of Kafka's clients that dashboards read.

Names are those of Strimzi's rules for the JMX exporter; ``reporter`` are those of its metrics
reporter, which puts no quotes around labels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from mm2.config.keys.keys_top import REPORTER
from mm2.config.metrics_settings import MetricsSettings
from mm2.metrics.exposition import Family, Labels, Series, families, labels_of
from mm2.metrics.partitions import Partition
from mm2.metrics.tasks import MeteredConnector, MeteredTask, is_rebalancing


@dataclass(frozen=True, slots=True)
class Worker:
    """
    This node, as Connect sees a worker.

    Attributes:
        connectors: of the flows that it leads.
    """

    connectors: Sequence[MeteredConnector]

    @property
    def tasks(self) -> int:
        """All of them."""
        return sum(len(each.view.tasks) for each in self.connectors)


@dataclass(frozen=True, slots=True)
class StatusSample:
    """What a connector or a task does; its labels say it."""

    connector: str
    task: int
    status: str


WORKER: Final[Mapping[str, Sequence[Series[Worker]]]] = {
    "worker": (
        Series(
            "connector_count",
            "Connectors of the flows that this node leads.",
            lambda each: len(each.connectors),
        ),
        Series("task_count", "Tasks of these connectors.", lambda each: each.tasks),
    ),
    "rebalance": (
        Series(
            "rebalancing",
            "1 while a task of them waits for its place, or begins again.",
            lambda each: int(is_rebalancing(list(each.connectors))),
        ),
    ),
    "coordinator": (
        Series(
            "assigned_connectors",
            "Connectors of the flows that this node leads.",
            lambda each: len(each.connectors),
        ),
        Series("assigned_tasks", "Tasks of these connectors.", lambda each: each.tasks),
    ),
}

CONSUMER_LAG: Final[Series[Partition]] = Series(
    "records_lag",
    "Records of the source's partition that are not copied.",
    lambda each: each.view.lag,
)
CONSUMER: Final[Series[MeteredTask]] = Series(
    "incoming_byte",
    "Bytes of the batches that the task has read and copied, since this node leads the flow.",
    lambda each: each.bytes,
    "counter",
)
PRODUCER_BYTES: Final[Series[MeteredTask]] = Series(
    "outgoing_byte",
    "Bytes of the batches that the task has produced, since this node leads the flow.",
    lambda each: each.bytes,
    "counter",
)
PRODUCER: Final[Sequence[Series[MeteredTask]]] = (
    Series(
        "buffer_available_bytes",
        "Memory between fetch and acknowledgement that is free.",
        lambda each: each.report.load.buffer_free_bytes if each.report else None,
    ),
    Series(
        "buffer_total_bytes",
        "Memory between fetch and acknowledgement.",
        lambda each: each.report.load.buffer_bytes if each.report else None,
    ),
)
COMMITS: Final[Sequence[Series[MeteredTask]]] = (
    Series(
        "offset_commit_avg_time_ms",
        "Time that commits of positions took: the mean of the last minute.",
        lambda each: (
            each.report.load.commit_ms[3] if each.report and each.report.load.commit_ms else 0
        ),
    ),
    Series(
        "offset_commit_max_time_ms",
        "Time that commits of positions took: the highest of the last minute.",
        lambda each: (
            each.report.load.commit_ms[2] if each.report and each.report.load.commit_ms else 0
        ),
    ),
)
ACTIVE: Final[Series[MeteredTask]] = Series(
    "source_record_active_count",
    "Records that were read and that the target does not have yet.",
    lambda each: each.report.load.active_records if each.report else 0,
)
STATUS: Final[Series[StatusSample]] = Series(
    "kafka_connect_connector_status", "1: what the task does.", lambda _: 1
)


@dataclass(frozen=True, slots=True)
class Style:
    """
    How names and labels are written.

    Attributes:
        client: name of the label for client ids.
        text: a label's value.
        worker, rebalance, coordinator, fetch, producer, commits, source: begin names.
        incoming, outgoing: whole names.
    """

    client: str
    text: Callable[[str], str]
    worker: str
    rebalance: str
    coordinator: str
    fetch: str
    producer: str
    commits: str
    source: str
    incoming: str
    outgoing: str


def quoted(value: str) -> str:
    """
    A label's value in the quotes that JMX puts around names such as ``A->B.MirrorSourceConnector``.

    Always, because dashboards look for them; Java leaves them out where no character needs them.
    """
    for special in ("\\", '"', "*", "?"):
        value = value.replace(special, f"\\{special}")
    return '"' + value.replace("\n", "\\n") + '"'


JMX_STYLE: Final = Style(
    client="clientid",
    text=quoted,
    worker="kafka_connect_worker_",
    rebalance="kafka_connect_worker_rebalance_",
    coordinator="kafka_connect_coordinator_",
    fetch="kafka_consumer_fetch_manager_",
    producer="kafka_producer_",
    commits="kafka_connect_connector_task_",
    source="kafka_connect_source_task_",
    incoming="kafka_consumer_incoming_byte_total",
    outgoing="kafka_producer_outgoing_byte_total",
)
REPORTER_STYLE: Final = Style(
    client="client_id",
    text=str,
    worker="kafka_connect_connect_worker_metrics_",
    rebalance="kafka_connect_connect_worker_rebalance_metrics_",
    coordinator="kafka_connect_connect_coordinator_metrics_",
    fetch="kafka_consumer_consumer_fetch_manager_metrics_",
    producer="kafka_producer_producer_metrics_",
    commits="kafka_connect_connector_task_metrics_",
    source="kafka_connect_source_task_metrics_",
    incoming="kafka_consumer_consumer_metrics_incoming_byte",
    outgoing="kafka_producer_producer_metrics_outgoing_byte",
)


def of_connect(
    connectors: Sequence[MeteredConnector],
    tasks: Sequence[MeteredTask],
    partitions: Sequence[Partition],
    settings: MetricsSettings,
) -> Iterator[Family[Any]]:
    """The series of this node as a worker, and of its tasks and their clients."""
    yield from families([STATUS], _statuses(connectors))
    styles = [JMX_STYLE, *([REPORTER_STYLE] if REPORTER in settings.aliases else [])]
    for style in styles:
        yield from _of_worker(style, Worker(connectors))
        yield from _of_tasks(style, tasks)
        yield from _of_partitions(style, tasks, partitions)


def _of_worker(style: Style, worker: Worker) -> Iterator[Family[Any]]:
    coordinator = labels_of({style.client: "connect-1"})
    for kind, prefix, labels in (
        ("worker", style.worker, labels_of({})),
        ("rebalance", style.rebalance, labels_of({})),
        ("coordinator", style.coordinator, coordinator),
    ):
        yield from families([each.prefixed(prefix) for each in WORKER[kind]], [(labels, worker)])


def _of_tasks(style: Style, tasks: Sequence[MeteredTask]) -> Iterator[Family[Any]]:
    producers = [(labels_of({style.client: style.text(each.producer)}), each) for each in tasks]
    consumers = [(labels_of({style.client: style.text(each.consumer)}), each) for each in tasks]
    places = [
        (labels_of({"connector": style.text(each.connector), "task": each.number}), each)
        for each in tasks
    ]
    yield from families([CONSUMER.named(style.incoming)], consumers)
    yield from families([PRODUCER_BYTES.named(style.outgoing)], producers)
    yield from families([each.prefixed(style.producer) for each in PRODUCER], producers)
    yield from families([each.prefixed(style.commits) for each in COMMITS], places)
    yield from families([ACTIVE.prefixed(style.source)], places)


def _of_partitions(
    style: Style, tasks: Sequence[MeteredTask], partitions: Sequence[Partition]
) -> Iterator[Family[Any]]:
    clients = {(id(each.flow), each.number): style.text(each.consumer) for each in tasks}
    yield from families(
        [CONSUMER_LAG.prefixed(style.fetch)],
        (
            (
                labels_of(
                    {
                        style.client: clients[id(each.flow), each.view.task],
                        "topic": each.view.source.topic,
                        "partition": each.view.source.partition,
                    }
                ),
                each,
            )
            for each in partitions
        ),
    )


def _statuses(connectors: Sequence[MeteredConnector]) -> Iterator[tuple[Labels, StatusSample]]:
    for each in connectors:
        for task in each.view.tasks:
            status = StatusSample(each.name, task.task, task.state.value.lower())
            labels = {
                "connector": quoted(status.connector),
                "task": status.task,
                "status": status.status,
            }
            yield labels_of(labels), status
