"""Topics of the target that a handler names: there, or waited for, or refused."""

from __future__ import annotations

from typing import Final

import pytest

from flows.source.transform.message_handler import WrongRecords
from mm2.core.model import TopicName
from mm2.core.topics.topic_name import is_topic_name
from mm2.errors import ClusterError, NotAuthorized
from mm2.kafka.client_errors import Refused
from tests.support.named_topics import NamedTarget, named_topics
from tests.support.virtual_time import run

_NEW: Final = TopicName("new")
_T: Final = TopicName("t")


def test_a_topic_that_no_broker_has_heard_of_yet_is_waited_for() -> None:
    target, tracked = NamedTarget(), set[str]()
    target.late = 3
    assert run(named_topics(NamedTarget(t=4), target, tracked)(_NEW, _T)) == 4
    assert target.created == [_NEW]
    assert tracked == {_NEW}


def test_a_target_that_is_away_is_waited_for() -> None:
    source, target = NamedTarget(t=4), NamedTarget()
    target.away = 5
    assert run(named_topics(source, target, set())(_NEW, _T)) == 4


def test_a_topic_grows_with_the_source_where_a_record_needs_it() -> None:
    source, target = NamedTarget(t=4), NamedTarget(new=3)
    target.late = 2

    async def counts() -> list[int]:
        partitions_of = named_topics(source, target, set())
        return [await partitions_of(_NEW, _T, least) for least in (1, 3, 4)]

    assert run(counts()) == [3, 3, 4]


def test_a_topic_grows_for_a_partition_that_the_source_told_of_late() -> None:
    target = NamedTarget(new=3)
    assert run(named_topics(NamedTarget(t=3), target, set())(_NEW, _T, 4)) == 4


def test_a_topic_never_shrinks() -> None:
    target = NamedTarget(new=5)
    assert run(named_topics(NamedTarget(t=4), target, set())(_NEW, _T, 4)) == 5
    assert target.topics == {_NEW: 5}


@pytest.mark.parametrize(
    "name", ["", ".", "..", "a b", "x" * 250, "\udc80", pytest.param("\n", id="newline")]
)
def test_the_handler_is_at_fault_for_a_name_that_no_topic_can_have(name: str) -> None:
    target, tracked = NamedTarget(), set[str]()
    with pytest.raises(WrongRecords, match="no topic can have the name"):
        run(named_topics(NamedTarget(t=4), target, tracked)(TopicName(name), _T))
    assert not tracked | target.tracked


@pytest.mark.parametrize(
    "name", ["mm2-control.A.internal", "A.checkpoints.internal", "__consumer_offsets"]
)
def test_the_handler_is_at_fault_for_a_name_of_an_internal_topic(name: str) -> None:
    """But what is copied from a topic of that name, because the user says so, goes there."""
    target, tracked = NamedTarget(), set[str]()
    topics = named_topics(NamedTarget(**{"t": 4, name: 4}), target, tracked)
    with pytest.raises(WrongRecords, match="is internal"):
        run(topics(TopicName(name), _T))
    assert not tracked | target.tracked
    assert run(topics(TopicName(name), TopicName(name))) == 4


def test_the_handler_is_at_fault_for_a_name_that_is_too_similar_to_another() -> None:
    target = NamedTarget()
    reason = "collides with existing topics: a.b"
    target.refusal = Refused("target", reason, "INVALID_TOPIC_EXCEPTION")
    with pytest.raises(WrongRecords, match=reason):
        run(named_topics(NamedTarget(t=4), target, set())(TopicName("a_b"), _T))


@pytest.mark.parametrize(
    "refusal",
    [
        NotAuthorized("target", "create topics"),
        Refused("target", "no such topics here", "POLICY_VIOLATION"),
    ],
)
def test_what_the_cluster_does_not_allow_is_no_fault_of_the_handler(refusal: ClusterError) -> None:
    target = NamedTarget()
    target.refusal = refusal
    with pytest.raises(type(refusal)):
        run(named_topics(NamedTarget(t=4), target, set())(_NEW, _T))


@pytest.mark.parametrize("name", ["a", "A.b_c-9", "...", "x" * 249])
def test_names_that_topics_may_have(name: str) -> None:
    assert is_topic_name(name)
