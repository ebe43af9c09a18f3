"""
One bundle of the source flow without herder and Spark: the task in a thread, told what to do by
control records written by hand.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from subprocess import PIPE, Popen
from typing import Any

from flows.source.connections import Connect
from flows.source.source_task import _run
from mm2.config.connector_settings import GapSettings
from mm2.config.record_clients import DataSettings
from mm2.core.model import ClusterAlias, GroupId, SourceAndTarget, TopicName, TopicPartition
from mm2.kafka.wire.wire_client import WireClient
from mm2.protocol.bundle_spec import BundleSpec, ExactlyOnceSpec
from mm2.protocol.control_codec import encode_control
from mm2.protocol.control_records import Assignment, BundleState
from mm2.protocol.progress_records import BundleProgress, PartitionProgress, decode_progress
from tests.support.cluster import Cluster
from tests.support.eventually import PATIENCE_S
from tests.support.raw import log_of, records_in
from tests.support.records import Sample, create_topic, produce
from tests.support.specs import data_settings, error_settings, gap_settings

_ROOT = Path(__file__).resolve().parents[2]


@dataclass
class Bench:
    """
    A flow of one bundle between two clusters, with topics of its own.

    Args:
        source: where records come from.
        target: where they go, and where the internal topics are.
        unique: part of all names.
        data: how records are read and written.
        exactly_once: whether it writes in transactions.
        offsets_partitions: of the positions topic.
        connect: makes the client of the target.
        topics: topics of the source and their numbers of partitions.
        remote_configs: settings of their copies.
        gaps: what is done when data are missing.
        replication_factor: of all topics on the target.
        consumer: more settings of the source's consumer.
        client_ids: of the source's consumer and of the target's producer.
        changes: other fields of the bundle's specification.
    """

    source: Cluster
    target: Cluster
    unique: str
    topics: Mapping[str, int]
    data: DataSettings = field(default_factory=data_settings)
    remote_configs: Mapping[str, str] = field(default_factory=dict)
    gaps: GapSettings = field(default_factory=gap_settings)
    replication_factor: int = 1
    consumer: Mapping[str, str] = field(default_factory=dict)
    client_ids: tuple[str, str] = ("test-consumer", "test-producer")
    changes: Mapping[str, Any] = field(default_factory=dict)
    exactly_once: bool = False
    offsets_partitions: int = 2
    connect: Connect = WireClient

    def __post_init__(self) -> None:
        """Creates all topics of the target."""
        self._epoch = 0
        self._generation = 0
        compacted = {"cleanup.policy": "compact"}
        self._create(self._name("control"), 1, compacted)
        self._create(self._name("offsets"), self.offsets_partitions, compacted)
        self._create(self._name("progress"), 1, {})
        for topic, partitions in self.topics.items():
            self._create(self.remote(topic), partitions, self.remote_configs)

    def _create(self, topic: str, partitions: int, configs: Mapping[str, str]) -> None:
        create_topic(
            self.target.bootstrap,
            topic,
            partitions,
            configs,
            replication_factor=self.replication_factor,
        )

    @staticmethod
    def remote(topic: str) -> str:
        """The name of a topic's copy."""
        return f"A.{topic}"

    @property
    def epoch(self) -> int:
        """Of the leader that the task has."""
        return self._epoch

    @property
    def group(self) -> GroupId:
        """Whose offsets are positions, exactly once."""
        return GroupId(f"__mm2-{self.unique}")

    @contextmanager
    def running(
        self, *, epoch: int | None = None, fails: bool = False
    ) -> Iterator[Future[Mapping[str, int]]]:
        """
        Runs a task, by default as a newer leader would; drains and stops it at the end.

        Gives the future of its totals, for those who expect it to fail to look at.
        """
        self._epoch = self._epoch + 1 if epoch is None else epoch
        self.command(BundleState.RUNNING)
        with ThreadPoolExecutor(1) as executor:
            future = executor.submit(self._run)
            try:
                yield future
            finally:
                self.command(BundleState.STOPPED)
                error = future.exception(PATIENCE_S)
        if error is not None and not fails:
            raise error

    @contextmanager
    def detached(self, *, columns: bool = False) -> Iterator[Popen[bytes]]:
        """
        Runs a task in a process of its own, which may be stopped or killed.

        What is compiled is there before, as in the process from which tasks are forked; what
        changes ``columns``, too, if asked for. Large pieces of memory are the system's, so that
        what the process holds is what it needs.
        """
        self._epoch += 1
        self.command(BundleState.RUNNING)
        run = "import pickle, sys; from flows.source.source_task import run_bundle as r"
        run += "; from mm2.kafka.wire.compiled import compile_now; compile_now()"
        if columns:
            run += "; from flows.source.transform.column_handle import compile_columns"
            run += "; compile_columns()"
        command = [sys.executable, "-c", f"{run}; r(pickle.load(sys.stdin.buffer))"]
        environment = {**os.environ, "MALLOC_MMAP_THRESHOLD_": str(32 << 10)}
        with Popen(command, stdin=PIPE, cwd=_ROOT, env=environment) as process:
            assert process.stdin is not None
            process.stdin.write(pickle.dumps(self._spec(self._epoch)))
            process.stdin.close()
            try:
                yield process
            finally:
                process.kill()

    def _run(self) -> Mapping[str, int]:
        return asyncio.run(_run(self._spec(self._epoch), self.connect))

    def command(self, state: BundleState) -> None:
        """Writes an assignment of all partitions."""
        self._generation += 1
        assignment = Assignment(
            index=0,
            epoch=self._epoch,
            generation=self._generation,
            state=state,
            partitions={
                TopicPartition(TopicName(topic), number): TopicName(self.remote(topic))
                for topic, count in self.topics.items()
                for number in range(count)
            },
        )
        self.tell(*encode_control(assignment))

    def tell(self, key: bytes, value: bytes | None) -> None:
        """Writes any record to the control topic."""
        produce(self.target.bootstrap, self._name("control"), [Sample(key=key, value=value)])

    def reports(self) -> list[BundleProgress]:
        """All reports, in order."""
        return [
            decode_progress(record.value)
            for record in records_in(log_of(self.target.bootstrap, self._name("progress")))
        ]

    def progress(self) -> dict[tuple[str, int], PartitionProgress]:
        """The last report of each partition."""
        return {(p.topic, p.partition): p for report in self.reports() for p in report.partitions}

    def _name(self, kind: str) -> str:
        return f"{self.unique}-{kind}"

    def _spec(self, epoch: int) -> BundleSpec:
        consumer, producer = self.client_ids
        spec = BundleSpec(
            flow=SourceAndTarget(ClusterAlias("A"), ClusterAlias("B")),
            index=0,
            epoch=epoch,
            source={
                "bootstrap.servers": self.source.bootstrap,
                "client.id": consumer,
                **self.consumer,
            },
            target={"bootstrap.servers": self.target.bootstrap, "client.id": producer},
            transactional_id=self._name("task"),
            offsets_topic=self._name("offsets"),
            control_topic=self._name("control"),
            progress_topic=self._name("progress"),
            flush_interval_s=0.2,
            data=self.data,
            gaps=self.gaps,
            errors=error_settings(),
            monitor_interval_s=0.3,
            exactly_once=ExactlyOnceSpec(group=self.group) if self.exactly_once else None,
        )
        return replace(spec, **self.changes)
