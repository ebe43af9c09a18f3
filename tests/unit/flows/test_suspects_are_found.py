"""Records that a comparison looks at again: where they are read."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

import numpy as np
import pytest

from flows.verify.compare_keys import spans_of, those_in
from flows.verify.compared_logs import ComparedLogs, ReadOffsets
from flows.verify.comparison_spec import ComparedPart, ComparisonSpec
from mm2.core.model import ClusterAlias, SourceAndTarget, TopicName, TopicPartition
from mm2.core.verification.ranges import ComparedRange
from mm2.core.verification.record_table import Numbers
from mm2.core.verification.stream_comparison import ComparisonRules, Side
from mm2.errors import Unavailable
from mm2.kafka.wire.wire_client import WireClient
from tests.support import virtual_time
from tests.support.tables import rows, table


def test_records_far_apart_are_read_without_what_is_between() -> None:
    offsets = np.array([5, 9_000, 70_000, 100_000], np.int64)
    assert list(spans_of(offsets)) == [(5, 9_001), (70_000, 70_001), (100_000, 100_001)]
    assert list(spans_of(np.empty(0, np.int64))) == []


@pytest.mark.parametrize(
    ("kept", "found"),
    [([], []), ([2, 4], [2]), ([0, 6], []), ([7, 8, 9], [7, 9]), ([11, 12], []), ([1], [1])],
)
def test_records_are_found_that_a_table_has(kept: list[int], found: list[int]) -> None:
    suspects = np.array([1, 2, 3, 7, 9, 10], np.int64)
    records = table(rows(13)).take(np.array(kept, np.int64))
    assert those_in(records, suspects).tolist() == found


def test_of_all_suspects_only_those_within_a_table_are_looked_at() -> None:
    """Each look at all of them would make a comparison of a large loss endless."""
    suspects = _Watched(np.arange(0, 2_000, 2, dtype=np.int64))
    assert those_in(table(rows(10), first=100), cast("Numbers", suspects)).tolist() == [
        *range(100, 110, 2)
    ]
    assert suspects.taken == 5


class _Watched:
    """Ascending offsets that may be searched, and tell how many of them were taken."""

    def __init__(self, offsets: Numbers) -> None:
        self._offsets = offsets
        self.taken = 0

    def searchsorted(self, *sought: Any) -> Any:
        return self._offsets.searchsorted(*sought)

    def __getitem__(self, which: slice) -> Numbers:
        near: Numbers = self._offsets[which]
        self.taken += len(near)
        return near


class _Silent:
    """
    A cluster that knows nothing of a partition for some time.

    Attributes:
        refused: how often it still gives no answer, and how often it cannot be reached at all.
    """

    alias = "A"

    def __init__(self, silent: int, unreachable: int = 0) -> None:
        self.refused = [silent, unreachable]

    async def refresh(self) -> None:
        if self.refused[1]:
            self.refused[1] -= 1
            raise Unavailable(self.alias, "no broker answers")

    async def list_offsets(
        self, asked: Iterable[TopicPartition], _: int, *, read_committed: bool
    ) -> dict[TopicPartition, int]:
        del read_committed
        if self.refused[0]:
            self.refused[0] -= 1
            return {}
        return dict.fromkeys(asked, 7)


def _end(cluster: _Silent) -> int:
    spec = ComparisonSpec(
        flow=SourceAndTarget(ClusterAlias("A"), ClusterAlias("B")),
        source={},
        target={},
        source_committed=False,
        most_plain=1,
        digest_key=(1, 2),
        most=1,
    )
    part = ComparedPart(
        where=TopicPartition(TopicName("t"), 0),
        remote_topic=TopicName("A.t"),
        range=ComparedRange(source=(0, 1), remote=(0, 1), rules=ComparisonRules()),
    )
    client = cast("WireClient", cluster)
    logs = ComparedLogs(spec, part, client, client, ReadOffsets(print))
    return virtual_time.run(logs.end(Side.REMOTE))


def test_the_end_of_a_log_is_asked_for_until_a_leader_is_known() -> None:
    cluster = _Silent(silent=3, unreachable=2)
    assert _end(cluster) == 7
    assert cluster.refused == [0, 0]


def test_a_log_without_an_end_cannot_be_read() -> None:
    with pytest.raises(Unavailable, match=r"A\.t-0"):
        _end(_Silent(silent=10_000))
