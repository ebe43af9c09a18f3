"""Behaviour C204: which stored positions a deletion is about."""

from __future__ import annotations

import pytest

from mm2.config.flow_config import flow_config
from mm2.config.mirror_maker_config import MirrorMakerConfig
from mm2.core.model import ClusterAlias, SourceAndTarget
from mm2.herder.offsets import position_store
from mm2.herder.offsets.position_store import PositionStore
from mm2.kafka.logs.records import Record

OF_THE_SOURCE = b'["MirrorSourceConnector",{"cluster":"A","partition":1,"topic":"t"}]'
OF_AN_EARLIER_ALIAS = b'["MirrorSourceConnector",{"cluster":"old","partition":1,"topic":"t"}]'
OF_ANOTHER_CONNECTOR = b'["MirrorHeartbeatConnector",{"cluster":"A","partition":1,"topic":"t"}]'
NO_JSON = b"key"


@pytest.mark.parametrize(
    ("partition", "keys"),
    [
        ({"topic": "t", "partition": 1, "cluster": "old"}, [OF_AN_EARLIER_ALIAS]),
        ({"cluster": "A", "topic": "t", "partition": 1}, [OF_THE_SOURCE]),
        ({"cluster": "A", "topic": "t", "partition": True}, []),
        ({"cluster": "A", "topic": "t", "partition": 1.0}, []),
        ("MirrorSourceConnector", []),
        (None, []),
    ],
    ids=repr,
)
async def test_only_what_is_named_is_found(
    monkeypatch: pytest.MonkeyPatch, partition: object, keys: list[bytes]
) -> None:
    async def records(*_: object, **__: object) -> list[Record]:
        return [
            Record(topic="t", partition=0, offset=n, timestamp_ms=0, key=key, value=b"{}")
            for n, key in enumerate(
                [OF_THE_SOURCE, OF_AN_EARLIER_ALIAS, OF_ANOTHER_CONNECTOR, NO_JSON]
            )
        ]

    monkeypatch.setattr(position_store, "read_to_end", records)
    raw = {"clusters": "A,B", "A->B.enabled": "true"}
    raw |= {"A.bootstrap.servers": "a:1", "B.bootstrap.servers": "b:1"}
    flow = SourceAndTarget(ClusterAlias("A"), ClusterAlias("B"))
    store = PositionStore(flow_config(MirrorMakerConfig(raw=raw), flow))
    assert await store.keys_of([partition]) == keys
