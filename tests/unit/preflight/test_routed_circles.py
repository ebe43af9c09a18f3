"""Circles that routers make of topics, and what cannot be followed."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import pytest

from mm2.core.checks import Check, Verdict
from mm2.core.model import ClusterAlias, TopicName
from mm2.core.preflight.routed_names import routed_names
from mm2.preflight.name_checks import name_checks
from tests.support.configs import A_TO_B, B_TO_A, config_of
from tests.support.transform_chains import chain_of

_TOPICS = {
    ClusterAlias(alias): frozenset({TopicName("orders"), TopicName("payments")}) for alias in "AB"
}
_STRIP = {
    f"{flow}.{key}": value
    for flow, source in (("A->B", "A"), ("B->A", "B"))
    for key, value in {
        "transforms": "strip",
        "transforms.strip.type": "RegexRouter",
        "transforms.strip.regex": rf"{source}\.(.*)",
        "transforms.strip.replacement": "$1",
    }.items()
}
_PREDICATE = {
    "A->B.transforms.strip.predicate": "p",
    "A->B.predicates": "p",
    "A->B.predicates.p.type": "TopicNameMatches",
    "A->B.predicates.p.pattern": r"A\.payments",
}


def _checks(settings: Mapping[str, str]) -> list[Check]:
    both = {"topics": "orders", "A->B.enabled": "true", "B->A.enabled": "true", **settings}
    flows = [config_of(both, flow) for flow in (A_TO_B, B_TO_A)]
    return asyncio.run(name_checks(flows, _TOPICS))


def test_routers_that_strip_prefixes_copy_without_end() -> None:
    found = _checks(_STRIP)
    assert [(each.name, each.verdict, each.subject) for each in found] == [
        ("endless-copies", Verdict.NO_GO, "A->B"),
        ("endless-copies", Verdict.NO_GO, "B->A"),
    ]
    assert "A:orders -> B:orders -> A:orders" in found[0].sentence
    assert "A->B.transforms.strip, B->A.transforms.strip" in found[0].remedy


@pytest.mark.parametrize(
    "settings",
    [
        {key: value for key, value in _STRIP.items() if key.startswith("A->B")},
        {**_STRIP, **_PREDICATE},
        {**_STRIP, "provenance.headers.enabled": "true"},
        {**_STRIP, "B->A.transforms.strip.replacement": "back.$1"},
    ],
    ids=["one way", "other topics", "provenance", "other names"],
)
def test_routers_that_end_somewhere_do_not(settings: dict[str, str]) -> None:
    assert [each for each in _checks(settings) if each.name == "endless-copies"] == []


def test_headers_may_end_a_circle() -> None:
    by_header = {
        "A->B.transforms": "strip, drop",
        "A->B.transforms.drop.type": "Filter",
        "A->B.transforms.drop.predicate": "seen",
        "A->B.predicates": "seen",
        "A->B.predicates.seen.type": "HasHeaderKey",
        "A->B.predicates.seen.name": "seen",
    }
    found = _checks({**_STRIP, **by_header})
    assert {(each.name, each.verdict) for each in found} == {("endless-copies", Verdict.CAUTION)}
    assert "unless headers end that" in found[0].sentence


@pytest.mark.parametrize(
    ("settings", "verdict"),
    [
        ({"A->B.transforms.sql.topic": "substring(topic, 3)"}, Verdict.CAUTION),
        ({"A->B.message.handler": "m:f"}, Verdict.NOTE),
        ({"A->B.arrow.function": "m:f"}, Verdict.NOTE),
        ({"A->B.transforms.sql.value": "key"}, None),
        ({"A->B.message.handler": "m:f", "B->A.enabled": "false"}, None),
        ({"A->B.message.handler": "m:f", "provenance.headers.enabled": "true"}, None),
    ],
)
def test_what_is_not_followed_is_told_where_there_is_a_way_back(
    settings: dict[str, str], verdict: Verdict | None
) -> None:
    both = {"topics": "orders", "A->B.enabled": "true", "B->A.enabled": "true", **settings}
    enabled = [flow for flow in (A_TO_B, B_TO_A) if both[f"{flow}.enabled"] == "true"]
    flows = [config_of(both, flow) for flow in enabled]
    found = asyncio.run(name_checks(flows, _TOPICS))
    expected = [] if verdict is None else [("unfollowed-topics", "A->B", verdict)]
    assert [(each.name, each.subject, each.verdict) for each in found] == expected


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({"type": "RegexRouter", "regex": "(.*)", "replacement": "x.$1"}, {"x.t"}),
        ({"type": "RegexRouter", "regex": ".*", "replacement": "heartbeats"}, {"heartbeats"}),
        ({"type": "RegexRouter", "regex": "(t)", "replacement": "__$1"}, set()),
        ({"type": "TimestampRouter", "timestamp.format": "yyyy"}, {"t-2023"}),
        (
            {"type": "TimestampRouter", "timestamp.format": "yyyy", "predicate": "p"},
            {"t", "t-2023"},
        ),
        ({"type": "Filter"}, set()),
        ({"type": "Filter", "predicate": "p"}, {"t"}),
        ({"type": "InsertHeader", "header": "h", "value.literal": "v"}, {"t"}),
    ],
)
def test_what_records_decide_goes_both_ways(options: dict[str, str], names: set[str]) -> None:
    chain = chain_of(
        {
            "transforms": "x",
            "predicates": "p",
            "predicates.p.type": "RecordIsTombstone",
            **{f"transforms.x.{name}": value for name, value in options.items()},
        }
    )
    assert routed_names(chain, TopicName("t")) == names


def test_without_transforms_a_copy_keeps_its_name() -> None:
    assert routed_names(None, TopicName("t")) == {"t"}
