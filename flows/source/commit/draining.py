"""
Brings what a task has under way to its end: copies first, then their positions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import structlog

from flows.source.commit.position_commits import Committer, has_moved
from flows.source.mirrored_partition import MirroredPartition
from flows.source.send.producer import Producer

log = structlog.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class Drained:
    """
    What came of it.

    Attributes:
        is_complete: whether the target has all copies, and the positions of all partitions.
        positions: how many positions were committed.
    """

    is_complete: bool
    positions: int


async def drain(
    partitions: Sequence[MirroredPartition],
    producer: Producer,
    positions: Committer,
    *,
    within_s: float,
) -> Drained:
    """
    Waits for copies that are under way, and commits.

    Args:
        partitions: which; nothing is added to them any more.
        producer: copies them.
        positions: commits them.
        within_s: how long copies are waited for.

    Raises:
        FlowError: the target refuses to store positions for good, or a transaction does not end.
    """
    lanes = [partition.lane for partition in partitions]
    is_empty = await producer.flush(lanes, within_s=within_s)
    if not is_empty:
        stuck = [str(lane.target) for lane in lanes if not lane.is_idle]
        log.warning("source.not_drained", partitions=stuck, within_s=within_s)
    committed = await positions.commit(partitions)
    is_complete = is_empty and not any(map(has_moved, partitions))
    return Drained(is_complete=is_complete, positions=committed)
