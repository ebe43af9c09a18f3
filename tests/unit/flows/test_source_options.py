"""The options of the data source."""

from __future__ import annotations

import pytest

from flows.verify.source_options import ReadRange, divide, read_options
from mm2.core.model import TopicName, TopicPartition
from mm2.errors import ConfigErrors


def _at(number: int) -> TopicPartition:
    return TopicPartition(TopicName("t"), number)


def test_options_are_those_of_sparks_own_connector() -> None:
    found = read_options(
        {
            "kafka.bootstrap.servers": "a:1",
            "kafka.isolation.level": "read_committed",
            "subscribe": "t, u",
            "startingOffsets": '{"t": {"0": 23, "1": -2}}',
            "endingoffsets": '{"t": {"0": -1, "1": 50}}',
            "includeHeaders": "false",
            "minPartitions": "4",
        }
    )
    assert found.topics == ("t", "u")
    assert found.properties == {"bootstrap.servers": "a:1", "isolation.level": "read_committed"}
    assert found.read_committed
    assert (found.starts, found.ends) == ({_at(0): 23}, {_at(1): 50})
    assert (found.headers, found.fails_on_loss, found.min_partitions) == (False, True, 4)


def test_all_mistakes_are_told_at_once() -> None:
    wrong = {
        "startingOffsets": "latest",
        "endingOffsets": "[1]",
        "includeHeaders": "maybe",
        "minPartitions": "-1",
        "topic": "t",
    }
    with pytest.raises(ConfigErrors) as caught:
        read_options(wrong)
    told = sorted(problem.key or "" for problem in caught.value.problems)
    assert told == sorted([*wrong, "subscribe"])


def test_ranges_are_divided_evenly_and_empty_ones_left_out() -> None:
    ranges = [ReadRange(_at(0), 0, 900), ReadRange(_at(1), 5, 5), ReadRange(_at(2), 0, 100)]
    pieces = divide(ranges, 10)
    assert sum(each.end - each.first for each in pieces) == 1000
    assert len([each for each in pieces if each.where == _at(0)]) == 9
    assert len(pieces) == 10
    assert divide([], 10) == []
