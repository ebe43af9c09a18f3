"""What heartbeats tell, behaviours section 10."""

from __future__ import annotations

import pytest

from mm2.core.heartbeat_hops import FlowHealth, HeartbeatPath, expected_paths, flow_health
from mm2.core.model import ClusterAlias, SourceAndTarget


def _flow(written: str) -> SourceAndTarget:
    source, target = written.split("->")
    return SourceAndTarget(ClusterAlias(source), ClusterAlias(target))


def _trace(flow: str, way: str) -> HeartbeatPath:
    return HeartbeatPath(way=tuple(map(ClusterAlias, way.split("->"))), flow=_flow(flow))


@pytest.mark.parametrize(
    ("emitting", "copying", "expected"),
    [
        ("A->B", "A->B", {("A->B", "B")}),
        ("A->B B->A", "A->B", {("A->B", "B"), ("B->A", "A"), ("B->A", "A->B")}),
        (
            "A->B B->A",
            "A->B B->A",
            {("A->B", "B"), ("B->A", "A"), ("B->A", "A->B"), ("A->B", "B->A")},
        ),
        ("B->A", "A->B B->C", {("B->A", "A"), ("B->A", "A->B"), ("B->A", "A->B->C")}),
        ("C->A", "A->B B->A", {("C->A", "A"), ("C->A", "A->B")}),
        ("", "A->B", set()),
    ],
)
def test_heartbeats_are_expected_wherever_flows_carry_them(
    emitting: str, copying: str, expected: set[tuple[str, str]]
) -> None:
    """C318: written on the target, and carried on by flows that copy it, not in a circle."""
    found = expected_paths(map(_flow, emitting.split()), map(_flow, copying.split()))
    assert found == {_trace(*each) for each in expected}


def test_a_trace_says_where_it_ends_and_how_often_it_was_copied() -> None:
    """C318."""
    assert (_trace("S->A", "A").hops, _trace("S->A", "A").here) == (0, "A")
    assert (_trace("S->A", "A->B->C").hops, _trace("S->A", "A->B->C").here) == (2, "C")


def test_young_heartbeats_are_alive_and_missing_ones_are_not() -> None:
    young, old, strange, none = (_trace(f"{s}->T", "T") for s in ("a", "b", "c", "d"))
    found = flow_health(
        {young: 900, old: 899, strange: 1005}, [young, old, none], now_ms=1000, max_age_ms=100
    )
    assert found == [
        FlowHealth(path=young, last_ms=900, age_ms=100, alive=True, expected=True),
        FlowHealth(path=old, last_ms=899, age_ms=101, alive=False, expected=True),
        FlowHealth(path=strange, last_ms=1005, age_ms=0, alive=True, expected=False),
        FlowHealth(path=none, last_ms=None, age_ms=None, alive=False, expected=True),
    ]


def test_nothing_is_said_of_a_cluster_that_could_not_be_asked() -> None:
    here, away = _trace("A->B", "B"), _trace("B->A", "A")
    found = flow_health({}, [here, away], now_ms=0, max_age_ms=1, unreachable=[ClusterAlias("A")])
    assert {each.path: each.alive for each in found} == {here: False, away: None}
