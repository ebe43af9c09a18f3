"""When an instance answers from what it leads."""

from __future__ import annotations

import asyncio

from mm2.config.offset_manager_settings import OffsetManagerSettings
from mm2.core.model import TopicName, TopicPartition
from mm2.core.offset_manager.commits import OffsetError, StoredOffset
from mm2.core.offset_manager.ensemble import Ensemble, Instance
from mm2.core.offset_manager.log_placement import log_partition_of
from mm2.offset_manager.instance import OffsetManager

_PARTITIONS = 4
_SESSION_S = 6.0
_WHERE = TopicPartition(TopicName("t"), 0)


def _manager() -> OffsetManager:
    return OffsetManager(
        OffsetManagerSettings.of(
            {"bootstrap.servers": "a:1", "offsets.topic.num.partitions": str(_PARTITIONS)}
        )
    )


async def test_what_an_instance_does_not_lead_it_neither_takes_nor_tells() -> None:
    manager = _manager()
    assert await manager.fetch("g", None) == (OffsetError.NOT_COORDINATOR, {})
    stored = {_WHERE: StoredOffset(offset=1, commit_ms=0)}
    assert await manager.commit("g", stored) is OffsetError.NOT_COORDINATOR
    assert await manager.commit("", {}) is OffsetError.NOT_COORDINATOR


async def test_a_group_has_the_coordinator_that_leads_its_log_partition() -> None:
    manager = _manager()
    assert manager.coordinator("g") is None
    one, other = Instance(name="one", node=1), Instance(name="other", node=2)
    leaders = [0] * _PARTITIONS
    leaders[log_partition_of("g", _PARTITIONS)] = 1
    manager.ensemble = Ensemble(instances=[one, other], leaders=leaders)
    assert manager.coordinator("g") is other


async def test_who_has_slept_for_longer_than_its_lease_gives_up_before_it_answers() -> None:
    manager = _manager()
    leader = manager._leaders[log_partition_of("g", _PARTITIONS)]
    leader.state.take(0)
    leader.state.loaded()
    leading = asyncio.create_task(asyncio.sleep(60))
    manager._leading[log_partition_of("g", _PARTITIONS)] = leading
    stored = {_WHERE: StoredOffset(offset=-1, commit_ms=0)}
    assert await manager.commit("g", stored) is OffsetError.UNKNOWN_TOPIC_OR_PARTITION
    assert "mm2_offset_manager_led_partitions 1.0" in manager.metrics()
    manager._ticked_s -= _SESSION_S + 1
    assert await manager.commit("g", stored) is OffsetError.NOT_COORDINATOR
    assert await manager.fetch("g", None) == (OffsetError.NOT_COORDINATOR, {})
    assert "mm2_offset_manager_led_partitions 0.0" in manager.metrics()
    await asyncio.wait([leading])
    assert leading.cancelled()
