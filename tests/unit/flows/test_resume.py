"""Where a task goes on, while it cannot be known."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

import pytest

from flows.source.commit.resume import read_positions
from mm2.core.model import GroupId, TopicPartition
from mm2.errors import Unavailable
from mm2.kafka.wire.wire_client import WireClient
from mm2.protocol.bundle_spec import ExactlyOnceSpec
from tests.support.specs import sample_spec
from tests.support.virtual_time import run


class _Undecided:
    """A positions topic with a transaction that nobody ends."""

    def partitions_of(self, topic: str) -> int:
        del topic
        return 2

    async def list_offsets(
        self, partitions: Iterable[TopicPartition], at: int, *, read_committed: bool = False
    ) -> dict[TopicPartition, int]:
        del at
        return dict.fromkeys(partitions, 3 if read_committed else 5)


def test_exactly_once_no_position_is_read_that_an_open_transaction_may_hide() -> None:
    spec = sample_spec(
        offsets_topic="positions",
        exactly_once=ExactlyOnceSpec(group=GroupId("g")),
    )
    with pytest.raises(Unavailable, match="positions stays open"):
        run(read_positions(spec, cast("WireClient", _Undecided()), {}))


def test_no_position_is_read_as_long_as_the_target_does_not_say_how_many_partitions_there_are() -> (
    None
):
    class _Unknown(_Undecided):
        def partitions_of(self, topic: str) -> int:
            del topic
            return 0

    with pytest.raises(Unavailable, match="no partitions of positions are known"):
        run(
            read_positions(
                sample_spec(offsets_topic="positions"), cast("WireClient", _Unknown()), {}
            )
        )
