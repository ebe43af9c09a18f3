"""Transforms are applied in order, each on its condition."""

from __future__ import annotations

import pickle

import pytest

from mm2.core.transforms import TransformChain
from mm2.errors import TransformError
from tests.support.transform_chains import chain_of, record

_DROP_B = {
    "transforms": "drop",
    "transforms.drop.type": "org.apache.kafka.connect.transforms.Filter",
    "transforms.drop.predicate": "isB",
    "predicates": "isB",
    "predicates.isB.type": "org.apache.kafka.connect.transforms.predicates.TopicNameMatches",
    "predicates.isB.pattern": r"B\..*",
}
_RENAME_FIRST = {
    **_DROP_B,
    "transforms": "rename,drop",
    "transforms.rename.type": "RegexRouter",
    "transforms.rename.regex": r"A\.(.*)",
    "transforms.rename.replacement": "B.$1",
}


def test_a_predicate_says_which_records_a_transform_is_applied_to() -> None:
    chain = chain_of(_DROP_B)
    assert chain.apply(record(topic="B.t")) is None
    assert chain.apply(before := record(topic="A.t")) is before


def test_negate_applies_it_to_the_others() -> None:
    chain = chain_of({**_DROP_B, "transforms.drop.negate": "true"})
    assert chain.apply(record(topic="A.t")) is None
    assert chain.apply(before := record(topic="B.t")) is before


@pytest.mark.parametrize(
    ("kind", "options", "dropped", "kept"),
    [
        ("RecordIsTombstone", {}, {"value": None}, {"value": b""}),
        (
            "HasHeaderKey",
            {"name": "h"},
            {"headers": (("g", b""), ("h", None))},
            {"headers": (("H", b"h"),)},
        ),
        ("TopicNameMatches", {"pattern": "A.*"}, {"topic": "A.t"}, {"topic": "B.A"}),
    ],
)
def test_records_that_meet_a_predicate_are_dropped(
    kind: str, options: dict[str, str], dropped: dict[str, object], kept: dict[str, object]
) -> None:
    below = {f"predicates.p.{name}": value for name, value in options.items()}
    chain = chain_of(
        {
            "transforms": "drop",
            "transforms.drop.type": "Filter",
            "transforms.drop.predicate": "p",
            "predicates": "p",
            "predicates.p.type": kind,
            **below,
        }
    )
    assert chain.apply(record(**dropped)) is None
    assert chain.apply(record(**kept)) == record(**kept)


def test_only_topics_that_all_predicates_exclude_are_not_concerned() -> None:
    chain = chain_of(_DROP_B)
    assert not chain.concerns("A.t")
    assert chain.concerns("B.t")
    assert chain_of({**_DROP_B, "transforms.drop.negate": "true"}).concerns("A.t")
    other = {
        **_DROP_B,
        "transforms": "drop,add",
        "transforms.add.type": "InsertHeader",
        "transforms.add.header": "h",
        "transforms.add.value.literal": "x",
    }
    assert chain_of(other).concerns("A.t")


def test_a_predicate_sees_the_name_that_a_router_has_given() -> None:
    chain = chain_of(_RENAME_FIRST)
    assert chain.concerns("A.t")
    assert chain.apply(record(topic="A.t")) is None
    other_order = chain_of({**_RENAME_FIRST, "transforms": "drop,rename"})
    assert other_order.apply(record(topic="A.t")) == record(topic="B.t")


def test_a_router_concerns_only_topics_that_it_renames() -> None:
    chain = chain_of({**_RENAME_FIRST, "transforms": "rename"})
    assert chain.concerns("A.t")
    assert not chain.concerns("B.t")
    negated = {
        **_RENAME_FIRST,
        "transforms": "rename",
        "transforms.rename.predicate": "isB",
        "transforms.rename.negate": "true",
    }
    assert chain_of(negated).concerns("A.t")
    by_time = {"transforms": "x", "transforms.x.type": "TimestampRouter"}
    assert chain_of(by_time).concerns("B.t")


def test_a_predicate_sees_what_a_transform_has_made_of_the_value() -> None:
    chain = chain_of(
        {
            "transforms": "take,drop",
            "transforms.take.type": "ExtractField$Value",
            "transforms.take.field": "f",
            "transforms.drop.type": "Filter",
            "transforms.drop.predicate": "p",
            "predicates": "p",
            "predicates.p.type": "RecordIsTombstone",
        }
    )
    assert chain.apply(record(value=b'{"f":null}')) is None
    assert chain.apply(record(value=b'{"f":[]}')) == record(value=b"[]")


def test_partition_offset_and_timestamp_are_kept() -> None:
    chain = chain_of({**_RENAME_FIRST, "transforms": "rename"})
    before = record(partition=5, offset=9, timestamp=-1, key=None, headers=(("h", None),))
    assert chain.apply(before) == record(
        topic="B.t", partition=5, offset=9, timestamp=-1, key=None, headers=(("h", None),)
    )


def test_a_chain_travels_to_tasks() -> None:
    chain = pickle.loads(pickle.dumps(chain_of(_RENAME_FIRST)))
    assert isinstance(chain, TransformChain)
    assert chain.apply(record(topic="A.t")) is None


def test_a_pattern_that_takes_too_long_is_an_error_of_the_record() -> None:
    chain = chain_of({**_DROP_B, "predicates.isB.pattern": "(a|aa)+"})
    with pytest.raises(TransformError, match=r"transform drop .*could not be matched"):
        chain.apply(record(topic="a" * 60 + "b"))
