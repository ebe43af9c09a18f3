"""Which batches a read_committed reader must not see, in every order of beginnings and markers."""

from __future__ import annotations

import pytest

from flows.source.fetch.aborted_transactions import AbortedTransactions
from flows.source.forward.record_batch import CONTROL, TRANSACTIONAL, Batch, split
from tests.support.batches import Plain, write_batch

_P, _Q = 11, 22


def _data(
    producer: int, first: int, last: int | None = None, *, bits: int = TRANSACTIONAL
) -> Batch:
    records = [Plain(offset=first), Plain(offset=last)] if last else [Plain(offset=first)]
    (batch,) = split(memoryview(write_batch(records, attributes=bits, producer=(producer, 0, 0))))
    return batch


def _marker(producer: int, at: int) -> Batch:
    return _data(producer, at, bits=TRANSACTIONAL | CONTROL)


def _visible(aborted: list[tuple[int, int]], batches: list[Batch]) -> list[int]:
    transactions = AbortedTransactions(aborted)
    return [batch.base_offset for batch in batches if not transactions.is_void(batch)]


def test_without_aborted_transactions_all_is_visible() -> None:
    assert _visible([], [_data(_P, 0), _marker(_P, 1), _data(_Q, 2, bits=0)]) == [0, 2]


def test_an_aborted_transaction_is_hidden_up_to_its_marker() -> None:
    batches = [_data(_P, 0), _data(_P, 1), _marker(_P, 2), _data(_P, 3), _marker(_P, 4)]
    assert _visible([(_P, 0)], batches) == [3]


def test_what_the_producer_committed_before_is_visible() -> None:
    batches = [_data(_P, 0), _marker(_P, 1), _data(_P, 2), _marker(_P, 3)]
    assert _visible([(_P, 2)], batches) == [0]


def test_two_aborts_of_one_producer_leave_the_commit_between_them() -> None:
    batches = [
        _data(_P, 0),
        _marker(_P, 1),
        _data(_P, 2),
        _marker(_P, 3),
        _data(_P, 4),
        _marker(_P, 5),
    ]
    assert _visible([(_P, 0), (_P, 4)], batches) == [2]
    assert _visible([(_P, 4), (_P, 0)], batches) == [2]


def test_interleaved_producers_are_told_apart() -> None:
    batches = [_data(_P, 0), _data(_Q, 1), _marker(_P, 2), _data(_Q, 3), _marker(_Q, 4)]
    assert _visible([(_P, 0)], batches) == [1, 3]
    assert _visible([(_Q, 1)], batches) == [0]


def test_plain_batches_of_an_aborting_producer_are_visible() -> None:
    """Producer ids are given out once, but only transactional batches can be aborted."""
    assert _visible([(_P, 0)], [_data(_P, 0, bits=0)]) == [0]


def test_an_answer_that_begins_in_mid_transaction_hides_its_rest() -> None:
    """The broker names the transaction with an offset before the fetched ones."""
    assert _visible([(_P, 5)], [_data(_P, 90), _marker(_P, 91), _data(_P, 92)]) == [92]


@pytest.mark.parametrize("first", [10, 12, 14])
def test_a_transaction_that_begins_inside_of_a_compacted_batch_hides_it(first: int) -> None:
    assert _visible([(_P, first)], [_data(_P, 10, 14)]) == []


def test_a_transaction_that_begins_later_hides_nothing_yet() -> None:
    assert _visible([(_P, 15)], [_data(_P, 10, 14), _data(_P, 15)]) == [10]
