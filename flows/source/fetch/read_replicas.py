"""
Which replica each partition is read from (KIP-392).

A leader that knows of a replica nearer to our rack names it, and gives no records; that one is
asked from then on. What it cannot answer the leader is asked again, and after some time the leader
is asked in any case: it may know of a better one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final

from mm2.core.model import TopicPartition

NO_NODE: Final = -1

_NO_RACK_FOR_S: Final = 5.0
"""
After trouble with a replica.

The leader would name it again at once, and only to those without a rack does it give records.
"""


@dataclass(slots=True, kw_only=True)
class ReadReplicas:
    """
    Remembers the preferred replicas of a task's partitions.

    Attributes:
        own_rack: the task's rack; empty: only leaders are read.
        lease_s: seconds that a replica is read before the leader is asked again.
        clock: seconds, monotonic.
    """

    own_rack: str
    leader: Callable[[TopicPartition], int | None]
    is_known: Callable[[int], bool]
    lease_s: float
    clock: Callable[[], float]
    _preferred: dict[TopicPartition, tuple[int, float]] = field(default_factory=dict)
    _no_rack_before: float = 0.0

    @property
    def rack(self) -> str:
        """The rack to send with fetches."""
        return self.own_rack if self.clock() >= self._no_rack_before else ""

    def reader(self, partition: TopicPartition) -> int | None:
        """The node to ask for a partition; None while no leader is known."""
        if (preferred := self._preferred.get(partition)) is not None:
            node, until = preferred
            if self.clock() < until and self.is_known(node):
                return node
            del self._preferred[partition]
        return self.leader(partition)

    def readers(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int | None]:
        """The node to ask for each of some partitions."""
        return {partition: self.reader(partition) for partition in partitions}

    def prefer(self, partition: TopicPartition, node: int) -> bool:
        """
        Takes the preferred replica of an answer; returns whether that is to be asked.

        One that is not known (yet) is not asked.
        """
        if node == NO_NODE or node == self.reader(partition):
            return False
        if not self.is_known(node):
            self._stay_with_leaders()
            return False
        self._preferred[partition] = (node, self.clock() + self.lease_s)
        return True

    def forsake(self, partition: TopicPartition) -> bool:
        """Goes back to the leader; returns whether another replica was asked."""
        if self._preferred.pop(partition, None) is None:
            return False
        self._stay_with_leaders()
        return True

    def _stay_with_leaders(self) -> None:
        self._no_rack_before = self.clock() + _NO_RACK_FOR_S

    def forsake_node(self, node: int) -> None:
        """Goes back to the leaders for all partitions that were read from a node."""
        for partition in [p for p, (other, _) in self._preferred.items() if other == node]:
            self.forsake(partition)
