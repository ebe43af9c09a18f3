"""Topics that were deleted and made anew: checkpoints of the former ones are taken back."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import cast
from uuid import UUID

import pytest
from structlog.testing import capture_logs

from flows.checkpoint.checkpoint_store import CheckpointStore
from flows.checkpoint.recreated_topics import CHECK_EVERY_S, RecreatedTopics, TrackedFlow
from mm2.checkpoints.live_topic_ids import LiveTopicIds
from mm2.core.internal_records import Checkpoint, OffsetSync
from mm2.core.model import GroupId, TopicName, TopicPartition
from mm2.core.policy import build_policy
from mm2.core.translation.checkpoint_rules import upstream_partition
from mm2.core.translation.offset_sync_store import OffsetSyncStore
from mm2.core.translation.offset_translation import OffsetTranslation, RunStore
from mm2.core.translation.run_codec import encode_key, encode_value
from mm2.core.translation.runs import Block, Logs, Run, Runs
from mm2.errors import Unavailable
from mm2.kafka.admin import Admin
from tests.support.configs import A_TO_B, flow_of

WHERE = TopicPartition(TopicName("t"), 0)
FIRST, SECOND, THIRD = (UUID(int=number) for number in range(1, 4))


@dataclass
class Topics:
    """A cluster that tells which topics it has."""

    ids: dict[str, UUID] = field(default_factory=dict)
    alias: str = "X"
    is_away: bool = False

    async def topic_ids(self, names: Iterable[TopicName]) -> dict[TopicName, UUID | None]:
        if self.is_away:
            raise Unavailable(self.alias, "no answer")
        return {name: self.ids[name] for name in names if name in self.ids}


class World:
    """A flow of which one group has a checkpoint, and maybe another of another topic."""

    def __init__(self, folder: Path) -> None:
        self.source = Topics({"t": FIRST, "u": FIRST})
        self.target = Topics({"A.t": FIRST, "A.u": FIRST})
        self.runs = RunStore()
        self.runs.backlog_read()
        syncs = OffsetSyncStore(must_read_to_end=False)
        syncs.handle(OffsetSync(WHERE, 10, 10))
        syncs.backlog_read()
        self.live = LiveTopicIds(flow_of(), cast("Admin", self.source), cast("Admin", self.target))
        self.translation = OffsetTranslation(syncs, self.runs, self.live.ids)
        self.store = CheckpointStore(map(self.checkpoint, ("A.t", "A.u")))
        upstream = partial(upstream_partition, build_policy({}), A_TO_B)
        self.flow = TrackedFlow(self.translation, self.live, upstream)
        self.recreated = RecreatedTopics([self.flow], self.store)
        self.tell(FIRST, WHERE, TopicPartition(TopicName("u"), 0))

    def tell(self, remote: UUID, *partitions: TopicPartition) -> None:
        block = Block(0, 40, Runs([Run(0, 0, 40)]), Logs(FIRST, remote))
        for where in partitions:
            self.runs.handle(encode_key(where, 0), encode_value(block))

    @staticmethod
    def checkpoint(topic: str) -> Checkpoint:
        where = TopicPartition(TopicName(topic), 0)
        return Checkpoint(GroupId("g"), where, 30, 20, "m", exact=True)

    def look(self) -> int:
        return asyncio.run(self.recreated.check())

    def due(self) -> list[tuple[str, int, int]]:
        return [
            (each.checkpoint.partition.topic, *_offsets(each.checkpoint))
            for each in self.store.unsent()
        ]


def _offsets(checkpoint: Checkpoint) -> tuple[int, int]:
    return checkpoint.upstream_offset, checkpoint.downstream_offset


def test_as_long_as_the_topics_stay_nothing_is_taken_back(tmp_path: Path) -> None:
    world = World(tmp_path)
    assert [world.look(), world.look()] == [0, 0]
    assert world.due() == []
    assert world.recreated.interval_s > CHECK_EVERY_S


def test_when_a_copy_is_made_anew_its_checkpoints_start_over_at_once(tmp_path: Path) -> None:
    """A group that went on at 20 in the new copy would skip what comes there."""
    world = World(tmp_path)
    world.look()
    world.target.ids["A.t"] = SECOND
    with capture_logs() as events:
        assert world.look() == 1
    assert world.due() == [("A.t", 0, 0)]
    assert [(each["event"], each["topics"]) for each in events] == [("checkpoint.reset", ["t"])]
    assert world.translation.explain(WHERE, 30) is None, "all that is known is of the former one"
    assert world.look() == 0
    world.tell(SECOND, WHERE)
    found = world.translation.explain(WHERE, 30)
    assert found is not None
    assert found.exact


def test_what_was_made_anew_while_nobody_looked_is_seen_by_the_runs(tmp_path: Path) -> None:
    """As at a start of the flow, when checkpoints and runs of before are read."""
    world = World(tmp_path)
    world.source.ids["t"] = SECOND
    assert world.look() == 1
    assert world.due() == [("A.t", 0, 0)]


@pytest.mark.parametrize("is_back", [False, True])
def test_checkpoints_of_topics_made_anew_while_nobody_looked_start_over_though_runs_are_new(
    tmp_path: Path, *, is_back: bool
) -> None:
    """The flow of checkpoints was stopped, and the tasks that copy were not."""
    world = World(tmp_path)
    for topic in ("t", "u"):
        world.target.ids[f"A.{topic}"] = SECOND
        world.tell(SECOND, TopicPartition(TopicName(topic), 0))
    former, current = (Logs(FIRST, remote) for remote in (THIRD, SECOND))
    store = CheckpointStore(
        replace(
            world.checkpoint(topic),
            logs=Logs(logs.remote, logs.source) if is_back else logs,
        )
        for topic, logs in (("A.t", former), ("A.u", current))
    )
    recreated = RecreatedTopics([replace(world.flow, is_back=is_back)], store)
    assert asyncio.run(recreated.check()) == 1
    (due,) = (each.checkpoint for each in store.unsent())
    assert due.logs == (Logs(SECOND, FIRST) if is_back else Logs(FIRST, SECOND))
    assert [due] == [
        replace(
            world.checkpoint("A.t"),
            upstream_offset=0,
            downstream_offset=0,
            metadata="",
            exact=False,
        )
    ]
    assert asyncio.run(recreated.check()) == 0


def test_a_cluster_that_is_away_or_a_deleted_topic_is_no_other_topic(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.look()
    world.source.is_away = True
    del world.target.ids["A.t"]
    with capture_logs() as events:
        assert world.look() == 0
    assert [each["event"] for each in events] == ["topic_ids.unknown"]
    world.source.is_away = False
    world.target.ids["A.t"] = SECOND
    assert world.look() == 1
