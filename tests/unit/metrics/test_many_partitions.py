"""A scrape of as many partitions as a node may have."""

from __future__ import annotations

import time

import pytest

from mm2.config.metrics_settings import MetricsSettings
from mm2.core.model import TopicName, TopicPartition
from mm2.herder.view.led_flow import LedFlow
from mm2.metrics.scrape import exported, seen_now
from mm2.protocol.control_codec import encode_control
from mm2.protocol.control_records import Assignment, BundleState
from mm2.protocol.progress_records import PartitionProgress
from tests.support.seen_flow import NOW, SeenFlow

_TOPICS, _EACH = 100, 100


@pytest.mark.slow
def test_ten_thousand_partitions_are_scraped() -> None:
    """How long that takes is printed, and stands in docs/how-to/monitor.md."""
    seen = SeenFlow()
    places = [TopicPartition(TopicName(f"t{t}"), p) for t in range(_TOPICS) for p in range(_EACH)]
    remotes = {each: TopicName(f"A.{each.topic}") for each in places}
    seen.control(
        *encode_control(
            Assignment(
                index=0, epoch=7, generation=2, state=BundleState.RUNNING, partitions=remotes
            )
        )
    )
    seen.report(0, *(_told(each) for each in places))

    began_s = time.process_time()
    found = seen_now([LedFlow(seen.config, seen.snapshot)], MetricsSettings(), NOW)
    seen_s = time.process_time() - began_s
    text = "".join(family.text() for family in exported(found, MetricsSettings()))
    taken_s = time.process_time() - began_s
    lines = text.count("\n")
    taken = f"{taken_s:.2f} s, of these {seen_s:.2f} s not in a thread"
    print(f"{len(places)} partitions: {lines} lines in {taken}")  # noqa: T201 - see above
    assert text.count("mirrorsourceconnector_record_count{") == len(places) + 1


def _told(where: TopicPartition) -> PartitionProgress:
    return PartitionProgress(
        topic=where.topic,
        partition=where.partition,
        remote=f"A.{where.topic}",
        records=100,
        bytes=10_000,
        position=99,
        end=120,
        lag=20,
        age_ms=(1, 1, 2, 1),
        replication_ms=(5, 1, 9, 4),
        live_ms=(5, 1, 9, 4),
        record_bytes=(100, 100, 100, 100),
    )
