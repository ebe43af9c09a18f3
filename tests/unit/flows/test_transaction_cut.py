"""A transaction that ends takes what was queued before, and nothing that is queued meanwhile."""

from __future__ import annotations

from typing import Final

import pytest

from flows.source.forward.merge_batches import MergePolicy
from flows.source.send.outgoing_batch import OutgoingBatch
from flows.source.send.queued_batches import merge_queued
from flows.source.send.send_queue import PartitionSender
from flows.source.send.transaction_gate import TransactionGate
from mm2.core.model import TopicName, TopicPartition
from tests.support.batches import Plain, write_batch

_TARGET: Final = TopicPartition(TopicName("t"), 0)


def _queue(sender: PartitionSender, turn: int) -> None:
    data = bytearray(write_batch([Plain(value=b"x")], producer=(7, 1, sender.sequence)))
    sender.queue.append(OutgoingBatch(data, sender.sequence, [1], 1, len(data), turn=turn))
    sender.sequence += 1


async def test_only_what_was_queued_before_a_cut_is_sent_in_the_transaction() -> None:
    gate = TransactionGate("id")
    cut, other = PartitionSender(_TARGET), PartitionSender(_TARGET)
    letters = PartitionSender(_TARGET, has_letters=True)
    gate.members |= {cut, other, letters}
    for sender in gate.members:
        _queue(sender, gate.turn)
    assert gate.begin_cut([cut]) == {cut}
    assert [gate.admits(each) for each in (cut, other, letters)] == [True, False, True]
    assert gate.has_older(cut)
    cut.launch()
    assert gate.has_older(cut)
    cut.flying.clear()
    _queue(cut, gate.turn)
    assert not gate.has_older(cut)
    assert not gate.admits(cut)
    gate.reset()
    gate.members.add(cut)
    assert gate.admits(cut)


async def test_after_a_cut_nothing_more_is_sent_whatever_became_of_it() -> None:
    gate, cut = TransactionGate("id"), PartitionSender(_TARGET)
    gate.members.add(cut)
    _queue(cut, gate.turn)
    gate.begin_cut([cut])
    gate.end_cut()
    assert not gate.admits(cut)


async def test_what_is_to_be_aborted_is_not_forgotten_with_the_transaction() -> None:
    """Its records may be sent again while the positions of the last one are written."""
    gate = TransactionGate("id")
    gate.spoil("a reason")
    gate.reset()
    assert gate.spoiled == "a reason"


async def test_senders_that_a_cut_waits_for_are_named() -> None:
    gate, cut = TransactionGate("id"), PartitionSender(_TARGET)
    _queue(cut, gate.turn)
    cut.report_error("no leader")
    gate.begin_cut([cut])
    assert gate.unanswered() == f"{_TARGET}: no leader"


@pytest.mark.parametrize(("turns", "merged"), [((1, 1, 1), 3), ((1, 1, 2), 2), ((1, 2, 2), None)])
def test_what_belongs_to_two_transactions_does_not_become_one_batch(
    turns: tuple[int, ...], merged: int | None
) -> None:
    sender = PartitionSender(_TARGET, merges=True)
    for turn in turns:
        _queue(sender, turn)
    one = merge_queued(sender, MergePolicy())
    assert (one and len(one.offsets)) == merged
    assert one is None or one.turn == turns[0]
