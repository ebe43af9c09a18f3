"""A change says what it was made from, also while the topic is read once more."""

from __future__ import annotations

from collections.abc import Sequence

from mm2.connect.config_state import ConfigState
from mm2.connect.connector_store import TopicStore
from mm2.connect.worker_config import WorkerConfig
from mm2.core.connect.config_records import Base, ConnectorConfig, Entry, Restart, encode
from mm2.kafka.logs.log_tail import LogTail
from mm2.kafka.logs.records import Record

_OLD, _NEW, _OTHER = (ConnectorConfig("m", {"name": "m", "by": by}) for by in ("1", "2", "3"))
_M, _N = (Restart(name, include_tasks=True, only_failed=False) for name in ("m", "n"))
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
    await store._take(_record(20, _OTHER))
    assert await store.replace(_OLD.config, _NEW), "here; who reads the topic judges by the base"
    assert store.bases == [Base(3)]


async def test_an_entry_that_was_read_long_ago_counts_if_things_are_as_it_says() -> None:
    store = _Store()
    store.contents.take(_OLD, 3)
    assert await store.replace(_OLD.config, _NEW)
    assert not await store.replace(_OLD.config, _OTHER)
    assert store.contents.configs["m"] == _NEW.config


async def test_a_restart_that_comes_while_the_topic_is_read_again_is_not_missed() -> None:
    """Nor is one repeated that was obeyed before, or asked for before the worker came."""
    store = _Store()
    await _read(store, [(2, _M)])
    assert store.contents.restarts == {}
    await store._take(_record(7, _M))
    assert store.contents.restarts == {"m": 1}
    again: list[tuple[int, Entry]] = [(2, _M), (3, _OLD), (7, _M), (9, _M), (11, _N)]
    await _read(store, again)
    assert store.contents.restarts == {"m": 2, "n": 1}
    assert store.contents.configs == {"m": _OLD.config}


async def _read(store: TopicStore, entries: Sequence[tuple[int, Entry]]) -> None:
    """The store reads its topic from the beginning, as it does once more after a failure."""
    tail = LogTail("of the worker", _RAW, "configs")
    store._reading = ConfigState()
    for offset, entry in entries:
        await store._take(_record(offset, entry))
    tail.caught_up.set()
    await store._tell_loaded(tail)


def _record(offset: int, entry: Entry) -> Record:
    key, value = encode(entry)
    return Record(topic="configs", partition=0, offset=offset, timestamp_ms=0, key=key, value=value)
