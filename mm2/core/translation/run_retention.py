"""
Which blocks of runs need not stay in their topic.

Compaction keeps the last record of every key for ever, and every task writes blocks of its own. So
from time to time tombstones are written for blocks that later ones have replaced, for those that
became part of a sparse block, and for those that both logs have moved past.
"""

from __future__ import annotations

from mm2.core.translation.partition_runs import MOST_RUNS, PartitionRuns
from mm2.core.translation.runs import Block, BlockName


class StoredRuns:
    """The blocks of one partition that stand in the topic, and what they tell together."""

    def __init__(self, most: int = MOST_RUNS) -> None:
        self._runs = PartitionRuns(most)
        self._stored: dict[BlockName, Block] = {}

    @property
    def runs(self) -> PartitionRuns:
        """What the blocks tell together."""
        return self._runs

    def handle(self, name: BlockName, block: Block | None) -> None:
        """Takes in the next record: a block, or None for a tombstone."""
        if block is None:
            self._stored.pop(name, None)
            self._runs.remove(name)
        else:
            self._stored[name] = block
            self._runs.add(block)

    def due(
        self, upstream_start: int, downstream_start: int
    ) -> list[tuple[BlockName, Block | None]]:
        """
        What to write, in this order: blocks, and tombstones for what nobody needs.

        The newest block stays, and so does what begins behind it: a task may be about to write
        a block of that name.
        """
        blocks = self._runs.blocks
        if not blocks:
            return []
        kept = {
            block.name: block
            for block in blocks
            if block is blocks[-1] or not _is_past(block, upstream_start, downstream_start)
        }
        again = [
            (name, block)
            for name, block in kept.items()
            # Others keep their place: behind those of later tenures they would not count.
            if block.is_sparse and self._stored.get(name) != block
        ]
        gone = [n for n in self._stored if n not in kept and n.start < blocks[-1].start]
        return [*again, *((name, None) for name in sorted(gone))]


def _is_past(block: Block, upstream_start: int, downstream_start: int) -> bool:
    ends_before = not block.runs or block.runs.downstream_end <= downstream_start
    return block.end <= upstream_start and ends_before
