"""What librdkafka makes of the settings of a member of a group."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import Consumer

from mm2.core.model import GroupId
from mm2.errors import ConfigError
from mm2.kafka.groups.consumer import GroupConsumer
from mm2.kafka.librdkafka_settings import (
    group_member_mistakes,
    group_member_settings,
    session_ms,
)

_BASE = {"bootstrap.servers": "127.0.0.1:1"}


@pytest.mark.parametrize(
    ("properties", "count"),
    [
        ({}, 0),
        ({"session.timeout.ms": "300000"}, 0),
        ({"session.timeout.ms": "300001"}, 1),
        ({"max.poll.interval.ms": "45000"}, 0),
        ({"max.poll.interval.ms": "44999"}, 1),
        ({"group.protocol": "CLASSIC"}, 0),
        ({"group.protocol": "Consumer", "session.timeout.ms": "300001"}, 0),
        ({"group.protocol": "newest"}, 1),
    ],
)
def test_what_is_refused_is_what_librdkafka_refuses(properties: dict[str, str], count: int) -> None:
    assert len(group_member_mistakes(properties)) == count
    settings: Any = group_member_settings(_BASE | properties, "g")
    if count:
        with pytest.raises(Exception, match=r"max\.poll\.interval\.ms|group\.protocol"):
            Consumer(settings)
    else:
        Consumer(settings).close()


def test_what_librdkafka_alone_refuses_is_a_mistake_of_the_settings() -> None:
    nobody: Any = SimpleNamespace()
    properties = _BASE | {"partition.assignment.strategy": "nearest"}
    with pytest.raises(ConfigError, match=r"librdkafka refuses the consumer's settings: .*nearest"):
        GroupConsumer("source", properties, group=GroupId("g"), owner=nobody, watch=nobody)


@pytest.mark.parametrize(
    ("properties", "expected"),
    [
        ({}, 45_000),
        ({"session.timeout.ms": "6000"}, 6_000),
        ({"group.protocol": "consumer", "session.timeout.ms": "6000"}, 60_000),
    ],
)
def test_how_long_a_member_may_be_silent(properties: dict[str, str], expected: int) -> None:
    assert session_ms(properties) == expected
