"""
What waits in a sender, made into fewer batches.

A request takes one batch of a partition, and five requests may be on the way. So small batches that
pile up behind a slow target would leave it one by one, ever further behind. While they wait they
can still be made into one; what was sent once cannot, because a broker knows it by its sequence
numbers.

A partition with replicas is slower: a broker reads the next request of a connection when all of
them have the batch of the last one, and each of them fetches each batch. So there larger batches
become one, too. Compressing them again takes a tenth of the CPU that it saves the brokers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import Final, NamedTuple

from flows.source.forward.merge_batches import MergePolicy, common_codec
from flows.source.forward.recode import Recoded, in_a_row, recode
from flows.source.forward.record_batch import Batch, read
from flows.source.send.outgoing_batch import OutgoingBatch
from flows.source.send.send_queue import PartitionSender
from mm2.kafka.wire.compression import GZIP, TooLarge


class _Small(NamedTuple):
    """The most records and bytes of a batch that takes longer to send than to re-encode."""

    records: int
    size: int

    def has(self, batch: OutgoingBatch) -> bool:
        """Whether a batch is that small."""
        return len(batch.data) <= self.size and len(batch.offsets) <= self.records


_SMALL: Final = _Small(records=64, size=16 << 10)
_SMALL_FOR_REPLICAS: Final = _Small(records=1_024, size=64 << 10)


def merge_queued(
    sender: PartitionSender, policy: MergePolicy, *, is_replicated: bool = False
) -> OutgoingBatch | None:
    """
    One batch, not stamped, in the place of the first ones queued; takes those off the queue.

    None if there is nothing to be merged.

    Args:
        is_replicated: whether other brokers must have the batch before it is acknowledged.
    """
    small = _SMALL_FOR_REPLICAS if is_replicated else _SMALL
    if not small.has(sender.queue[0]):
        return None
    waiting = list(_waiting(sender, policy, small))
    if len(waiting) <= 1:
        return None
    outgoing = [each for each, _ in waiting]
    try:
        recoded = _recoded([batch for _, batch in waiting], policy)
    except TooLarge:
        # Compressed batches do not say how large they become: half of them may do next time.
        sender.most_waiting = sum(len(each.data) for each in outgoing) // 2
        return None
    except ValueError:
        recoded = None
    if recoded is None:
        for each in outgoing:
            each.is_fixed = True  # what cannot be read, or not made into one, is sent as it is
        return None
    return _taken_off(sender, outgoing, recoded)


def _recoded(batches: Sequence[Batch], policy: MergePolicy) -> Recoded | None:
    compression = policy.of(batches[0])
    for each in batches:
        compression = common_codec(compression, policy.of(each)) or compression
    return recode(batches, 0, compression, policy.most_plain)


def _taken_off(
    sender: PartitionSender, outgoing: Sequence[OutgoingBatch], recoded: Recoded
) -> OutgoingBatch:
    """What takes the place of batches, which leave the queue."""
    for _ in outgoing:
        sender.queue.popleft()
    covers = None
    if any(each.covers is not None for each in outgoing):
        covers = range(outgoing[0].start, outgoing[-1].end)
    parts = [each.offsets for each in outgoing]
    repeats = covers is not None or outgoing[0].owner is not None
    offsets = list(chain.from_iterable(parts)) if repeats else in_a_row(*parts)
    return replace(
        outgoing[0],
        data=recoded.data,
        offsets=offsets,
        covers=covers,
        oldest_ms=min(each.oldest_ms for each in outgoing),
        size=sum(each.size for each in outgoing),
    )


def _waiting(
    sender: PartitionSender, policy: MergePolicy, small: _Small
) -> Iterator[tuple[OutgoingBatch, Batch]]:
    room = min(policy.most_bytes, sender.most_bytes, sender.most_waiting)
    compression = None
    for each in sender.queue:
        room -= len(each.data)
        is_other = each.owner is not sender.queue[0].owner
        if each.is_fixed or is_other or not small.has(each) or room < 0:
            return
        batch = read(memoryview(each.data), 0)
        if batch is None or (batch.codec == GZIP and not _SMALL.has(each)):
            return
        kind = policy.of(batch)
        compression = kind if compression is None else common_codec(compression, kind)
        if compression is None:
            return
        yield each, batch
