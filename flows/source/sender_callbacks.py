"""What a partition does with the answers to the batches that its sender sends."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flows.source.fetch.fetcher import Fetcher
from flows.source.fetch.memory_budget import MemoryBudget
from flows.source.forward.error_policy import ErrorPolicy
from flows.source.mirrored_partition import MirroredPartition
from flows.source.send.outgoing_batch import OutgoingBatch, SendState


def take_answers(
    mirrored: MirroredPartition,
    appended: Callable[[OutgoingBatch], None],
    *,
    budget: MemoryBudget,
    fetcher: Fetcher,
    errors: ErrorPolicy,
    went_back: Callable[[], None] = lambda: None,
) -> None:
    """
    Has the sender of a partition report to it; whoever had the sender before is not told any more.

    Args:
        appended: called last, for each batch that the target has.
        went_back: called when batches must be sent again.
    """
    sender = mirrored.sender

    def acknowledged(batch: OutgoingBatch) -> None:
        budget.release(batch.size)
        mirrored.landed(batch)
        fetcher.acknowledged()
        appended(batch)

    def dropped(batches: Sequence[OutgoingBatch]) -> None:
        budget.release(mirrored.dropped(batches))
        went_back()
        fetcher.acknowledged()

    def refused(batch: OutgoingBatch, code: int) -> SendState:
        return errors.refused(mirrored, sender, batch, code)

    sender.on_ack, sender.on_dropped, sender.on_refused = acknowledged, dropped, refused
