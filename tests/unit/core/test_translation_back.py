"""What runs and syncs say together of the way back."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from mm2.core.internal_records import OffsetSync
from mm2.core.model import TopicName, TopicPartition
from mm2.core.translation.offset_sync_store import TOO_OLD, OffsetSyncStore
from mm2.core.translation.offset_translation import MappedOffset, OffsetTranslation, RunStore
from mm2.core.translation.run_codec import encode_key, encode_value
from mm2.core.translation.runs import Block, Passed, Run, Runs

WHERE = TopicPartition(TopicName("t"), 0)
KNOWN = Block(100, 130, Runs([Run(100, 50, 10), Run(120, 60, 10)]))


def _syncs(*syncs: tuple[int, int]) -> OffsetSyncStore:
    store = OffsetSyncStore(must_read_to_end=False)
    for upstream, downstream in syncs:
        store.handle(OffsetSync(WHERE, upstream, downstream))
    store.backlog_read()
    return store


def _runs(blocks: Iterable[Block] = (KNOWN,)) -> RunStore:
    store = RunStore()
    for block in blocks:
        store.handle(encode_key(WHERE, block.start), encode_value(block))
    store.backlog_read()
    return store


@pytest.mark.parametrize(
    ("downstream", "expected"),
    [
        (55, MappedOffset(105, exact=True)),
        (60, MappedOffset(120, exact=True)),
        (70, MappedOffset(130, exact=True)),
        # Somebody else's records, or copies that no run tells of yet.
        (75, MappedOffset(130, exact=False)),
        # Before the first run a sync is known, and nothing before that.
        (20, MappedOffset(11, exact=False)),
        (9, MappedOffset(TOO_OLD, exact=False)),
    ],
)
def test_runs_lead_back_exactly_and_syncs_where_there_are_none(
    downstream: int, expected: MappedOffset
) -> None:
    translation = OffsetTranslation(_syncs((10, 10), (120, 60)), _runs())
    assert translation.reverse(WHERE, downstream) == expected


def test_a_later_sync_tells_more_than_the_end_of_the_runs() -> None:
    translation = OffsetTranslation(_syncs((200, 90)), _runs())
    assert translation.reverse(WHERE, 90) == MappedOffset(200, exact=False)
    assert translation.reverse(WHERE, 80) == MappedOffset(130, exact=False)


def test_without_runs_javas_syncs_lead_back() -> None:
    translation = OffsetTranslation(_syncs((100, 50)))
    assert [translation.reverse(WHERE, at) for at in (49, 50, 51)] == [
        MappedOffset(TOO_OLD, exact=False),
        MappedOffset(100, exact=False),
        MappedOffset(101, exact=False),
    ]


def test_behind_all_copies_runs_say_how_far_the_source_is_told() -> None:
    assert OffsetTranslation(_syncs((120, 60)), _runs()).passed(WHERE, 75) == Passed(100, 130, 130)


def test_runs_that_syncs_contradict_and_syncs_alone_do_not_say_that() -> None:
    assert OffsetTranslation(_syncs((120, 66)), _runs()).passed(WHERE, 75) is None
    assert OffsetTranslation(_syncs((120, 60))).passed(WHERE, 75) is None


def test_before_all_is_read_nothing_is_said() -> None:
    syncs = OffsetSyncStore(must_read_to_end=False)
    syncs.handle(OffsetSync(WHERE, 100, 50))
    assert OffsetTranslation(syncs).reverse(WHERE, 50) is None
    assert OffsetTranslation(_syncs((100, 50)), RunStore()).reverse(WHERE, 50) is None
    assert OffsetTranslation(_syncs(), _runs(())).reverse(WHERE, 50) is None
