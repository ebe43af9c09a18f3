"""What producers miss on the cluster that they go to."""

from __future__ import annotations

import pytest

from mm2.core.checks import Verdict, is_go
from mm2.core.failover.move_checks import (
    ProducerFacts,
    producer_checks,
    quota_checks,
)


def producers(
    there: int | None = 4,
    writers: frozenset[str] | None = frozenset({"User:a", "User:b"}),
    writers_there: frozenset[str] | None = None,
) -> ProducerFacts:
    return ProducerFacts(
        topic="orders", partitions=4, there=there, writers=writers, writers_there=writers_there
    )


@pytest.mark.parametrize(
    "fine",
    [
        producers(),
        producers(there=5),
        producers(writers=None, writers_there=frozenset()),
        producers(writers_there=frozenset({"User:b", "User:a", "User:c"})),
        producers(writers_there=frozenset({"User:*"})),
    ],
)
def test_producers_that_find_everything_need_no_word(fine: ProducerFacts) -> None:
    assert not list(producer_checks([fine]))


@pytest.mark.parametrize(
    ("facts_", "reason"),
    [
        (producers(there=None), "the topic is not there (4 partitions)"),
        (producers(there=3), "the topic has only 3 of 4 partitions"),
        (producers(writers_there=frozenset({"User:a"})), "no right to write: User:b"),
    ],
)
def test_what_producers_miss_is_a_caution(facts_: ProducerFacts, reason: str) -> None:
    (check,) = producer_checks([facts_])
    assert (check.verdict, check.reason) == (Verdict.CAUTION, reason)
    assert is_go([check])
    assert not is_go([check], strict=True)


def test_other_quotas_are_a_caution() -> None:
    here = {"user=a": {"producer_byte_rate": 1000.0, "request_percentage": 50.0}, "user=b": {}}
    there = {"user=a": {"producer_byte_rate": 2000.0}}
    (check,) = quota_checks(here, there)
    assert check.subject == "user=a"
    assert "producer_byte_rate 1000 is 2000 there, request_percentage 50" in check.reason
    assert not list(quota_checks(here, here))
