"""Connectors whose statuses go over one producer do not cut each other off."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import ClassVar

import pytest

from mm2.connect.worker_config import WorkerConfig
from mm2.connect.worker_status_topic import WorkerStatusTopic
from mm2.core.connect.status_records import ConnectorKey, RunState, Status, TaskKey
from mm2.errors import ClusterError, NotAuthorized, Unavailable
from mm2.kafka.writer import Writer

_STATUS = Status(state=RunState.RUNNING, worker_id="w", generation=1)


class _Cluster(Writer):
    """A producer of a cluster in memory, which refuses what is about some connectors."""

    refuses: ClassVar[dict[str, ClusterError]] = {}
    open: ClassVar[list[Writer]] = []
    made: ClassVar[int] = 0

    async def start(self) -> None:
        _Cluster.made += 1
        self.open.append(self)

    async def close(self) -> None:
        if self in self.open:
            self.open.remove(self)

    async def send(self, topic: str, key: bytes | None, value: bytes | None, **_: object) -> int:
        assert self in self.open, "the writer is not open"
        await asyncio.sleep(0)
        for name, error in self.refuses.items():
            if name.encode() in (key or b""):
                raise error
        return 0


@pytest.fixture
def board(monkeypatch: pytest.MonkeyPatch) -> Iterator[WorkerStatusTopic]:
    monkeypatch.setattr("mm2.herder.status.status_topic.Writer", _Cluster)
    _Cluster.made = 0
    raw = {
        "bootstrap.servers": "127.0.0.1:1",
        "group.id": "g",
        "config.storage.topic": "configs",
        "offset.storage.topic": "offsets",
        "status.storage.topic": "statuses",
    }
    yield WorkerStatusTopic(WorkerConfig(raw=raw, is_distributed=True, environment={}))
    _Cluster.refuses.clear()
    _Cluster.open.clear()


async def _write(board: WorkerStatusTopic, name: str) -> None:
    tasks = [(TaskKey(name, number), _STATUS) for number in range(5)]
    await board.write(name, [(ConnectorKey(name), _STATUS), *tasks])


async def test_what_one_is_not_answered_is_no_matter_of_another(board: WorkerStatusTopic) -> None:
    _Cluster.refuses["away"] = Unavailable("B", "no leader")
    away, well = await asyncio.gather(
        _write(board, "away"), _write(board, "well"), return_exceptions=True
    )
    assert isinstance(away, Unavailable)
    assert well is None
    assert len(board.table_of("well", "well").statuses) == 6
    assert _Cluster.made == 2, "whoever comes next connects again"
    assert len(_Cluster.open) == 1


async def test_a_status_that_is_refused_is_no_reason_to_connect_again(
    board: WorkerStatusTopic,
) -> None:
    _Cluster.refuses["refused"] = NotAuthorized("B", "not allowed")
    with pytest.raises(NotAuthorized):
        await _write(board, "refused")
    await _write(board, "well")
    assert _Cluster.made == 1
