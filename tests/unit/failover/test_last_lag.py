"""How far a lost cluster's copy was behind."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

from mm2.failover.unplanned_survey import last_lag
from mm2.kafka.logs.records import Record
from mm2.protocol.progress_records import BundleProgress, PartitionProgress, encode_progress
from tests.support.fake_route import at


def _report(offset: int, *lags: tuple[str, int]) -> Record:
    partitions = tuple(
        PartitionProgress(topic=topic, partition=0, remote=f"A.{topic}", lag=lag)
        for topic, lag in lags
    )
    report = BundleProgress(
        bundle=0, epoch=1, generation=1, time_ms=0, pid=1, partitions=partitions
    )
    key, value = encode_progress(report)
    return _record(offset, key, value)


def _record(offset: int, key: bytes, value: bytes) -> Record:
    return Record(topic="p", partition=0, offset=offset, timestamp_ms=0, key=key, value=value)


async def test_of_each_partition_the_last_report_counts() -> None:
    async def reports() -> AsyncIterator[Record]:
        yield _report(0, ("a", 5), ("b", 6))
        yield _record(1, b"bundle-0", b"damaged")
        yield _record(2, b"heartbeats", json.dumps({}).encode())
        yield _report(3, ("a", 7))

    assert await last_lag(reports()) == {at("a"): 7, at("b"): 6}
