"""What flows have copied, by names that Spark shows."""

from __future__ import annotations

from mm2.core.copy_totals import CopyTotal, Counts, TaskCounts
from mm2.core.model import TopicName, TopicPartition
from mm2.driver.flow_totals import totals_of
from mm2.herder.view.flow_snapshot import FlowSnapshot
from mm2.herder.view.led_flow import LedFlow
from tests.support.configs import flow_of


def test_they_are_of_all_partitions_and_all_tasks() -> None:
    config = flow_of({})
    snapshot = FlowSnapshot()
    for number in range(2):
        report = TaskCounts(
            run="1.0.9", counts=Counts(records=3, bytes=30), position=7, first=5, at_ms=1
        )
        total = CopyTotal(before=Counts(records=5, bytes=50))
        total.take(report)
        snapshot.totals[TopicPartition(TopicName("t"), number)] = total
    found = totals_of([LedFlow(config, snapshot)])
    assert found == {"A->B.records": 16, "A->B.bytes": 160}
