"""How the checkpoint flow reads the topics that translate: the backlog first, and then the rest."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from flows.checkpoint.checkpoint_store import sync_store
from flows.checkpoint.translation_followers import RunFollower, SyncFollower
from mm2.core.internal_records import OffsetSync
from mm2.core.model import TopicName, TopicPartition
from mm2.core.translation.offset_sync_store import OffsetSyncStore
from mm2.core.translation.offset_translation import RunStore
from mm2.core.translation.run_codec import encode_key, encode_value
from mm2.core.translation.runs import Block, Run, Runs
from mm2.errors import ConfigError
from mm2.kafka.logs.records import Record
from tests.support.virtual_time import run

WHERE = TopicPartition(TopicName("t"), 0)


class CountingStore(RunStore):
    """Knows how much it was given."""

    def __init__(self) -> None:
        super().__init__()
        self.given = 0

    def handle(self, key: bytes | None, value: bytes | None) -> None:
        self.given += 1
        super().handle(key, value)


class Topic:
    """A topic of runs that grows when it is told to."""

    def __init__(self, backlog: list[Record]) -> None:
        self.caught_up = asyncio.Event()
        self.later: asyncio.Queue[Record] = asyncio.Queue()
        self._backlog = backlog

    async def __aiter__(self) -> AsyncIterator[Record]:
        for record in self._backlog:
            yield record
        self.caught_up.set()
        while True:
            yield await self.later.get()

    async def list_topics(self) -> set[TopicName]:
        return {TopicName("runs")}


def _block(start: int, end: int) -> Record:
    value = encode_value(Block(start, end, Runs([Run(start, start, end - start)])))
    return Record(
        topic="runs",
        partition=0,
        offset=0,
        timestamp_ms=0,
        key=encode_key(WHERE, start),
        value=value,
        headers=(),
    )


def test_of_a_block_that_was_written_many_times_only_the_last_is_decoded() -> None:
    async def script() -> None:
        topic = Topic([_block(0, end) for end in range(1, 100)] + [_block(99, 120)])
        store = CountingStore()
        following = asyncio.create_task(RunFollower(topic, "runs", store, topic).run())
        await asyncio.sleep(1)
        assert (store.is_read, store.given) == (True, 2)
        for end in (121, 122):
            topic.later.put_nowait(_block(99, end))
        await asyncio.sleep(1)
        runs = store.of(WHERE)
        assert runs is not None
        assert (store.given, runs.exact_since, runs.blocks[-1].end) == (4, 0, 122)
        following.cancel()

    run(script())


def test_without_earlier_checkpoints_only_the_last_sync_of_before_the_start_counts() -> None:
    """C238: translations must not fall behind what was emitted, which is not known then."""

    def translated(store: OffsetSyncStore) -> int | None:
        for at in (100, 200):
            store.handle(OffsetSync(WHERE, at, at))
        store.backlog_read()
        return store.translate(WHERE, 150)

    assert translated(sync_store([])) == 101
    assert translated(sync_store(None)) == -1


async def test_a_client_that_cannot_be_made_fails_the_start_and_leaves_nothing(
    tmp_path: Path,
) -> None:
    """C236."""
    properties = {
        "bootstrap.servers": "127.0.0.1:1",
        "security.protocol": "SSL",
        "ssl.truststore.location": str(tmp_path / "missing.jks"),
    }
    follower = SyncFollower("B", properties, "syncs", OffsetSyncStore(must_read_to_end=False))
    before = asyncio.all_tasks()
    with pytest.raises(BaseExceptionGroup) as failure:
        await follower.run()
    assert failure.group_contains(ConfigError)
    assert asyncio.all_tasks() == before
