"""What becomes of errors of the user's rebalance listener."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence

import pytest

from flows.legacy.rebalance_listener import ListenerCalls, ListenerFailed
from mm2.core.model import TopicName, TopicPartition

WHERE = TopicPartition(TopicName("t"), 0)


class Raising:
    """Raises what KIP-3's methods of a listener may."""

    def before_releasing_partitions(self, partitions: dict[str, set[int]]) -> None:
        raise KeyError(next(iter(partitions)))

    async def on_partitions_assigned(self, partitions: Sequence[TopicPartition]) -> None:
        sys.exit(len(partitions))


def calls() -> ListenerCalls:
    return ListenerCalls(f"{__name__}:Raising", None, consumer="c")


def test_an_error_names_the_flag_the_listener_and_its_method() -> None:
    with pytest.raises(ListenerFailed) as caught:
        asyncio.run(calls().revoked([WHERE]))
    assert str(caught.value) == (
        f"--consumer.rebalance.listener {__name__}:Raising fails in before_releasing_partitions:"
        " KeyError('t')"
    )


def test_a_listener_that_exits_fails_like_any_other() -> None:
    with pytest.raises(ListenerFailed, match=r"fails in on_partitions_assigned: SystemExit\(1\)"):
        asyncio.run(calls().assigned([WHERE]))
