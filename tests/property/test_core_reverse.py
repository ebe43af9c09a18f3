"""
The way back through random logs: with gaps, and with records that others wrote to the copy.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Final, NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from mm2.core.internal_records import OffsetSync
from mm2.core.model import TopicName, TopicPartition
from mm2.core.translation.offset_sync_store import TOO_OLD, OffsetSyncStore

PARTITION: Final = TopicPartition(TopicName("t"), 0)


class Step(NamedTuple):
    """Source offsets that are not copied, remote offsets of others, and then copied records."""

    gap: int
    foreign: int
    copied: int


STEPS: Final = st.lists(
    st.builds(Step, st.integers(0, 3), st.integers(0, 3), st.integers(1, 6)),
    min_size=1,
    max_size=30,
)


def _copies(steps: Sequence[Step]) -> dict[int, int]:
    """Source offsets by the remote offsets of their copies."""
    copies: dict[int, int] = {}
    upstream = downstream = 0
    for step in steps:
        upstream += step.gap
        downstream += step.foreign
        for _ in range(step.copied):
            copies[downstream] = upstream
            upstream += 1
            downstream += 1
    return copies


def _first_unread(copies: dict[int, int], downstream: int) -> int:
    """The first record of the source that a reader of the copy has not seen."""
    unread = [upstream for at, upstream in copies.items() if at >= downstream]
    return min(unread, default=max(copies.values()) + 1)


@given(steps=STEPS, random=st.randoms(use_true_random=False), part=st.floats(0.05, 1))
def test_javas_syncs_lead_back_to_the_place_or_before_it(
    steps: Sequence[Step], random: Random, part: float
) -> None:
    """Any of the copied records may have got a sync, and the store keeps some of those."""
    copies = _copies(steps)
    store = OffsetSyncStore(must_read_to_end=False)
    synced = [at for at in copies if random.random() < part]
    for at in synced:
        store.handle(OffsetSync(PARTITION, copies[at], at))
    store.backlog_read()
    for downstream in range(max(copies) + 5):
        found = store.reverse(PARTITION, downstream)
        if not synced:
            assert found is None
        elif downstream < synced[0]:
            assert found == TOO_OLD
        else:
            assert found is not None
            assert copies[synced[0]] <= found <= _first_unread(copies, downstream)
    for sync in store.slots(PARTITION):
        assert store.reverse(PARTITION, sync.downstream_offset) == sync.upstream_offset
