"""
Records of the control topic, ``mm2-control.<source>.internal``.

The flow's lease and assignments, what tasks ask of the leader, and what they found missing. One
partition, compacted, on the target cluster. Every value is JSON with a ``version``, so that nodes
of different releases can tell what they do not understand.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any, Final, TypeAlias

from mm2.core.json_text import read_json
from mm2.core.model import TopicName, TopicPartition
from mm2.errors import SchemaError

VERSION: Final = 1
LEASE_KEY: Final = b"lease"
FLOW_KEY: Final = b"flow"
_BUNDLE_PREFIX: Final = "bundle-"
_MISSING_PREFIX: Final = "missing-"


_KINDS: Final = frozenset({"lease", "flow", "bundle", "missing"})
"""What must be understood; other kinds, of newer releases perhaps, are passed over."""


class NewerRecord(SchemaError):
    """
    A record that a newer release has written; it may mean something else than it seems to.

    Args:
        message: which, and of what version.
        lease: who leads, if it is about that: of a lease, epoch and owner never change.
    """

    def __init__(self, message: str, lease: Lease | None = None) -> None:
        super().__init__(message)
        self.lease = lease


class BundleState(StrEnum):
    """What the herder wants of a bundle."""

    RUNNING = "running"
    STOPPED = "stopped"


class FlowState(StrEnum):
    """What an operator wants of a flow."""

    RUNNING = "running"
    STOPPED = "stopped"


class LeaseState(StrEnum):
    """What a leader says of itself."""

    LEADING = "leading"
    RELEASED = "released"


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """
    Who leads the flow; written again and again as long as that is true.

    Attributes:
        epoch: grows with each new leader.
        owner: id of the leading node.
        state: whether it leads, or has drained and leads no more.
        time_ms: when this was written, by the owner's clock; 0 if it does not say.
        lasts_ms: how long it counts if it is not written again; 0 if it does not say.
        digest: of the flow's configuration as the owner's file has it.
        release: of the program that the owner runs.
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
        partitions: source partition and the remote topic that it is copied to.
        is_drained: whether its task has ended as it should, and no earlier one may still write.
    """

    index: int
    epoch: int
    generation: int
    state: BundleState
    partitions: Mapping[TopicPartition, TopicName] = field(default_factory=dict)
    is_drained: bool = False

    @property
    def remotes(self) -> set[TopicPartition]:
        """The remote partitions that it writes to."""
        return {TopicPartition(name, each.partition) for each, name in self.partitions.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingTopic:
    """
    A task's wish for a remote topic that is not there any more.

    Attributes:
        topic: its name.
        epoch: of the leader that started the task.
    """

    topic: TopicName
    epoch: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DesiredFlowState:
    """
    What an operator wants of the flow; holds until the next one, also over restarts.

    Attributes:
        state: whether it is to copy.
        reason: why, for people.
        time_ms: since when, by the operator's clock.
        by: what said so, if it was not a person.
    """

    state: FlowState
    reason: str = ""
    time_ms: int = 0
    by: str = ""

    @property
    def is_stopped(self) -> bool:
        """Whether nothing is to be copied."""
        return self.state is FlowState.STOPPED


def encode_desired_state(wanted: DesiredFlowState) -> tuple[bytes, bytes]:
    """Key and value of what an operator wants of the flow."""
    return FLOW_KEY, _dump({"version": VERSION, **asdict(wanted)})


def encode_lease(lease: Lease) -> tuple[bytes, bytes]:
    """Key and value of a lease record."""
    return LEASE_KEY, _dump({"version": VERSION, **asdict(lease)})


def encode_assignment(assignment: Assignment) -> tuple[bytes, bytes]:
    """Key and value of an assignment record."""
    topics: dict[tuple[str, str], list[int]] = {}
    for source, remote in sorted(assignment.partitions.items()):
        topics.setdefault((source.topic, remote), []).append(source.partition)
    value = {
        "version": VERSION,
        "epoch": assignment.epoch,
        "generation": assignment.generation,
        "state": assignment.state.value,
        "drained": assignment.is_drained,
        "topics": [
            {"topic": topic, "remote": remote, "partitions": partitions}
            for (topic, remote), partitions in topics.items()
        ],
    }
    return f"{_BUNDLE_PREFIX}{assignment.index}".encode(), _dump(value)


def encode_missing(missing: MissingTopic) -> tuple[bytes, bytes]:
    """Key and value of a wish for a remote topic."""
    value = {"version": VERSION, "epoch": missing.epoch, "topic": missing.topic}
    return f"{_MISSING_PREFIX}{missing.topic}".encode(), _dump(value)


Entry: TypeAlias = Lease | Assignment | MissingTopic | DesiredFlowState


def decode(key: bytes | None, value: bytes | None) -> Entry | None:
    """
    The record, or None for one that nobody acts on: a tombstone, a gap, a kind not known.

    Raises:
        NewerRecord: a newer release has written it, with another meaning.
        SchemaError: the record is damaged.
    """
    if key is None or value is None:
        return None
    name = key.decode(errors="replace")
    try:
        fields: Any = read_json(value)
        _check_version(name, fields)
        return _decoded(name, fields)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise SchemaError(f"control record {name!r} cannot be read: {error!r}") from error


def _check_version(name: str, fields: dict[str, Any]) -> None:
    version = int(fields.get("version", VERSION))
    if version > VERSION and name.partition("-")[0] in _KINDS:
        message = f"control record {name!r} is of version {version}, we know {VERSION}"
        is_lease = name.encode() == LEASE_KEY
        raise NewerRecord(message, _newer_lease(fields) if is_lease else None)


def _newer_lease(fields: dict[str, Any]) -> Lease | None:
    try:
        return Lease(epoch=int(fields["epoch"]), owner=str(fields["owner"]))
    except (ValueError, KeyError, TypeError):
        return None


def _decoded(name: str, fields: dict[str, Any]) -> Entry | None:
    match name.partition("-"):
        case "lease", "", _:
            return _lease(fields)
        case "flow", "", _:
            return _wanted(fields)
        case "bundle", "-", index:
            return _assignment(int(index), fields)
        case "missing", "-", _:
            return MissingTopic(topic=TopicName(fields["topic"]), epoch=int(fields["epoch"]))
        case _:
            return None


def _lease(fields: dict[str, Any]) -> Lease:
    return Lease(
        epoch=int(fields["epoch"]),
        owner=str(fields["owner"]),
        state=LeaseState(fields.get("state", LeaseState.LEADING)),
        time_ms=int(fields.get("time_ms", 0)),
        lasts_ms=int(fields.get("lasts_ms", 0)),
        digest=str(fields.get("digest", "")),
        release=str(fields.get("release", "")),
    )


def _wanted(fields: dict[str, Any]) -> DesiredFlowState:
    return DesiredFlowState(
        state=FlowState(fields["state"]),
        reason=str(fields.get("reason", "")),
        time_ms=int(fields.get("time_ms", 0)),
        by=str(fields.get("by", "")),
    )


def _assignment(index: int, fields: dict[str, object]) -> Assignment:
    topics = fields["topics"]
    if not isinstance(topics, list):
        raise TypeError("topics is not a list")
    return Assignment(
        index=index,
        epoch=int(str(fields["epoch"])),
        generation=int(str(fields["generation"])),
        state=BundleState(str(fields["state"])),
        partitions={
            TopicPartition(TopicName(topic["topic"]), number): TopicName(topic["remote"])
            for topic in topics
            for number in topic["partitions"]
        },
        is_drained=fields.get("drained") is True,
    )


def _dump(fields: Mapping[str, object]) -> bytes:
    return json.dumps(fields, separators=(",", ":"), ensure_ascii=False).encode()


def earlier_bundles(assignments: Iterable[Assignment]) -> list[list[TopicPartition]]:
    """The bundles of the last leader, from all assignments in the control topic."""
    found = list(assignments)
    last = max((each.epoch for each in found), default=0)
    bundles = {each.index: list(each.partitions) for each in found if each.epoch == last}
    return [bundles.get(index, []) for index in range(max(bundles, default=-1) + 1)]
