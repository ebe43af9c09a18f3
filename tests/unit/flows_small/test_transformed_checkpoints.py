"""Checkpoints go through the transforms of their connector, as in Java."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping

import pytest
from structlog.testing import capture_logs

from flows.checkpoint.checkpoint_store import CheckpointStore
from flows.checkpoint.outbox import CheckpointOutbox
from mm2.config.transforms.chain_reading import chain_of_bytes
from mm2.core.internal_records import Checkpoint
from mm2.kafka.writer import Stamped, Writer
from tests.support.followed import G1, checkpoint

_AT = 1_700_000_000_000
_TOPIC = "A.checkpoints.internal"
_DROP = {
    "transforms": "drop",
    "transforms.drop.type": "Filter",
    "transforms.drop.predicate": "p",
    "predicates": "p",
    "predicates.p.type": "TopicNameMatches",
}


class _Topic(Writer):
    """In memory."""

    def __init__(self) -> None:
        super().__init__("B", {})
        self.records: list[Stamped] = []

    async def send_stamped(self, topic: str, records: Iterable[Stamped], *, partition: int) -> None:
        assert (topic, partition) == (_TOPIC, 0)
        self.records += records


class _Outbox(CheckpointOutbox):
    def __init__(self, transforms: Mapping[str, str]) -> None:
        self.topic = _Topic()
        self.store = CheckpointStore()
        self.told: list[Checkpoint] = []
        chain = chain_of_bytes(transforms)
        super().__init__("B", {}, _TOPIC, self.store, on_written=self._on, chain=chain)

    def _on(self, written: Checkpoint, _: int) -> None:
        self.told.append(written)

    async def _connected(self) -> Writer:
        return self.topic


def _written(transforms: Mapping[str, str], *, at: int = _AT) -> _Outbox:
    outbox = _Outbox(transforms)
    outbox.store.add(checkpoint(G1, 5), at)
    assert asyncio.run(outbox.write()) == 1
    assert outbox.store.unsent() == []
    return outbox


def test_a_header_is_added_to_checkpoints() -> None:
    (plain,) = _written({}).topic.records
    marked = _written(
        {
            "transforms": "mark",
            "transforms.mark.type": "InsertHeader",
            "transforms.mark.header": "h",
            "transforms.mark.value.literal": "x",
        }
    )
    headers = (*plain.headers, ("h", b"x"))
    assert marked.topic.records == [plain._replace(headers=headers)]
    assert marked.told == [checkpoint(G1, 5)]


def test_a_checkpoint_that_is_dropped_is_due_no_more() -> None:
    outbox = _written({**_DROP, "predicates.p.pattern": r".*\.internal"})
    assert outbox.topic.records == []
    assert outbox.told == []


@pytest.mark.parametrize("predicate", ["RecordIsTombstone", "TopicNameMatches"])
def test_no_transform_keeps_a_deleted_group_s_checkpoint(predicate: str) -> None:
    """Filters of tombstones are meant for records of users."""
    pattern = {"predicates.p.pattern": ".*"} if predicate == "TopicNameMatches" else {}
    outbox = _Outbox({**_DROP, "predicates.p.type": predicate, **pattern})
    outbox.store.add(checkpoint(G1, 5), _AT)
    asyncio.run(outbox.write())
    assert outbox.store.delete(G1, _AT + 1) == 1
    asyncio.run(outbox.write())
    assert outbox.topic.records[-1] == Stamped(checkpoint(G1, 5).key(), None, _AT + 1, ())
    assert outbox.store.unsent() == []


def test_a_checkpoint_that_a_transform_fails_on_is_told_and_left_out() -> None:
    with capture_logs() as events:
        route = {"transforms": "route", "transforms.route.type": "TimestampRouter"}
        outbox = _written(route, at=1 << 62)
    assert [event["event"] for event in events] == ["checkpoint.unwritable"]
    assert outbox.topic.records == []
