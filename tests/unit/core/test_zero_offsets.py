"""Altering the offsets of connectors that have none, behaviours sections 9 and 10."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from mm2.core.zero_offsets import CHECKPOINT_FIELDS, HEARTBEAT_FIELDS, check_zero_offsets
from mm2.errors import ConfigErrors

_FLOW = {"sourceClusterAlias": "A", "targetClusterAlias": "B"}
_COMMIT = {"group": "g", "topic": "t", "partition": 3}
_ZERO = {"offset": 0}


def _problems(
    *entries: tuple[object, object], fields: Mapping[str, type] = HEARTBEAT_FIELDS
) -> list[str]:
    try:
        check_zero_offsets(entries, fields)
    except ConfigErrors as errors:
        return [str(problem.key) for problem in errors.problems]
    return []


@pytest.mark.parametrize(
    ("partition", "places"),
    [
        (_FLOW, []),
        ({**_FLOW, "more": 1}, []),
        ({"unused": "A"}, ["sourceClusterAlias", "targetClusterAlias"]),
        ({"sourceClusterAlias": "A"}, ["targetClusterAlias"]),
        ({"targetClusterAlias": "B"}, ["sourceClusterAlias"]),
        ({**_FLOW, "sourceClusterAlias": None}, ["sourceClusterAlias"]),
        ({**_FLOW, "targetClusterAlias": 1}, ["targetClusterAlias"]),
    ],
)
def test_both_aliases_are_needed(partition: object, places: list[str]) -> None:
    """C313."""
    assert _problems((partition, _ZERO)) == [f"offsets[0].partition.{place}" for place in places]


@pytest.mark.parametrize("partition", [None, "A->B", []])
def test_a_partition_is_an_object(partition: object) -> None:
    """C313."""
    assert _problems((partition, _ZERO)) == ["offsets[0].partition"]


def test_any_number_of_entries_is_taken_and_anything_can_be_deleted() -> None:
    """C314."""
    other = {**_FLOW, "sourceClusterAlias": "C"}
    assert _problems() == []
    assert _problems((_FLOW, _ZERO), (other, _ZERO)) == []
    assert _problems((_FLOW, None), ({}, None), (None, None), ({"unused": 1}, None)) == []


@pytest.mark.parametrize(
    "offset",
    ["nan", None, {}, 3.14, 0.0, -420, "-420", "10", 10, 2147483648, False, "0"],
    ids=repr,
)
def test_zero_is_the_only_offset(offset: object) -> None:
    """C315."""
    assert _problems((_FLOW, {"offset": offset})) == ["offsets[0].offset"]


@pytest.mark.parametrize("offset", [{}, {"unused": 0}, 0, "0"], ids=repr)
def test_an_offset_is_named_so(offset: object) -> None:
    """C315."""
    assert _problems((_FLOW, offset)) == ["offsets[0].offset"]


def test_all_mistakes_are_told_together() -> None:
    """C313, C315."""
    places = _problems((_FLOW, _ZERO), ({"sourceClusterAlias": "A"}, {"offset": 1}))
    assert places == ["offsets[1].partition.targetClusterAlias", "offsets[1].offset"]


@pytest.mark.parametrize(
    ("partition", "places"),
    [
        (_COMMIT, []),
        ({}, [".group", ".topic", ".partition"]),
        (None, [""]),
        ({"unused": "g", "topic": "t", "partition": 3}, [".group"]),
        ({"group": "g", "unused": "t", "partition": 3}, [".topic"]),
        ({"group": "g", "topic": "t", "unused": 3}, [".partition"]),
        ({**_COMMIT, "partition": "3"}, [".partition"]),
        ({**_COMMIT, "partition": None}, [".partition"]),
        ({**_COMMIT, "partition": True}, [".partition"]),
        ({**_COMMIT, "group": 1}, [".group"]),
        ({**_COMMIT, "topic": None}, [".topic"]),
    ],
)
def test_a_commit_is_named_by_group_topic_and_partition(
    partition: object, places: list[str]
) -> None:
    """C276."""
    found = _problems((partition, _ZERO), fields=CHECKPOINT_FIELDS)
    assert found == [f"offsets[0].partition{place}" for place in places]


def test_commits_can_be_reset_and_anything_can_be_deleted() -> None:
    """C277."""
    other = {**_COMMIT, "partition": 4}
    assert _problems((_COMMIT, _ZERO), (other, _ZERO), fields=CHECKPOINT_FIELDS) == []
    deleted = [(each, None) for each in (_COMMIT, None, {}, {"unused": 1}, {**_COMMIT, "group": 1})]
    assert _problems(*deleted, fields=CHECKPOINT_FIELDS) == []


@pytest.mark.parametrize(
    "offset", ["nan", None, {}, 3.14, -420, "-420", "10", 10, 2147483648], ids=repr
)
def test_zero_is_the_only_offset_of_a_commit(offset: object) -> None:
    """C278."""
    found = _problems((_COMMIT, {"offset": offset}), fields=CHECKPOINT_FIELDS)
    assert found == ["offsets[0].offset"]
