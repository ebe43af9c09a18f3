"""Which checkpoints ``mm2 sync-groups`` takes for groups, and which it leaves out."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

import pytest
from structlog.testing import capture_logs

from mm2.checkpoints.group_offset_writer import GroupOffsets
from mm2.client.checkpoint_sink import CheckpointSink, WrittenCheckpoints
from mm2.client.pending_returns import PendingReturns
from mm2.core.internal_records import Checkpoint
from mm2.core.model import ClusterAlias, GroupId, SourceAndTarget, TopicName, TopicPartition
from mm2.core.policy import build_policy
from mm2.core.translation.returned_groups import SyncedOffsets
from mm2.core.translation.reverse_translation import Copies
from mm2.errors import Unavailable
from mm2.kafka.admin import Admin
from mm2.kafka.groups.offset_calls import OffsetAt
from tests.support.configs import flow_of
from tests.support.fake_groups import FakeGroups
from tests.support.virtual_time import run

A, B = ClusterAlias("A"), ClusterAlias("B")
G = GroupId("billing")
BACK = SourceAndTarget(B, A)


def at(topic: str) -> TopicPartition:
    return TopicPartition(TopicName(topic), 0)


@dataclass(frozen=True)
class Written:
    """Checkpoints of B's groups as they stand on A."""

    known: Collection[Checkpoint]
    flow: SourceAndTarget = field(default=BACK)

    async def checkpoints(self) -> Mapping[GroupId, Collection[Checkpoint]]:
        return {G: self.known}


def still_away(
    known: Collection[Checkpoint], onward: Iterable[Checkpoint] | None
) -> PendingReturns:
    """With what A->B has written for the group on B; None if B does not answer."""
    copies = Copies(A, build_policy({"source.cluster.alias": "A"}), lambda topic: topic == "orders")

    async def carried() -> SyncedOffsets:
        if onward is None:
            raise Unavailable("B", "no answer")
        found = SyncedOffsets()
        for each in onward:
            found.note(each)
        found.backlog_read()
        return found

    return PendingReturns(Written(known), copies, carried)


async def _answers(_: ClusterAlias) -> None:
    """As a cluster does that is there."""


LED_BACK = Checkpoint(G, at("orders"), 500, 1000, exact=True)
ONWARD = Checkpoint(G, at("B.local"), 7, 9, exact=True)


@pytest.mark.parametrize(
    ("onward", "expected"),
    [
        ([Checkpoint(G, at("A.orders"), 900, 450, exact=True)], {"orders": 1000, "B.local": 9}),
        ([Checkpoint(G, at("A.orders"), 1200, 700, exact=True)], {"orders": 200, "B.local": 9}),
        ([], {"orders": 1000, "B.local": 9}),
    ],
)
def test_a_group_that_has_come_back_and_was_reset_is_left_where_it_is(
    onward: list[Checkpoint], expected: dict[str, int]
) -> None:
    """The checkpoint that led it back stands on A for ever."""
    target = FakeGroups("A")
    target.put(G, {at("orders"): 200})
    origin = still_away([LED_BACK, ONWARD], onward)
    sink = CheckpointSink([origin], {A: GroupOffsets(target)}, lambda _: True, _answers)
    run(sink.round())
    assert {where.topic: each.offset for where, each in target.offsets[G].items()} == expected


def test_while_nobody_tells_who_has_come_back_nobody_is_led_back() -> None:
    with capture_logs() as events:
        found = run(still_away([LED_BACK, ONWARD], None).checkpoints())
    assert found == {G: [ONWARD]}
    assert [each["event"] for each in events] == ["groups.not_synced"]


def test_checkpoints_that_lead_nobody_back_need_no_other_cluster() -> None:
    with capture_logs() as events:
        assert run(still_away([ONWARD], None).checkpoints()) == {G: [ONWARD]}
    assert events == []


class SilentTopic(Admin):
    """Of a cluster that stops answering before its topic of checkpoints is read."""

    async def list_offsets(
        self,
        partitions: Iterable[TopicPartition],
        at: OffsetAt | int,
        *,
        read_committed: bool = False,
    ) -> dict[TopicPartition, int]:
        del at, read_committed
        return dict.fromkeys(partitions, 10)

    async def list_topics(self, *, internal: bool = False) -> set[TopicName]:
        del internal
        raise Unavailable("A", "no answer")


def test_checkpoints_are_read_to_their_end_or_not_used() -> None:
    config = flow_of()
    origin = WrittenCheckpoints(config, SilentTopic("A", {"bootstrap.servers": "127.0.0.1:1"}))
    for _ in range(2):
        with pytest.raises(Unavailable):
            run(origin.checkpoints())
