"""
The assignments of one leader in the control topic, and what its tasks may write to because of them.

In a compacted topic, and to a task that starts, only the last record of a bundle counts.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from mm2.core.model import TopicName, TopicPartition
from mm2.kafka.writer import Writer
from mm2.protocol.control_codec import encode_control
from mm2.protocol.control_records import Assignment, BundleState


class AssignmentWriter:
    """
    Writes assignments, and remembers what was written.

    Args:
        writable: remote partitions that earlier tasks of bundles may still write to, because they
            could not be fenced.
    """

    def __init__(
        self,
        writer: Writer,
        topic: str,
        epoch: int,
        writable: Mapping[int, Collection[TopicPartition]] | None = None,
    ) -> None:
        self._writer = writer
        self._topic = topic
        self._epoch = epoch
        # What tasks of a bundle may write to, from their start until they end as they should.
        self._writable = {index: set(remotes) for index, remotes in (writable or {}).items()}
        self._written: dict[int, int] = {}
        self._newest: dict[int, tuple[int, int]] = {}

    async def write(
        self,
        index: int,
        state: BundleState,
        generation: int,
        partitions: Mapping[TopicPartition, TopicName],
        *,
        is_drained: bool = False,
    ) -> None:
        """
        Writes an assignment.

        A stopped bundle's keeps its partitions: the next leader leaves them where they are.

        Raises:
            ClusterError: the control topic cannot be written.
        """
        assignment = Assignment(
            index=index,
            epoch=self._epoch,
            generation=generation,
            state=state,
            partitions=partitions,
            is_drained=is_drained,
        )
        if index in self._writable:
            self._writable[index] |= assignment.remotes
        await self._writer.send(self._topic, *encode_control(assignment), partition=0)
        self._written[index] = generation

    def generation(self, index: int) -> int:
        """Of the last assignment that was written for a bundle."""
        return self._written.get(index, 0)

    def is_overwritten(self, read: Assignment) -> bool:
        """
        Whether an assignment that was read stands behind a newer one of its bundle.

        An older leader wrote it, or it was written twice because an answer was lost.
        """
        age = read.epoch, read.generation
        if age < self._newest.get(read.index, (self._epoch, 0)):
            return True
        self._newest[read.index] = age
        return False

    def begins(self, index: int, partitions: Mapping[TopicPartition, TopicName]) -> None:
        """Notes that a task of a bundle may write to the copies of partitions from now on."""
        remotes = {TopicPartition(name, each.partition) for each, name in partitions.items()}
        self._writable.setdefault(index, set()).update(remotes)

    def has_drained(self, index: int) -> None:
        """Notes that the task of a bundle has ended as it should."""
        del self._writable[index]

    def writable(self, index: int) -> tuple[TopicPartition, ...]:
        """Remote partitions that tasks of a bundle may still write to."""
        return tuple(sorted(self._writable.get(index, ())))

    def is_writable(self, index: int) -> bool:
        """Whether a task of a bundle may still write."""
        return index in self._writable
