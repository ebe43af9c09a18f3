"""Transforms in the order in which they are applied, each perhaps on a condition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Protocol

from mm2.core.handled_records import Headers, SourceRecord
from mm2.core.internal_records import is_heartbeat
from mm2.core.transforms.record_draft import RecordDraft
from mm2.errors import PatternTimeout, TransformError

_MOST_TOPICS: Final = 100_000


class Transform(Protocol):
    """Changes a record (Java: ``Transformation``)."""

    def apply(self, draft: RecordDraft) -> bool:
        """
        Changes the draft; whether the record stays.

        Raises:
            TransformError: it cannot be applied to this record.
        """


class RecordPredicate(Protocol):
    """A condition on a record (Java: ``Predicate``)."""

    def test(self, draft: RecordDraft) -> bool:
        """Whether the record meets it."""


class TopicPredicate(Protocol):
    """A condition on the name of a record's topic alone."""

    def test(self, draft: RecordDraft) -> bool:
        """Whether the record meets it."""

    def matches(self, topic: str) -> bool:
        """Whether records of the topic meet it."""


class TopicRouter(Protocol):
    """A transform that may change the topic."""

    def keeps(self, topic: str) -> bool:
        """Whether records of a topic stay there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """
    One transform of a chain (Java: ``TransformationStage``).

    Attributes:
        name: as the user calls it.
        kind: its class, as Java names it.
        router: the transform, if it may change the topic.
        of_json: whether it reads key or value as JSON.
        predicate: records that do not meet it pass unchanged; None: no record does.
        of_topic: the same, if the topic alone decides.
        negated: only those that do meet it pass unchanged.
    """

    name: str
    kind: str
    transform: Transform
    router: TopicRouter | None = None
    of_json: bool = False
    predicate: RecordPredicate | None = None
    of_topic: TopicPredicate | None = None
    negated: bool = False

    def leaves(self, topic: str) -> bool:
        """
        Whether records of a topic pass unchanged, whatever is in them.

        Raises:
            PatternTimeout: a pattern takes too long.
        """
        if self.of_topic is not None and self.of_topic.matches(topic) is self.negated:
            return True
        return self.router is not None and self.router.keeps(topic)


@dataclass(frozen=True, slots=True)
class SparingHeartbeats:
    """A transform of all records but heartbeats."""

    transform: Transform

    def apply(self, draft: RecordDraft) -> bool:
        """
        Changes the draft, unless it is a heartbeat.

        Raises:
            TransformError: it cannot be applied to this record.
        """
        record = draft.source
        return is_heartbeat(record.key, record.value) or self.transform.apply(draft)


@dataclass(slots=True)
class TransformChain:
    """
    What becomes of records on their way to the target.

    Records have the name of the remote topic; partition and timestamp are kept.
    """

    steps: Sequence[Step]
    _of_topics: dict[str, tuple[Step, ...]] = field(default_factory=dict, compare=False)

    def concerns(self, topic: str) -> bool:
        """Whether records of a topic may be changed or dropped; so it is if that cannot be told."""
        try:
            return bool(self.steps_of(topic))
        except TransformError:
            return True

    def of_bytes(self) -> TransformChain:
        """The chain for records that are no JSON: heartbeats and checkpoints of mm2 itself."""
        return TransformChain([step for step in self.steps if not step.of_json])

    def sparing_heartbeats(self) -> TransformChain:
        """The chain for records some of which are heartbeats: what reads JSON leaves these."""
        return TransformChain(
            [
                replace(step, transform=SparingHeartbeats(step.transform)) if step.of_json else step
                for step in self.steps
            ]
        )

    def apply(self, record: SourceRecord) -> SourceRecord | None:
        """
        The record after all transforms; None if one of them drops it.

        Raises:
            TransformError: a transform cannot be applied to it; the message names the transform.
        """
        steps = self._of_topics.get(record.topic)
        if steps is None:
            steps = self.steps_of(record.topic)
        if not steps:
            return record
        draft = RecordDraft(record)
        for step in steps:
            try:
                if (
                    step.predicate is None or step.predicate.test(draft) is not step.negated
                ) and not step.transform.apply(draft):
                    return None
            except (TransformError, PatternTimeout) as problem:
                raise _failed(step, problem) from problem
        return draft.finished()

    def steps_of(self, topic: str) -> tuple[Step, ...]:
        """
        Those that records of a topic may not pass unchanged.

        Raises:
            TransformError: a pattern takes too long.
        """
        if len(self._of_topics) >= _MOST_TOPICS:
            self._of_topics.clear()
        return self._of_topics.setdefault(topic, tuple(self._concerned(topic)))

    def _concerned(self, topic: str) -> list[Step]:
        """Without the steps that the topic excludes: up to the first that may change it."""
        found: list[Step] = []
        for position, step in enumerate(self.steps):
            try:
                if step.leaves(topic):
                    continue
                found.append(step)
                if step.router is not None:
                    return [*found, *self.steps[position + 1 :]]
            except PatternTimeout as problem:
                raise _failed(step, problem) from problem
        return found


def own_record(
    topic: str,
    key: bytes,
    value: bytes | None,
    timestamp: int,
    headers: Headers = (),
    *,
    chain: TransformChain | None,
) -> SourceRecord | None:
    """
    A heartbeat or checkpoint on its way to its topic's partition 0; None if the chain drops it.

    Raises:
        TransformError: a transform cannot be applied to it.
    """
    record = SourceRecord(
        topic=topic,
        partition=0,
        offset=0,
        timestamp=timestamp,
        key=key,
        value=value,
        headers=headers,
    )
    return record if chain is None else chain.apply(record)


def _failed(step: Step, problem: Exception) -> TransformError:
    return TransformError(f"transform {step.name} ({step.kind}): {problem}", step.kind)
