"""
Records of the control topic, ``mm2-control.<source>.internal``.

The flow's lease and assignments, what tasks ask of the leader, and what they found missing. One
partition, compacted, on the target cluster. ``mm2.protocol.control_codec`` reads and writes them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from mm2.core.model import TopicName, TopicPartition


class BundleState(StrEnum):
    """What the herder wants of a bundle."""

    RUNNING = "running"
    STOPPED = "stopped"


class FlowState(StrEnum):
    """What an operator wants of a flow."""

    RUNNING = "running"
    STOPPED = "stopped"


class LeaseState(StrEnum):
    """Whether a lease counts."""

    LEADING = "leading"
    RELEASED = "released"


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """
    Who leads the flow; written again and again as long as that is true.

    Attributes:
        epoch: grows with each new leader.
        state: whether it leads, or has drained and leads no more.
        time_ms: when this was written, by the owner's clock; 0 if not known.
        lasts_ms: how long it counts if it is not written again; 0 if not known.
        digest: of the flow's configuration as the owner's file has it.
    """

    epoch: int
    owner: str
    state: LeaseState = LeaseState.LEADING
    time_ms: int = 0
    lasts_ms: int = 0
    digest: str = ""
    release: str = ""

    @property
    def is_released(self) -> bool:
        """Whether the owner leads no more."""
        return self.state is LeaseState.RELEASED


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """
    What one bundle shall do.

    Attributes:
        index: number of the bundle in its flow.
        epoch: of the leader that wrote this.
        generation: grows with each assignment of an epoch; tasks report the one they carry out.
        state: whether to run or to drain, commit and end.
        is_drained: whether its task has ended as it should, and no earlier one may still write.
        partitions: source partition and the remote topic that it is copied to.
    """

    index: int
    epoch: int
    generation: int
    state: BundleState
    is_drained: bool = False
    partitions: Mapping[TopicPartition, TopicName] = field(default_factory=dict)

    @property
    def remotes(self) -> set[TopicPartition]:
        """The remote partitions that it writes to."""
        return {TopicPartition(name, each.partition) for each, name in self.partitions.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignedTopic:
    """Partitions of a topic in the record of an assignment."""

    topic: TopicName
    remote: TopicName
    partitions: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredAssignment:
    """
    An assignment as its record has it.

    Attributes:
        topics: one for each source and remote topic: thousands of partitions have to fit.
    """

    index: int
    epoch: int
    generation: int
    state: BundleState
    drained: bool = False
    topics: tuple[AssignedTopic, ...]

    @classmethod
    def of(cls, assignment: Assignment) -> StoredAssignment:
        """What is to be written of an assignment."""
        return cls(
            index=assignment.index,
            epoch=assignment.epoch,
            generation=assignment.generation,
            state=assignment.state,
            drained=assignment.is_drained,
            topics=_by_topic(assignment.partitions),
        )

    def restored(self) -> Assignment:
        """The assignment that was written."""
        return Assignment(
            index=self.index,
            epoch=self.epoch,
            generation=self.generation,
            state=self.state,
            is_drained=self.drained,
            partitions={
                TopicPartition(each.topic, number): each.remote
                for each in self.topics
                for number in each.partitions
            },
        )


def _by_topic(assigned: Mapping[TopicPartition, TopicName]) -> tuple[AssignedTopic, ...]:
    topics: dict[tuple[TopicName, TopicName], list[int]] = {}
    for source, remote in sorted(assigned.items()):
        topics.setdefault((source.topic, remote), []).append(source.partition)
    return tuple(
        AssignedTopic(topic=topic, remote=remote, partitions=tuple(numbers))
        for (topic, remote), numbers in topics.items()
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingTopic:
    """
    A task's wish for a remote topic that is not there any more.

    Attributes:
        epoch: of the leader that started the task.
    """

    epoch: int
    topic: TopicName


@dataclass(frozen=True, slots=True, kw_only=True)
class DesiredFlowState:
    """
    What an operator wants of the flow; holds until the next one, also over restarts.

    Attributes:
        time_ms: since when, by the operator's clock.
        by: the program that wrote it; empty for a person.
    """

    state: FlowState
    reason: str = ""
    time_ms: int = 0
    by: str = ""

    @property
    def is_stopped(self) -> bool:
        """Whether nothing is to be copied."""
        return self.state is FlowState.STOPPED


def earlier_bundles(assignments: Iterable[Assignment]) -> list[list[TopicPartition]]:
    """The bundles of the last leader, from all assignments in the control topic."""
    found = list(assignments)
    last = max((each.epoch for each in found), default=0)
    bundles = {each.index: list(each.partitions) for each in found if each.epoch == last}
    return [bundles.get(index, []) for index in range(max(bundles, default=-1) + 1)]
