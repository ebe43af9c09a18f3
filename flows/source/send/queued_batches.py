"""
What waits in a sender, made into fewer batches.

A request takes one batch of a partition, and five requests may be on the way. So small batches that
pile up behind a slow target would leave it one by one, ever further behind. While they wait they
can still be made into one; what was sent once cannot, because a broker knows it by its sequence
numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from typing import Final

from flows.source.forward.merge_batches import MergePolicy, common_codec
from flows.source.forward.recode import in_a_row, recode
from flows.source.forward.record_batch import Batch, read
from flows.source.send.outgoing_batch import OutgoingBatch
from flows.source.send.send_queue import PartitionSender

_SMALL_COUNT: Final = 64
_SMALL_BYTES: Final = 16 << 10
"""More would take longer to re-encode than to send."""


def merge_queued(sender: PartitionSender, policy: MergePolicy) -> OutgoingBatch | None:
    """
    One batch, not stamped, in the place of the first ones queued; takes those off the queue.

    None if there is nothing to be merged.
    """
    if not _is_small(sender.queue[0]):
        return None
    waiting = list(_waiting(sender, policy))
    if len(waiting) <= 1:
        return None
    outgoing = [each for each, _ in waiting]
    compression = policy.of(waiting[0][1])
    for _, batch in waiting:
        compression = common_codec(compression, policy.of(batch)) or compression
    try:
        recoded = recode([batch for _, batch in waiting], 0, compression, policy.most_plain)
    except ValueError:
        recoded = None
    if recoded is None:
        for each in outgoing:
            each.is_fixed = True  # what cannot be read, or not made into one, is sent as it is
        return None
    for _ in waiting:
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


def _waiting(sender: PartitionSender, policy: MergePolicy) -> Iterator[tuple[OutgoingBatch, Batch]]:
    room = min(policy.most_bytes, sender.most_bytes)
    compression = None
    for each in sender.queue:
        room -= len(each.data)
        is_other = each.owner is not sender.queue[0].owner
        if each.is_fixed or is_other or not _is_small(each) or room < 0:
            return
        batch = read(memoryview(each.data), 0)
        if batch is None:
            return
        kind = policy.of(batch)
        compression = kind if compression is None else common_codec(compression, kind)
        if compression is None:
            return
        yield each, batch


def _is_small(batch: OutgoingBatch) -> bool:
    return len(batch.data) <= _SMALL_BYTES and len(batch.offsets) <= _SMALL_COUNT
