"""Whether a group could go on reading on the target, in one row."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mm2.core.checks import Verdict
from mm2.core.failover.group_partition import GroupPartition
from mm2.core.model import GroupId, TopicName, TopicPartition
from mm2.core.status_page.group_readiness import group_readiness
from mm2.core.translation.offset_translation import MappedOffset

_READY = GroupPartition(
    group=GroupId("g"),
    origin=TopicPartition(TopicName("t"), 0),
    destination=TopicPartition(TopicName("A.t"), 0),
    committed=5,
    translated=MappedOffset(5, exact=True),
    origin_end=7,
    copied_end=7,
    checkpoint_age_ms=100,
)


@pytest.mark.parametrize(
    ("worst", "verdict", "reason"),
    [
        (_READY, Verdict.GO, "first unread"),
        (replace(_READY, target_state="EMPTY"), Verdict.GO, "first unread"),
        (replace(_READY, target_state="STABLE"), Verdict.NO_GO, "is STABLE on the target"),
        (replace(_READY, translated=None), Verdict.NO_GO, "offsets of 1 partition cannot"),
        (
            replace(_READY, translated=MappedOffset(4, exact=False)),
            Verdict.CAUTION,
            "reads records of 1 partition again; a planned move is refused",
        ),
        (replace(_READY, target_offset=5), Verdict.GO, "first unread"),
        (replace(_READY, target_offset=6), Verdict.CAUTION, "further on the target in 1 partition"),
        (replace(_READY, copied_end=4), Verdict.CAUTION, "not copied yet"),
        (replace(_READY, copied_end=None), Verdict.CAUTION, "not known"),
    ],
)
def test_the_worst_partition_decides(worst: GroupPartition, verdict: Verdict, reason: str) -> None:
    (found,) = group_readiness([replace(_READY, target_state=worst.target_state), worst])
    assert (found.verdict, found.partitions, found.lag) == (verdict, 2, 4)
    assert reason in found.reason


def test_groups_that_are_not_ready_come_first() -> None:
    lost = replace(_READY, group=GroupId("z"), translated=None, origin_end=None)
    found = group_readiness([_READY, lost])
    assert [each.group for each in found] == ["z", "g"]
    assert (found[0].lag, found[1].lag) == (None, 2)
