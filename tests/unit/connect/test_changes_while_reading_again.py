"""A change says what it was made from, also while the topic is read once more."""

from __future__ import annotations

from collections.abc import Sequence

from mm2.connect.config_state import ConfigState
from mm2.connect.connector_store import TopicStore
from mm2.connect.worker_config import WorkerConfig
from mm2.core.connect.config_records import Base, ConnectorConfig, Entry, encode
from mm2.kafka.logs.records import Record

_OLD, _NEW, _OTHER = (ConnectorConfig("m", {"name": "m", "by": by}) for by in ("1", "2", "3"))
_RAW = {
    "bootstrap.servers": "127.0.0.1:1",
    "group.id": "g",
    "config.storage.topic": "configs",
    "offset.storage.topic": "offsets",
    "status.storage.topic": "statuses",
}


class _Store(TopicStore):
    """Writes to nowhere; what is written comes back at once, and is not remembered."""

    def __init__(self) -> None:
        super().__init__(WorkerConfig(raw=_RAW, is_distributed=True, environment={}))
        self.bases: list[Base | None] = []

    async def _written(self, entries: Sequence[Entry], *, base: Base | None) -> range:
        self.bases.append(base)
        for entry in entries:
            self.contents.take(entry, 1_000, base)
        return range(1_000, 1_000 + len(entries))


async def test_it_was_made_from_what_was_known_before_and_not_from_what_is_being_read() -> None:
    store = _Store()
    store.contents.take(_OLD, 3)
    store._reading = ConfigState()
    key, value = encode(_OTHER)
    await store._take(
        Record(topic="configs", partition=0, offset=20, timestamp_ms=0, key=key, value=value)
    )
    assert await store.replace(_OLD.config, _NEW), "here; who reads the topic judges by the base"
    assert store.bases == [Base(3)]


async def test_an_entry_that_was_read_long_ago_counts_if_things_are_as_it_says() -> None:
    store = _Store()
    store.contents.take(_OLD, 3)
    assert await store.replace(_OLD.config, _NEW)
    assert not await store.replace(_OLD.config, _OTHER)
    assert store.contents.configs["m"] == _NEW.config
