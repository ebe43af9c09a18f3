"""``mm2 verify`` of a topic that brokers compact between the reads of both logs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable
from functools import partial

import pytest

from flows.verify.compare_part import compare_logs
from flows.verify.compared_logs import ComparedLogs, ReadOffsets, Span
from flows.verify.comparison_spec import ComparedPart, ComparisonSpec
from flows.verify.log_reader import connected
from mm2.core.model import ClusterAlias, SourceAndTarget, TopicName, TopicPartition
from mm2.core.verification.comparison_result import ComparisonResult, Kind
from mm2.core.verification.last_values import LastValueRules
from mm2.core.verification.ranges import ComparedRange
from mm2.core.verification.record_table import RecordTable
from mm2.core.verification.stream_comparison import ComparisonRules, Side
from tests.support.cluster import Cluster
from tests.support.eventually import eventually
from tests.support.records import Sample, committed, create_topic, produce

pytestmark = pytest.mark.broker

_KEYS = 50
_STARTED_MS = 1_700_000_000_000
_CLEANED_SOON = {
    "cleanup.policy": "compact",
    "segment.ms": "100",
    "min.cleanable.dirty.ratio": "0.001",
    "max.compaction.lag.ms": "100",
}
_FLOW = SourceAndTarget(ClusterAlias("S"), ClusterAlias("T"))


class _Written(ComparedLogs):
    """Logs that are written and compacted once the source has been read."""

    def tables(
        self, side: Side, span: Span | None = None
    ) -> AsyncGenerator[tuple[RecordTable, bool], None]:
        tables = super().tables(side, span)
        if side is Side.REMOTE and span == self.span(side):
            return self._later(tables)
        return tables

    async def _later(
        self, tables: AsyncGenerator[tuple[RecordTable, bool], None]
    ) -> AsyncGenerator[tuple[RecordTable, bool], None]:
        topics = self.part.where.topic, self.part.remote_topic
        servers = self.spec.source["bootstrap.servers"], self.spec.target["bootstrap.servers"]
        for server, topic in zip(servers, topics, strict=True):
            await asyncio.to_thread(_write_again, server, topic)
        async for each in tables:
            yield each


def _samples(version: int, keys: Iterable[int] = range(_KEYS)) -> list[Sample]:
    """A version of each key; a later one is in another segment."""
    time_ms = _STARTED_MS + 10_000 * version
    return [Sample(key=b"%d" % n, value=b"%d" % version, timestamp_ms=time_ms) for n in keys]


def _write_again(bootstrap: str, topic: str) -> None:
    """All keys but the first, and waits until their first versions are gone."""
    produce(bootstrap, topic, _samples(1, range(1, _KEYS)))
    produce(bootstrap, topic, [Sample(key=b"active", timestamp_ms=_STARTED_MS + 20_000)])
    eventually(
        partial(committed, bootstrap, topic),
        until=lambda found: sum(each.value == b"0" for each in found) <= 1,
    )


async def _compared(source: Cluster, target: Cluster, topic: str, copies: int) -> ComparisonResult:
    spec = ComparisonSpec(
        flow=_FLOW,
        source={"bootstrap.servers": source.bootstrap},
        target={"bootstrap.servers": target.bootstrap},
        source_committed=False,
        most_plain=1 << 20,
        digest_key=(1, 2),
        most=20,
    )
    part = ComparedPart(
        where=TopicPartition(TopicName(topic), 0),
        remote_topic=TopicName(f"S.{topic}"),
        range=ComparedRange(source=(0, _KEYS), remote=(0, copies), rules=ComparisonRules()),
        last_values=LastValueRules(pending_from=_KEYS),
    )
    async with (
        connected("S", spec.source, topic) as reads,
        connected("T", spec.target, f"S.{topic}") as reads_copies,
    ):
        return await compare_logs(_Written(spec, part, reads, reads_copies, ReadOffsets(print)))


@pytest.mark.parametrize("lost", [[], [0]])
def test_only_a_lost_key_differs_if_keys_are_written_and_compacted_meanwhile(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, lost: list[int]
) -> None:
    copied = [n for n in range(_KEYS) if n not in lost]
    for cluster, topic, keys in (
        (cluster_a, unique, range(_KEYS)),
        (cluster_b, f"S.{unique}", copied),
    ):
        create_topic(cluster.bootstrap, topic, configs=_CLEANED_SOON)
        produce(cluster.bootstrap, topic, _samples(0, keys))
    found = asyncio.run(_compared(cluster_a, cluster_b, unique, len(copied)))
    assert found.counts[Kind.LOST] == len(lost)
    assert found.counts.total() == len(lost)
    assert [each.source_offset for each in found.differences] == lost
