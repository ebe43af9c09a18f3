"""Headers that say where a record was written first, and what flows conclude from them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations

import pytest

from mm2.core.handled_records import SourceRecord, TargetRecord
from mm2.core.model import ClusterAlias, SourceAndTarget, TopicName
from mm2.core.transforms.provenance import CLUSTER, HEADERS, Provenance, keep_headers
from tests.support.transform_chains import record

_T = TopicName("t")


def _flow(name: str, origins: Sequence[str] = (), clusters: str = "ABCD") -> Provenance:
    source, target = name.split("->")
    flow = SourceAndTarget(ClusterAlias(source), ClusterAlias(target))
    return Provenance(flow=flow, clusters=tuple(clusters), origins=origins)


def _copied(before: SourceRecord, *flows: Provenance) -> SourceRecord | None:
    """What is left of a record behind flows."""
    found: SourceRecord | None = before
    for flow in flows:
        found = None if found is None else flow.marked(found, _T)
    return found


def test_the_first_flow_says_where_a_record_comes_from_and_the_next_keep_it() -> None:
    before = record(headers=(("h", b"\xff"),))
    copy = _copied(before, _flow("A->B"))
    assert copy is not None
    assert copy.headers == (
        ("h", b"\xff"),
        ("mm2.source.cluster", b"A"),
        ("mm2.source.topic", b"t"),
        ("mm2.source.partition", b"3"),
        ("mm2.source.offset", b"7"),
        ("mm2.source.timestamp", b"1700000000123"),
    )
    assert _copied(copy, _flow("B->C")) is copy


@pytest.mark.parametrize("ring", list(permutations("ABC")))
def test_in_a_circle_each_record_stops_before_it_comes_back(ring: tuple[str, ...]) -> None:
    first, second, third = ring
    flows = [_flow(f"{first}->{second}"), _flow(f"{second}->{third}")]
    assert _copied(record(), *flows) is not None
    assert _copied(record(), *flows, _flow(f"{third}->{first}")) is None


def test_of_two_ways_a_record_takes_the_one_that_names_its_origin() -> None:
    over_b = _copied(record(), _flow("A->B"), _flow("B->D", origins=("A", "B")))
    over_c = _copied(record(), _flow("A->C"), _flow("C->D", origins=("C",)))
    assert (over_b is None, over_c is None) == (False, True)
    assert _copied(record(), _flow("C->D", origins=("C",))) is not None


@pytest.mark.parametrize("forged", [b"Z", b"", None, b"\xff"])
def test_headers_that_name_no_cluster_are_replaced(forged: bytes | None) -> None:
    """Else such a record would go round for ever."""
    before = record(headers=((CLUSTER, forged), ("mm2.source.offset", b"x"), ("h", b"1")))
    copy = _copied(before, _flow("A->B"))
    assert copy is not None
    assert [name for name, _ in copy.headers] == ["h", *HEADERS]
    assert _copied(copy, _flow("B->A")) is None


def test_what_is_made_of_a_record_keeps_where_it_comes_from() -> None:
    marked = _copied(record(), _flow("A->B"))
    assert marked is not None
    made = TargetRecord(topic="t", key=None, value=b"w", headers=((CLUSTER, b"B"), ("h", b"1")))
    kept = keep_headers(made, marked)
    assert kept.headers == (("h", b"1"), *marked.headers)
    assert keep_headers(marked, marked) is marked
