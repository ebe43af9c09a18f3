"""What ``mm2 plan`` counts begins where the flow would begin."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import pytest

from mm2.core.model import NO_OFFSET, TopicName, TopicPartition
from mm2.preflight.first_offsets import first_offsets
from tests.support.configs import flow_of

_NOW_MS: Final = 1_000_000_000_000
_ORDERS: Final = TopicPartition(TopicName("orders"), 0)
_LOG: Final = (100, 500)


class _Logs:
    """Has a record at each of these times."""

    def __init__(self, offsets: dict[int, int]) -> None:
        self._offsets = offsets
        self.asked: list[int] = []

    async def known_offsets(
        self, partitions: Iterable[TopicPartition], at: int
    ) -> dict[TopicPartition, int]:
        self.asked.append(at)
        return dict.fromkeys(partitions, self._offsets[at]) if at in self._offsets else {}


@pytest.mark.parametrize(
    ("rule", "offsets", "first"),
    [
        ("orders=2001-09-09T01:46:40Z", {_NOW_MS: 321}, 321),
        ("orders=2001-09-09T01:46:40Z", {_NOW_MS: NO_OFFSET}, 500),
        ("orders=2001-09-09T01:46:40Z", {}, 100),
        ("orders=by_duration:PT1H", {_NOW_MS - 3_600_000: 321}, 321),
        ("orders=by_duration:PT1H", {_NOW_MS - 3_600_000: 700}, 500),
        ("orders=250", {}, 250),
        ("orders=7", {}, 100),
        ("orders=latest", {}, 500),
        ("orders=earliest", {}, 100),
        ("others=latest", {}, 100),
    ],
)
async def test_a_partition_without_a_position_begins_where_its_rule_says(
    rule: str, offsets: dict[int, int], first: int
) -> None:
    config = flow_of(source_start_offsets=rule)
    found = await first_offsets(config, _Logs(offsets), {}, {_ORDERS: _LOG}, _NOW_MS)
    assert found == {_ORDERS: first}


@pytest.mark.parametrize(("position", "first"), [(300, 301), (7, 100), (900, 500)])
async def test_a_position_counts_more_than_a_rule(position: int, first: int) -> None:
    logs = _Logs({})
    config = flow_of(source_start_offsets="orders=by_duration:PT1H")
    found = await first_offsets(config, logs, {_ORDERS: position}, {_ORDERS: _LOG}, _NOW_MS)
    assert (found, logs.asked) == ({_ORDERS: first}, [])


async def test_a_time_is_asked_for_once() -> None:
    logs = _Logs({})
    partitions = {TopicPartition(TopicName("orders"), number): _LOG for number in range(3)}
    config = flow_of(source_start_offsets=".*=2001-09-09T01:46:40Z")
    await first_offsets(config, logs, {}, partitions, _NOW_MS)
    assert logs.asked == [_NOW_MS]
