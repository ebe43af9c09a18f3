"""
What waits in a sender, made into fewer batches.

A request takes one batch of a partition, and five requests may be on the way. So small batches that
pile up behind a slow target would leave it one by one, ever further behind. While they wait they
can still be made into one; what was sent once cannot, because a broker knows it by its sequence
numbers.

A partition with followers is slower: a broker reads the next request of a connection when they have
the batch of the last one, and each of them fetches each batch. So there larger batches become one,
too. A task takes no more CPU for it, as it sends fewer requests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from time import perf_counter
from typing import Final, NamedTuple

from flows.source.fetch.contiguous_batches import MOST_RECORDS
from flows.source.forward.merge_batches import MergePolicy, common_codec
from flows.source.forward.recode import Recoded, in_a_row, recode
from flows.source.forward.record_batch import Batch, read
from flows.source.send.outgoing_batch import OutgoingBatch
from flows.source.send.send_queue import PartitionSender
from mm2.core.model import TopicPartition
from mm2.kafka.wire.compression import GZIP, TooLarge


class _Most(NamedTuple):
    """Records and bytes of a batch that may become one with others."""

    records: int
    size: int

    def admits(self, batch: OutgoingBatch) -> bool:
        """Whether a batch is small enough."""
        return len(batch.data) <= self.size and len(batch.offsets) <= self.records


_WITHOUT_FOLLOWERS: Final = _Most(records=64, size=16 << 10)
"""Larger ones would take longer to re-encode than to send."""

_WITH_FOLLOWERS: Final = _Most(records=1_024, size=64 << 10)

_GROWN: Final = 1.15
"""A batch that is made of others may have so many times their bytes."""

_ALWAYS_TRIED: Final = 2
"""So many batches may become one, however often that has failed."""

_SLOW_S: Final = 0.002


def next_batch(
    sender: PartitionSender,
    policy: MergePolicy,
    stamp: Callable[[bytearray, int], bytearray],
    has_followers: Callable[[TopicPartition], bool],
) -> tuple[OutgoingBatch, bool]:
    """
    The first batch, with what waits behind it if they may become one; whether that took long.

    Args:
        stamp: gives a batch a producer and a sequence number.
        has_followers: whether a partition has followers.
    """
    if not sender.merges or len(sender.queue) <= 1:
        return sender.queue[0], False
    began = perf_counter()
    one = merge_queued(sender, policy, has_followers=has_followers(sender.target))
    if one is not None:
        one.data = stamp(one.data, one.sequence)
        sender.queue.appendleft(one)
    return sender.queue[0], perf_counter() - began > _SLOW_S


def merge_queued(
    sender: PartitionSender, policy: MergePolicy, *, has_followers: bool = False
) -> OutgoingBatch | None:
    """
    One batch, not stamped, in the place of the first ones queued; takes those off the queue.

    None if there is nothing to be merged.

    Args:
        has_followers: whether the partition has followers.
    """
    # A level that the user has chosen may be a slow one.
    is_quick = policy.compression is None or policy.compression.level is None
    most = _WITH_FOLLOWERS if has_followers and is_quick else _WITHOUT_FOLLOWERS
    if not most.admits(sender.queue[0]) or sender.merging.is_paused():
        return None
    waiting = list(_waiting(sender, policy, most))
    if len(waiting) <= 1:
        return None
    outgoing = [each for each, _ in waiting]
    recoded = _recoded(sender, outgoing, [batch for _, batch in waiting], policy)
    return None if recoded is None else _taken_off(sender, outgoing, recoded)


def _recoded(
    sender: PartitionSender,
    outgoing: Sequence[OutgoingBatch],
    batches: Sequence[Batch],
    policy: MergePolicy,
) -> Recoded | None:
    size = sum(len(each.data) for each in outgoing)
    compression = policy.of(batches[0])
    for each in batches:
        compression = common_codec(compression, policy.of(each)) or compression
    try:
        recoded = recode(batches, 0, compression, policy.most_plain)
    except TooLarge:
        sender.merging.failed(size)
        return None
    except ValueError:
        recoded = None
    if recoded is None:
        for one in outgoing:
            one.is_fixed = True  # what cannot be read, or not made into one, is sent as it is
        return None
    if len(recoded.data) > _GROWN * size and not all(map(_WITHOUT_FOLLOWERS.admits, outgoing)):
        sender.merging.failed(size)  # the source's producers compress better
        return None
    sender.merging.succeeded(size)
    return recoded


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
    sender: PartitionSender, policy: MergePolicy, most: _Most
) -> Iterator[tuple[OutgoingBatch, Batch]]:
    most_bytes = min(policy.most_bytes, sender.most_bytes)
    compression, size, records, is_tiny = None, 0, 0, True
    for number, each in enumerate(sender.queue, 1):
        size += len(each.data)
        records += len(each.offsets)
        is_full = size > most_bytes or records > MOST_RECORDS
        is_full = is_full or (number > _ALWAYS_TRIED and size > sender.merging.limit)
        is_tiny = is_tiny and _WITHOUT_FOLLOWERS.admits(each)
        first = sender.queue[0]
        is_other = each.owner is not first.owner or each.turn != first.turn
        if each.is_fixed or is_other or not most.admits(each) or is_full:
            return
        batch = read(memoryview(each.data), 0)
        if batch is None:
            return
        kind = policy.of(batch)
        compression = kind if compression is None else common_codec(compression, kind)
        # To compress larger ones by gzip takes longer than it saves.
        if compression is None or (compression.codec == GZIP and not is_tiny):
            return
        yield each, batch
