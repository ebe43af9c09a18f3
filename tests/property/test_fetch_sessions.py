"""A broker and our side of a fetch session stay of one mind, whatever happens between them."""

from __future__ import annotations

from dataclasses import dataclass, field
from uuid import UUID

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from mm2.core.model import TopicName, TopicPartition
from mm2.kafka.wire.error_codes import Code
from mm2.kafka.wire.requests.fetch import FetchAnswer, Topic
from mm2.kafka.wire.sessions import NO_SESSION, FetchSession, SessionStep

_MOST = 100
_LAST_EPOCH = (1 << 31) - 1
_partitions = st.builds(TopicPartition, st.sampled_from([TopicName("a"), TopicName("b")]),
                        st.integers(0, 3))  # fmt: skip
_ids = st.sampled_from([None, 1, 2, 3])
"""Numbers of topics that were there under one name, one after the other; None of old brokers."""

Fetched = dict[tuple[Topic, int], int]
"""Offsets by what a topic is called, and partition."""


def _id(topic: str, number: int | None) -> UUID | None:
    return None if number is None else UUID(int=256 * ord(topic) + number)


@dataclass
class _Cached:
    epoch: int
    by_id: bool
    offsets: Fetched = field(default_factory=dict)


class _Broker:
    """Keeps sessions as Kafka's ``FetchManager`` does."""

    def __init__(self) -> None:
        self.sessions: dict[int, _Cached] = {}
        self.has_room = True
        self._next = 7

    def fetch(self, step: SessionStep) -> tuple[FetchAnswer, Fetched]:
        """The answer, and what is fetched."""
        if step.epoch == 0:
            return self._begin(step)
        cached = self.sessions.get(step.session)
        if cached is None:
            return FetchAnswer(0, Code.FETCH_SESSION_ID_NOT_FOUND, NO_SESSION, ()), {}
        if cached.epoch != step.epoch:
            return FetchAnswer(0, Code.INVALID_FETCH_SESSION_EPOCH, NO_SESSION, ()), {}
        assert cached.by_id == step.by_id, "a session knows either names or ids"
        # What is forgotten goes last, as in Kafka.
        cached.offsets |= _offsets(step)
        for topic, numbers in step.forgotten.items():
            for number in numbers:
                del cached.offsets[topic, number]
        cached.epoch = 1 if cached.epoch == _LAST_EPOCH else cached.epoch + 1
        return FetchAnswer(0, 0, step.session, ()), dict(cached.offsets)

    def _begin(self, step: SessionStep) -> tuple[FetchAnswer, Fetched]:
        assert not step.forgotten
        self.sessions.pop(step.session, None)
        if not self.has_room:
            return FetchAnswer(0, 0, NO_SESSION, ()), _offsets(step)
        self._next += 1
        self.sessions[self._next] = _Cached(1, step.by_id, _offsets(step))
        return FetchAnswer(0, 0, self._next, ()), _offsets(step)


def _offsets(step: SessionStep) -> Fetched:
    for partitions in step.topics.values():
        assert {most for _, _, most in partitions} == {_MOST}
    return {
        (topic, number): offset
        for topic, partitions in step.topics.items()
        for number, offset, _ in partitions
    }


class Sessions(RuleBasedStateMachine):
    """Partitions come, move and go; requests and answers get lost; the broker forgets."""

    def __init__(self) -> None:
        super().__init__()
        self.broker = _Broker()
        self.session = FetchSession(_MOST)
        self.wanted: dict[TopicPartition, tuple[int, UUID | None]] = {}
        self.largest = 0

    @initialize()
    def begin_near_the_last_epoch(self) -> None:
        """So that numbers wrap in some runs."""
        self.fetch()
        for cached in self.broker.sessions.values():
            cached.epoch = self.session._epoch = _LAST_EPOCH - 2

    @rule(partition=_partitions, offset=st.integers(0, 3), number=_ids)
    def want(self, partition: TopicPartition, offset: int, number: int | None) -> None:
        """A partition is wanted, or moves, perhaps to another topic of that name."""
        self.wanted[partition] = offset, _id(partition.topic, number)
        self.session.fetch(partition, *self.wanted[partition])

    @rule(number=st.integers(1, 3))
    def learn(self, number: int) -> None:
        """The ids of all topics are known."""
        for partition, (offset, _) in list(self.wanted.items()):
            self.want(partition, offset, number)

    @rule(partition=_partitions)
    def drop(self, partition: TopicPartition) -> None:
        """A partition has no room."""
        self.wanted.pop(partition, None)
        self.session.drop(partition)

    @rule(partitions=st.sets(_partitions))
    def retain(self, partitions: set[TopicPartition]) -> None:
        """Partitions are led by others."""
        self.wanted = {p: wanted for p, wanted in self.wanted.items() if p in partitions}
        self.session.retain(partitions)

    @rule()
    def fetch(self) -> None:
        """A request is answered; only what is wanted is fetched, and all of that."""
        answer, fetched = self.broker.fetch(self.session.next())
        self.session.answered(answer)
        if not answer.error:
            self.expect(fetched)

    def expect(self, fetched: Fetched) -> None:
        """By ids when all are known, and by names otherwise."""
        by_id = all(topic_id is not None for _, topic_id in self.wanted.values())
        expected: Fetched = {}
        for partition, (offset, topic_id) in self.wanted.items():
            called = topic_id if by_id and topic_id is not None else partition.topic
            expected[called, partition.partition] = offset
            assert self.session.partition(called, partition.partition) == partition
        assert fetched == expected

    @rule()
    def lose_request(self) -> None:
        """The broker never hears of it."""
        self.session.next()
        self.session.answered(None)

    @rule()
    def lose_answer(self) -> None:
        """We never hear of it."""
        self.broker.fetch(self.session.next())
        self.session.answered(None)

    @rule(has_room=st.booleans())
    def forget(self, has_room: bool) -> None:
        """The broker starts anew, or evicts sessions."""
        self.broker.sessions.clear()
        self.broker.has_room = has_room

    @rule()
    def recover(self) -> None:
        """Whatever happened: after one failed request at most all is well."""
        answer, _ = self.broker.fetch(self.session.next())
        self.session.answered(answer)
        self.fetch()
        answer, _ = self.broker.fetch(self.session.next())
        self.session.answered(answer)
        assert not answer.error

    @invariant()
    def wants_what_was_asked_for(self) -> None:
        """Offsets can be looked up, and one session at most is left behind."""
        offsets = {partition: offset for partition, (offset, _) in self.wanted.items()}
        assert {p: self.session.offset(p) for p in self.wanted} == offsets
        assert self.session.is_empty == (not self.wanted)


Sessions.TestCase.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
TestSessions = Sessions.TestCase


def test_an_idle_session_says_nothing() -> None:
    session, broker = FetchSession(_MOST), _Broker()
    partitions = [TopicPartition(TopicName("t"), n) for n in range(3)]
    for partition in partitions:
        session.fetch(partition, 0)
    whole = session.next()
    assert whole.topics == {"t": [(0, 0, _MOST), (1, 0, _MOST), (2, 0, _MOST)]}
    session.answered(broker.fetch(whole)[0])
    session.fetch(partitions[1], 0)
    assert session.next() == SessionStep(8, 1, {}, {})
    session.answered(FetchAnswer(0, 0, 8, ()))
    session.fetch(partitions[1], 5)
    session.drop(partitions[2])
    assert session.next() == SessionStep(8, 2, {"t": [(1, 5, _MOST)]}, {"t": [2]})


def test_without_a_session_a_partition_that_had_data_goes_last() -> None:
    session = FetchSession(_MOST)
    for number in range(3):
        session.fetch(TopicPartition(TopicName("t"), number), 0)
    session.next()
    session.answered(FetchAnswer(0, 0, NO_SESSION, ()))
    session.fetch(TopicPartition(TopicName("t"), 0), 9)
    order = [number for number, _, _ in session.next().topics["t"]]
    assert order == [1, 2, 0]


def test_a_topic_in_the_place_of_another_is_asked_for_by_its_own_id() -> None:
    session, broker = FetchSession(_MOST), _Broker()
    before, now = UUID(int=1), UUID(int=2)
    partition = TopicPartition(TopicName("t"), 0)
    session.fetch(partition, 5, before)
    session.answered(broker.fetch(session.next())[0])
    session.fetch(partition, 0, now)
    assert session.next() == SessionStep(8, 1, {now: [(0, 0, _MOST)]}, {before: [0]}, by_id=True)
    assert session.partition(now, 0) == partition
    assert session.partition(before, 0) is None
    assert session.partition(UUID(int=3), 0) is None


def test_a_broker_that_does_not_know_ids_is_asked_by_names_until_it_has_been_away() -> None:
    session, topic_id = FetchSession(_MOST), UUID(int=1)
    partition = TopicPartition(TopicName("t"), 0)
    by_name = SessionStep(NO_SESSION, 0, {"t": [(0, 5, _MOST)]}, {})
    session.fetch(partition, 5, topic_id)
    assert session.next().by_id
    session.answered(None, takes_ids=False)
    assert session.next() == by_name
    assert session.partition("t", 0) == partition
    session.answered(FetchAnswer(0, 0, 7, ()))
    assert session.next() == SessionStep(7, 1, {}, {})
    session.answered(None)
    assert session.next() == SessionStep(7, 0, {topic_id: [(0, 5, _MOST)]}, {}, by_id=True)
