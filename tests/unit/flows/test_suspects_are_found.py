"""Records that a comparison looks at again: where they are read."""

from __future__ import annotations

from typing import cast

import numpy as np
import pytest

from flows.verify.compare_keys import spans_of
from flows.verify.compared_logs import ComparedLogs, ReadOffsets
from flows.verify.comparison_spec import ComparedPart, ComparisonSpec
from mm2.core.model import ClusterAlias, SourceAndTarget, TopicName, TopicPartition
from mm2.core.verification.ranges import ComparedRange
from mm2.core.verification.stream_comparison import ComparisonRules, Side
from mm2.errors import Unavailable
from mm2.kafka.wire.wire_client import WireClient
from tests.support import virtual_time


def test_records_far_apart_are_read_without_what_is_between() -> None:
    offsets = np.array([70_000, 5, 9_000, 5, 100_000], np.int64)
    assert list(spans_of(offsets)) == [(5, 9_001), (70_000, 70_001), (100_000, 100_001)]
    assert list(spans_of(np.empty(0, np.int64))) == []


class _Silent:
    """A cluster that knows nothing of a partition."""

    alias = "A"

    async def list_offsets(
        self, _: object, __: int, *, read_committed: bool
    ) -> dict[TopicPartition, int]:
        del read_committed
        return {}


def test_a_log_without_an_end_cannot_be_read() -> None:
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
    silent = cast("WireClient", _Silent())
    with pytest.raises(Unavailable, match=r"A\.t-0"):
        virtual_time.run(
            ComparedLogs(spec, part, silent, silent, ReadOffsets(print)).end(Side.REMOTE)
        )
