"""A target that stalls: memory stays bounded, and everything arrives when it goes on."""

from __future__ import annotations

import time

import psutil
import pytest

from tests.support.bundle import Bench
from tests.support.cluster import Cluster, KafkaCluster
from tests.support.eventually import PATIENCE_S, eventually
from tests.support.records import Sample, consume, create_topic, produce
from tests.support.specs import data_settings

pytestmark = pytest.mark.broker

_MIB = 1 << 20
_BUFFER = 24 * _MIB
_BESIDE = 24 * _MIB
"""An answer that has just come in (half of the buffer), and what the allocator keeps."""

_PARTITIONS = 8
_RECORDS = 2000


def _peak(process: psutil.Process, seconds: float, *, least: int = 0) -> int:
    """The largest resident size that is seen, at least so large in the end."""
    peak, now = 0, time.monotonic()
    while time.monotonic() < now + (seconds if peak > least else PATIENCE_S):
        peak = max(peak, process.memory_info().rss)
        time.sleep(0.05)
    return peak


def _copied(bench: Bench) -> int:
    return sum(partition.records for partition in bench.progress().values())


def test_memory_is_bounded_by_buffer_memory_while_the_target_stalls(
    cluster_a: Cluster, topic_name: str, unique: str
) -> None:
    create_topic(cluster_a.bootstrap, topic_name, _PARTITIONS)
    warm_up = [Sample(value=bytes(64 << 10), partition=n % _PARTITIONS) for n in range(64)]
    backlog = [Sample(value=bytes(64 << 10), partition=n % _PARTITIONS) for n in range(_RECORDS)]
    settings = {"batch.size": 64 << 10}
    with KafkaCluster("S", heap="320m") as target:
        bench = Bench(
            cluster_a,
            target,
            unique,
            {topic_name: _PARTITIONS},
            data=data_settings(buffer_memory=_BUFFER),
        )
        with bench.detached() as task:
            process = psutil.Process(task.pid)
            produce(cluster_a.bootstrap, topic_name, warm_up, settings=settings)
            eventually(lambda: _copied(bench), until=len(warm_up).__eq__)
            before = _peak(process, 0.5)
            target.pause()
            produce(cluster_a.bootstrap, topic_name, backlog, settings=settings)
            grown = _peak(process, 6, least=before + _BUFFER // 3) - before
            target.resume()
            assert grown < _BUFFER + _BESIDE
            assert grown > _BUFFER // 3, "the stall was felt"
            everything = len(warm_up) + _RECORDS
            consume(target.bootstrap, bench.remote(topic_name), everything, timeout=90)
        print(f"grown by {grown / _MIB:.1f} MiB of {_BUFFER / _MIB:.0f}")  # noqa: T201 - with -s
