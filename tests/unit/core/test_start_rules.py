"""Where partitions without a position begin."""

from __future__ import annotations

import pytest

from mm2.core.model import TopicName, TopicPartition
from mm2.core.positions.start_rules import Begin, Start, parse_reset, parse_rules, start_of
from mm2.errors import ConfigError

OTHERWISE = Start(Begin.EARLIEST)


def _where(topic: str, partition: int = 0) -> TopicPartition:
    return TopicPartition(TopicName(topic), partition)


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("earliest", Start(Begin.EARLIEST)),
        ("latest", Start(Begin.LATEST)),
        ("none", Start(Begin.NOWHERE)),
        ("by_duration:PT1H", Start(Begin.AGO, 3_600_000)),
    ],
)
def test_kafkas_words_are_read(text: str, start: Start) -> None:
    assert parse_reset(text) == start


@pytest.mark.parametrize("text", ["", "Latest", "first", "by_duration:", "by_duration:1h", "5"])
def test_other_words_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"must be earliest|is no duration"):
        parse_reset(text)


def test_the_first_rule_that_holds_counts() -> None:
    rules = parse_rules(
        [
            "orders:2=17",
            "orders=latest",
            "(?=a)a.*=2026-11-21T09:30:00Z",
            "click.*=by_duration:P1D",
            "x:y=none",
        ]
    )
    expected = {
        _where("orders", 2): Start(Begin.OFFSET, 17),
        _where("orders", 1): Start(Begin.LATEST),
        _where("audit"): Start(Begin.TIME, 1_795_253_400_000),
        _where("clicks"): Start(Begin.AGO, 86_400_000),
        _where("my-clicks"): OTHERWISE,
        _where("x:y"): Start(Begin.NOWHERE),
    }
    assert {where: start_of(where, rules, OTHERWISE) for where in expected} == expected


def test_without_rules_all_is_as_usual() -> None:
    assert start_of(_where("orders"), (), OTHERWISE) == OTHERWISE


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("orders", "is not of the form topic=where"),
        ("=5", "is not of the form topic=where"),
        ("orders=", "is not of the form topic=where"),
        ("orders=soon", "'soon' is no time"),
        ("orders=by_duration:x", "'x' is no duration"),
        ("ord[=5", "'ord[=5'"),
    ],
)
def test_a_rule_that_cannot_be_read_is_refused(rule: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_rules([rule])
    assert message in str(caught.value)
    assert caught.value.key == "source.start.offsets"
