"""Behaviours 5.8 (KIP-875): which changes of positions are accepted, and what they mean."""

from __future__ import annotations

import pytest

from mm2.core.model import ClusterAlias, TopicName, TopicPartition
from mm2.core.positions.offset_requests import (
    LogRange,
    OffsetRequest,
    RequestedOffset,
    check_against_source,
    moved_position,
    parse_request,
)
from mm2.errors import ConfigErrors

A = ClusterAlias("A")
PARTITION: dict[str, object] = {"cluster": "A", "topic": "t", "partition": 3}
WHERE = TopicPartition(TopicName("t"), 3)


def _asked(partition: object, offset: object) -> list[OffsetRequest]:
    return parse_request({"offsets": [{"partition": partition, "offset": offset}]}, A)


def _problems(document: object) -> list[str]:
    with pytest.raises(ConfigErrors) as caught:
        parse_request(document, A)
    return [str(problem) for problem in caught.value.problems]


@pytest.mark.parametrize("offset", [-1, 0, 10, 2147483648, 2**63 - 1])
def test_offsets_from_zero_are_accepted(offset: int) -> None:
    """C202, C203; -1 is the position before the first record, as a list of positions has it."""
    (request,) = _asked(PARTITION, {"offset": offset})
    assert (request.where, request.offset) == (WHERE, offset)


@pytest.mark.parametrize(
    "offset", ["nan", None, {}, 3.14, -2, -420, "-420", "10", True, 2**63], ids=repr
)
def test_other_offsets_are_refused(offset: object) -> None:
    """C202."""
    document = {"offsets": [{"partition": PARTITION, "offset": {"offset": offset}}]}
    (problem,) = _problems(document)
    assert problem.startswith(f"offsets[0].offset.offset is {offset!r}: must be a whole number")


@pytest.mark.parametrize("offset", [{}, {"position": 1}, {"offset": 1, "epoch": 2}, 7, []])
def test_an_offset_must_be_an_object_of_offset(offset: object) -> None:
    """C201."""
    (problem,) = _problems({"offsets": [{"partition": PARTITION, "offset": offset}]})
    assert "offsets[0].offset" in problem


@pytest.mark.parametrize(
    "partition",
    [
        None,
        {},
        "t-3",
        {"unused": "key"},
        *({k: v for k, v in PARTITION.items() if k != gone} for gone in PARTITION),
        {**PARTITION, "group": "g"},
    ],
)
def test_a_partition_must_have_its_three_names(partition: object) -> None:
    """C196, C197."""
    (problem,) = _problems({"offsets": [{"partition": partition, "offset": {"offset": 1}}]})
    assert "must be an object of cluster, topic, partition" in problem


@pytest.mark.parametrize("number", ["a string", "1", None, 1.5, -1, 2**31, False], ids=repr)
def test_the_number_of_a_partition_is_a_number(number: object) -> None:
    """C198, C199."""
    partition = {**PARTITION, "partition": number}
    (problem,) = _problems({"offsets": [{"partition": partition, "offset": {"offset": 1}}]})
    assert problem.startswith(f"offsets[0].partition.partition is {number!r}")


def test_everything_that_is_wrong_is_said_at_once() -> None:
    entries = [
        {"partition": {"cluster": "B", "topic": "", "partition": 0}, "offset": {"offset": -2}},
        {"partition": PARTITION, "offset": {"offset": 1}},
        {"partition": PARTITION},
        "entry",
    ]
    problems = _problems({"offsets": entries})
    assert [problem.split(" is ")[0] for problem in problems] == [
        "offsets[0].partition.cluster",
        "offsets[0].partition.topic",
        "offsets[0].offset.offset",
        "offsets[2]",
        "offsets[3]",
    ]


@pytest.mark.parametrize("document", [None, [], {}, {"offsets": []}, {"offsets": {}}])
def test_a_document_without_offsets_is_refused(document: object) -> None:
    (problem,) = _problems(document)
    assert problem.startswith('expected {"offsets": [')


def test_several_entries_are_accepted() -> None:
    """C200."""
    other = {**PARTITION, "partition": 4}
    document = {
        "offsets": [
            {"partition": PARTITION, "offset": {"offset": 1}},
            {"partition": other, "offset": {"offset": 2}},
        ]
    }
    assert [request.offset for request in parse_request(document, A)] == [1, 2]


@pytest.mark.parametrize(
    "partition",
    [
        None,
        {},
        {"unused": 1},
        PARTITION,
        {"cluster": 5},
        {**PARTITION, "cluster": "the alias that the source had"},
        {**PARTITION, "group": "g"},
        {**PARTITION, "partition": True},
    ],
)
def test_any_position_can_be_deleted(partition: object) -> None:
    """C204: one that is not of the source leaves what the source has alone."""
    (request,) = _asked(partition, None)
    assert (request.partition, request.offset) == (partition, None)
    assert request.where == (WHERE if partition is PARTITION else None)


def test_positions_must_lie_where_the_source_has_records() -> None:
    ranges = {WHERE: LogRange(5, 9)}
    assert [check_against_source({WHERE: n}, ranges) == [] for n in range(3, 10)] == [
        False,
        *[True] * 5,
        False,
    ]
    (problem,) = check_against_source({WHERE: 9}, ranges)
    assert str(problem) == "t-3: mirroring would go on at offset 10; the source has 5 to 9"
    (problem,) = check_against_source({TopicPartition(TopicName("u"), 0): 1}, ranges)
    assert str(problem) == "u-0: the source has no such partition"


@pytest.mark.parametrize(
    ("target", "number", "stored", "position"),
    [
        (RequestedOffset.EARLIEST, 0, 7, 4),
        (RequestedOffset.LATEST, 0, None, 8),
        (RequestedOffset.TIME, 6, 7, 5),
        (RequestedOffset.TIME, -1, 7, 8),
        (RequestedOffset.OFFSET, 6, 7, 5),
        (RequestedOffset.OFFSET, 100, 7, 99),
        (RequestedOffset.SHIFT, -2, 7, 5),
        (RequestedOffset.SHIFT, 1, 7, 8),
        (RequestedOffset.SHIFT, -100, 7, 4),
        (RequestedOffset.SHIFT, 100, 7, 8),
        (RequestedOffset.SHIFT, 2, None, 6),
    ],
)
def test_positions_are_moved_as_by_kafkas_tools(
    target: RequestedOffset, number: int, stored: int | None, position: int
) -> None:
    assert moved_position(target, number=number, stored=stored, log=LogRange(5, 9)) == position
