"""
What waits in a lane, made into fewer batches.

A request takes one batch of a partition, and five requests may be on the way. So small batches that
pile up behind a slow target would leave it one by one, ever further behind. While they wait they
can still be made into one; what was sent once cannot, because a broker knows it by its sequence
numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import Final

from flows.source.forward.batch import Batch, read
from flows.source.forward.merge_batches import MergePolicy, common_codec
from flows.source.forward.recode import recode
from flows.source.send.send_queue import OutgoingBatch, PartitionSender

_SMALL_COUNT: Final = 64
_SMALL_BYTES: Final = 16 << 10
"""More would take longer to re-encode than to send."""


def merge_queued(lane: PartitionSender, policy: MergePolicy) -> OutgoingBatch | None:
    """
    One batch, not stamped, in the place of the first ones queued; takes those off the queue.

    None if there is nothing to be merged.
    """
    if not _is_small(lane.queue[0]):
        return None
    waiting = list(_waiting(lane, policy))
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
        lane.queue.popleft()
    return replace(
        outgoing[0],
        data=recoded.data,
        offsets=_in_a_row([each.offsets for each in outgoing]),
        oldest_ms=min(each.oldest_ms for each in outgoing),
        size=sum(each.size for each in outgoing),
    )


def _waiting(lane: PartitionSender, policy: MergePolicy) -> Iterator[tuple[OutgoingBatch, Batch]]:
    """The batches at the head of the queue that may become one."""
    room = min(policy.most_bytes, lane.most_bytes)
    compression = None
    for each in lane.queue:
        room -= len(each.data)
        if each.is_fixed or not _is_small(each) or room < 0:
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


def _in_a_row(parts: Sequence[Sequence[int]]) -> Sequence[int]:
    first, last, count = parts[0][0], parts[-1][-1], sum(map(len, parts))
    if last - first + 1 == count:
        return range(first, last + 1)
    return list(chain.from_iterable(parts))
