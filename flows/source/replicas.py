"""
Which replica each partition is read from (KIP-392).

A leader that knows of a replica nearer to our rack names it, and that one is asked from then on.
What it cannot answer the leader is asked again, and after some time the leader is asked in any
case: it may know of a better one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from mm2.core.model import TopicPartition

NO_NODE: Final = -1

_LEADER_FOR_S: Final = 5.0
"""
After trouble with a replica.

The leader would name it again at once, and we would go to and fro.
"""


@dataclass(slots=True, kw_only=True)
class ReadReplicas:
    """
    Remembers the preferred replicas of a task's partitions.

    Attributes:
        leader: says who leads a partition.
        is_known: says whether a node is one of the cluster's.
        lease_s: for how long a replica is asked before the leader is asked again, in seconds.
        clock: seconds, monotonic.
    """

    leader: Callable[[TopicPartition], int | None]
    is_known: Callable[[int], bool]
    lease_s: float
    clock: Callable[[], float]
    _preferred: dict[TopicPartition, tuple[int, float]] = field(default_factory=dict)
    _not_before: dict[TopicPartition, float] = field(default_factory=dict)

    def reader(self, partition: TopicPartition) -> int | None:
        """The node to ask for a partition; None while nobody is known to lead it."""
        if (preferred := self._preferred.get(partition)) is not None:
            node, until = preferred
            if self.clock() < until and self.is_known(node):
                return node
            del self._preferred[partition]
        return self.leader(partition)

    def prefer(self, partition: TopicPartition, node: int) -> bool:
        """Learns what an answer says of a better replica; says whether that is news."""
        if node == NO_NODE or not self.is_known(node) or node == self.reader(partition):
            return False
        if self.clock() < self._not_before.get(partition, 0.0):
            return False
        self._preferred[partition] = (node, self.clock() + self.lease_s)
        return True

    def forsake(self, partition: TopicPartition) -> bool:
        """Goes back to the leader; says whether another replica was asked."""
        if self._preferred.pop(partition, None) is None:
            return False
        self._not_before[partition] = self.clock() + _LEADER_FOR_S
        return True

    def forsake_node(self, node: int) -> None:
        """Goes back to the leaders for all partitions that were read from a node."""
        for partition in [p for p, (other, _) in self._preferred.items() if other == node]:
            self.forsake(partition)
