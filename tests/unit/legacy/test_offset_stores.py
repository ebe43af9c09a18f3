"""Offsets that are kept in two places."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping

import pytest

from flows.legacy.offset_stores import BothStores, CountedStore, OffsetsUnknown
from mm2.core.model import TopicName, TopicPartition
from mm2.errors import Unavailable
from tests.support.eventually import eventually_async

A, B, C = (TopicPartition(TopicName("t"), number) for number in range(3))


class Kept:
    """A store in memory."""

    def __init__(
        self,
        offsets: Mapping[TopicPartition, int] | None = None,
        *,
        refuses: frozenset[TopicPartition] = frozenset(),
    ) -> None:
        self.offsets = dict(offsets or {})
        self.refuses = refuses

    async def committed(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        return {each: self.offsets[each] for each in partitions if each in self.offsets}

    async def commit(self, offsets: Mapping[TopicPartition, int]) -> set[TopicPartition]:
        done = {each: offset for each, offset in offsets.items() if each not in self.refuses}
        self.offsets |= done
        return set(done)


class Gone(Kept):
    """A store that does not answer."""

    async def commit(self, offsets: Mapping[TopicPartition, int]) -> set[TopicPartition]:
        raise Unavailable("ZooKeeper", f"{len(offsets)} offsets cannot be written")


async def test_the_greater_of_two_offsets_counts_and_one_is_enough() -> None:
    both = BothStores(Kept({A: 5, B: 9}), Kept({A: 7, B: 2, C: 0}))
    assert await both.committed([A, B, C]) == {A: 7, B: 9, C: 0}
    assert await both.committed([B]) == {B: 9}


async def test_what_only_one_has_does_not_count_as_committed() -> None:
    one, other = Kept(refuses=frozenset({A})), Kept(refuses=frozenset({B}))
    assert await BothStores(one, other).commit({A: 1, B: 2, C: 3}) == {C}
    assert (one.offsets, other.offsets) == ({B: 2, C: 3}, {A: 1, C: 3})


async def test_a_store_that_does_not_answer_is_told() -> None:
    one = Kept()
    with pytest.raises(Unavailable):
        await BothStores(one, Gone()).commit({A: 1})
    assert one.offsets == {A: 1}


async def test_the_other_store_is_not_kept_waiting_by_one_that_hangs_or_fails() -> None:
    class Hanging(Kept):
        async def commit(self, offsets: Mapping[TopicPartition, int]) -> set[TopicPartition]:
            await freed.wait()
            return await super().commit(offsets)

    freed, one, other = asyncio.Event(), Hanging(), Kept()
    commit = asyncio.create_task(BothStores(one, other).commit({A: 1}))
    await eventually_async(lambda: asyncio.sleep(0, other.offsets))
    assert not commit.done()
    freed.set()
    assert await commit == {A}
    with pytest.raises(Unavailable):
        await BothStores(Gone(), other).commit({A: 2})
    assert other.offsets == {A: 2}


async def test_while_one_store_is_away_the_other_ones_offsets_count_and_the_rest_is_unknown() -> (
    None
):
    class Away(Kept):
        async def committed(
            self, partitions: Iterable[TopicPartition]
        ) -> dict[TopicPartition, int]:
            raise Unavailable("ZooKeeper", f"{list(partitions)} cannot be read")

    both = BothStores(Kept({A: 5}), Away())
    assert await both.committed([A]) == {A: 5}
    with pytest.raises(OffsetsUnknown) as raised:
        await both.committed([A, B])
    assert raised.value.known == {A: 5}
    assert raised.value.unknown == frozenset({B})
    with pytest.raises(Unavailable, match="cannot be read"):
        await BothStores(Away(), Kept({A: 5})).committed([A])


async def test_a_meter_counts_what_its_store_has_taken() -> None:
    one, other = (CountedStore(Kept(refuses=frozenset({each}))) for each in (A, C))
    both = BothStores(one, other)
    await both.commit({A: 1, B: 2})
    await both.commit({B: 3})
    assert (one.commits, other.commits) == (2, 3)
    assert await both.committed([A, B]) == {A: 1, B: 3}
