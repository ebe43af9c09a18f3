"""Headers that say where a record was written first, and what flows conclude from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations

import pytest

from mm2.config.connector_settings import TransformSettings, provenance_of
from mm2.core.handled_records import SourceRecord, TargetRecord
from mm2.core.model import ClusterAlias, SourceAndTarget, TopicName
from mm2.core.transforms.provenance import (
    CLUSTER,
    CLUSTER_ID,
    HEADERS,
    VIA,
    Provenance,
    keep_headers,
)
from tests.support.transform_chains import record

_T = TopicName("t")
_NEW = [name for name in HEADERS if name != VIA]


def _flow(name: str, origins: Sequence[str] = (), clusters: str = "ABCD") -> Provenance:
    """Without cluster ids, as flows of earlier releases."""
    source, target = name.split("->")
    flow = SourceAndTarget(ClusterAlias(source), ClusterAlias(target))
    return Provenance(flow=flow, clusters=tuple(clusters), origins=origins)


def _known(name: str, ids: str, origins: Sequence[str] = ()) -> Provenance:
    """Of a file that has these two clusters only, whose ids are given."""
    flow = _flow(name, origins, clusters=name.replace("->", ""))
    source, target = ids.split("->")
    return replace(flow, source_id=source, target_id=target)


def _said(record: SourceRecord | None, name: str) -> bytes | None:
    assert record is not None
    return dict(record.headers).get(name)


def _copied(before: SourceRecord, *flows: Provenance) -> SourceRecord | None:
    """What is left of a record behind flows."""
    found: SourceRecord | None = before
    for flow in flows:
        found = None if found is None else flow.marked(found, _T)
    return found


def test_clusters_that_share_an_id_are_told_apart_by_their_aliases() -> None:
    flow = SourceAndTarget(ClusterAlias("A"), ClusterAlias("B"))
    found = provenance_of(flow, TransformSettings(provenance=True), "same", "same")
    assert found is not None
    copy = found.marked(record(), _T)
    assert _said(copy, CLUSTER) == b"A"
    assert _said(copy, CLUSTER_ID) is None


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
    assert [name for name, _ in copy.headers] == ["h", *(n for n in _NEW if n != CLUSTER_ID)]
    assert _copied(copy, _flow("B->A")) is None


def test_what_is_made_of_a_record_keeps_where_it_comes_from() -> None:
    marked = _copied(record(), _flow("A->B"))
    assert marked is not None
    made = TargetRecord(topic="t", key=None, value=b"w", headers=((CLUSTER, b"B"), ("h", b"1")))
    kept = keep_headers(made, marked)
    assert kept.headers == (("h", b"1"), *marked.headers)
    assert keep_headers(marked, marked) is marked


@pytest.mark.parametrize("count", [2, 3, 4])
def test_a_record_does_not_come_back_though_each_file_has_other_aliases(count: int) -> None:
    """In a circle whose flows are each in a file of its own, with the same two aliases."""
    ids = [f"id{number}" for number in range(count)]
    ring = [_known("east->west", f"{ids[at - 1]}->{ids[at]}") for at in range(1, count)]
    copy = _copied(record(), *ring)
    assert copy is not None
    assert (_said(copy, CLUSTER), _said(copy, CLUSTER_ID)) == (b"east", b"id0")
    assert _said(copy, VIA) == (",".join(ids[1:-1]).encode() or None)
    assert _copied(copy, _known("east->west", f"{ids[-1]}->id0")) is None


def test_other_clusters_of_the_target_s_alias_are_not_the_target() -> None:
    copy = _copied(record(), _known("B->A", "id1->id2"), _known("A->B", "id2->id3"))
    assert (_said(copy, CLUSTER), _said(copy, VIA)) == (b"B", b"id2")


def test_a_header_that_is_forged_takes_a_record_round_once_at_most() -> None:
    there, back = _known("A->B", "id1->id2"), _known("B->A", "id2->id1")
    before = record(headers=((CLUSTER, b"Z"), (CLUSTER_ID, b"nowhere")))
    copy = _copied(before, there)
    assert _said(copy, VIA) == b"id1"
    assert _copied(before, there, back) is None


def test_headers_of_earlier_releases_count_by_their_alias() -> None:
    old = _copied(record(), _flow("A->B"))
    assert old is not None
    assert _copied(old, _known("B->A", "id2->id1")) is None
    assert _said(_copied(old, _known("B->C", "id2->id3")), CLUSTER) == b"B"
    known = replace(_known("B->C", "id2->id3"), clusters=tuple("ABC"))
    copy = _copied(old, known)
    assert (_said(copy, CLUSTER), _said(copy, CLUSTER_ID), _said(copy, VIA)) == (b"A", None, b"id2")


def test_origins_may_be_named_by_their_ids() -> None:
    copy = _copied(record(), _known("A->B", "id1->id2"))
    assert copy is not None
    assert _copied(copy, _known("x->y", "id2->id3", origins=["id1"])) is not None
    assert _copied(copy, _known("x->y", "id2->id3", origins=["id4"])) is None
    assert _copied(record(), _known("x->y", "id2->id3", origins=["id2"])) is not None


def test_a_record_keeps_its_headers_where_it_was_written() -> None:
    copy = _copied(record(), _known("A->B", "id1->id2"))
    assert copy is not None
    assert _copied(copy, _known("x->y", "id1->id3")) is copy


def test_an_alias_of_another_file_does_not_stand_for_the_source() -> None:
    other = _copied(record(), _known("S->B", "x->b"))
    assert other is not None
    assert _copied(other, _known("S->T", "s->t", origins=["S"])) is None
    assert _copied(other, _known("S->T", "s->t", origins=["S", "x"])) is not None
    assert _copied(record(), _known("S->T", "s->t", origins=["S"])) is not None


def test_what_a_record_has_passed_counts_whatever_its_other_headers_say() -> None:
    before = record(headers=(("mm2.source.cluster", b"elsewhere"), ("mm2.source.via", b"b,c")))
    assert _copied(before, _known("A->B", "a->b")) is None
    copy = _copied(before, _known("A->D", "a->d"))
    assert (_said(copy, CLUSTER), _said(copy, CLUSTER_ID), _said(copy, VIA)) == (b"A", b"a", b"b,c")
