"""The partitions of consumer groups whose offsets are translated."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import Final

from mm2.metrics.partitions import Flow
from mm2.protocol.checkpoint_progress import CheckpointLatency

_FORGOTTEN_MS: Final = 3_600_000
"""Groups come and go; one without a checkpoint for so long has no series any more."""


@dataclass(frozen=True, slots=True)
class MeteredGroup:
    """
    A partition of a group.

    Attributes:
        last: what was told of its checkpoints last.
    """

    flow: Flow
    last: CheckpointLatency

    @property
    def labels(self) -> dict[str, object]:
        """Java's, after those of the clusters."""
        last = self.last
        return {"group": last.group, "topic": last.topic, "partition": last.partition}


def groups_of(flow: Flow, most: int) -> tuple[list[MeteredGroup], int]:
    """The partitions with the newest checkpoints, and how many others there are."""
    since_ms = flow.now_ms - _FORGOTTEN_MS
    told = [
        (at_ms, each)
        for each, at_ms in flow.led.snapshot.checkpoint_latencies.values()
        if at_ms >= since_ms
    ]
    kept = heapq.nlargest(most, told, key=lambda each: each[0])
    return [MeteredGroup(flow, each) for _, each in kept], len(told) - len(kept)
