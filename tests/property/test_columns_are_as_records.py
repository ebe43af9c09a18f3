"""Records changed as columns become what they become one by one, and go to the same places."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flows.source.transform.column_handle import ColumnHandle, compile_columns
from flows.source.transform.column_transforms import followed_by, of_chain, of_function
from flows.source.transform.connect_transforms import through_chain
from flows.source.transform.message_handler import Handle
from flows.source.transform.topic_transforms import TopicTransforms
from mm2.config.connector_settings import TransformSettings
from mm2.core.model import TopicName
from mm2.core.transforms import TransformChain
from mm2.core.transforms.column_steps import on_columns
from mm2.core.transforms.provenance import CLUSTER, CLUSTER_ID, VIA
from mm2.kafka.wire.columns.record_columns import decode
from tests.support import arrow_functions, user_handlers
from tests.support.batches import Plain, write_batch
from tests.support.configs import A_TO_B
from tests.support.stage_bench import outcome_of
from tests.support.transform_chains import chain_of


@pytest.fixture(scope="module", autouse=True)
def _compiled() -> None:
    compile_columns()


_names = st.sampled_from(["a", "b", "é"])
_times = st.integers(-1, 4_000_000_000_000) | st.sampled_from([0, 1_700_000_000_123, 1 << 60])
_records = st.builds(
    Plain,
    timestamp=_times,
    key=st.none() | st.binary(max_size=3),
    value=st.none() | st.integers(0, 12).map(lambda number: b"%d" % number),
    headers=st.lists(
        st.tuples(_names.map(str.encode), st.none() | st.binary(max_size=2)), max_size=3
    ).map(tuple),
)
_kinds = st.sampled_from(
    [
        {"type": "Filter"},
        {"type": "InsertHeader", "header": "a", "value.literal": "x"},
        {"type": "InsertHeader", "header": "c", "value.literal": "null"},
        {"type": "DropHeaders", "headers": "a"},
        {"type": "DropHeaders", "headers": "b,é,none"},
        {"type": "RegexRouter", "regex": r"(.*)t(\..*)?", "replacement": "$1x$2"},
        {"type": "TimestampRouter", "topic.format": "${topic}.${timestamp}",
         "timestamp.format": "yyyy-MM-dd HH"},
        {"type": "TimestampRouter", "timestamp.format": "yyyy", "topic.format": "y-${timestamp}"},
        {"type": "TimestampRouter", "timestamp.format": "mm:ss.SSS"},
    ]
)  # fmt: skip
_PREDICATES = {
    "predicates": "tombstone, a, topic",
    "predicates.tombstone.type": "RecordIsTombstone",
    "predicates.a.type": "HasHeaderKey",
    "predicates.a.name": "a",
    "predicates.topic.type": "TopicNameMatches",
    "predicates.topic.pattern": r"A\.t|y-.*",
}


@st.composite
def _chains(draw: st.DrawFn) -> TransformChain:
    properties = dict(_PREDICATES)
    kinds = draw(st.lists(_kinds, min_size=1, max_size=4))
    properties["transforms"] = ", ".join(f"t{at}" for at in range(len(kinds)))
    for at, kind in enumerate(kinds):
        properties |= {f"transforms.t{at}.{name}": value for name, value in kind.items()}
        if (predicate := draw(st.sampled_from(["", "tombstone", "a", "topic"]))) != "":
            properties[f"transforms.t{at}.predicate"] = predicate
            properties[f"transforms.t{at}.negate"] = draw(st.sampled_from(["true", "false"]))
    return chain_of(properties)


def _at(records: Sequence[Plain]) -> list[Plain]:
    """With gaps between their offsets."""
    return [replace(record, offset=3 * at) for at, record in enumerate(records)]


def _both(alone: Handle, columns: Handle, records: list[Plain], cut: int, most: int) -> None:
    """Runs both ways."""
    records = _at(records)
    batches = [part for part in (records[:cut], records[cut:]) if part]
    assert isinstance(columns, ColumnHandle)
    columns = replace(columns, least=1)
    outcomes = [asyncio.run(outcome_of(each, batches, most)) for each in (columns, alone)]
    assert outcomes[0] == outcomes[1]


_some = st.lists(_records, min_size=1, max_size=20)
_cuts = st.integers(0, 20)
_limits = st.sampled_from([1 << 19, 60, 1])


@given(chain=_chains(), records=_some, cut=_cuts, most=_limits)
def test_connects_transforms(
    chain: TransformChain, records: list[Plain], cut: int, most: int
) -> None:
    _both(through_chain(chain), of_chain(chain, "A.t"), records, cut, most)


@given(records=_some, cut=_cuts, most=_limits, name=st.sampled_from(["fan_out", "spread"]))
def test_arrow_functions(records: list[Plain], cut: int, most: int, name: str) -> None:
    if name == "spread":  # which keeps no headers of a record that goes elsewhere
        records = [replace(record, headers=()) for record in records]
    function = of_function(getattr(arrow_functions, name))
    _both(getattr(user_handlers, name), function, records, cut, most)


@given(chain=_chains(), records=_some, cut=_cuts, most=_limits)
def test_connects_transforms_behind_an_arrow_function(
    chain: TransformChain, records: list[Plain], cut: int, most: int
) -> None:
    both = [
        followed_by(chain, first)
        for first in (user_handlers.fan_out, of_function(arrow_functions.fan_out))
    ]
    _both(both[0], both[1], records, cut, most)


_CAST = {"transforms": "c", "transforms.c.type": "Cast$Value", "transforms.c.spec": "f:int32"}
_json_records = st.builds(
    Plain,
    timestamp=_times,
    key=st.none() | st.binary(max_size=3),
    value=st.none()
    | st.builds(
        b'{"n": %d, "f": "%s"}'.__mod__,
        st.tuples(st.integers(0, 3), st.sampled_from([b"1", b"2", b"3", b"x"])),
    ),
    headers=st.sampled_from(
        [(), (), ((b"a", None),), ((b"mm2.source.cluster", b"B"),), ((b"\xff", b""),)]
    ),
)


@given(
    records=st.lists(_json_records, min_size=1, max_size=100),
    cut=st.integers(0, 100),
    most=_limits,
    provenance=st.booleans(),
)
def test_an_arrow_function_that_is_told_of_records_before_transforms_of_json(
    records: list[Plain], cut: int, most: int, *, provenance: bool
) -> None:
    """The function fails for some, makes none or several of others, and so do transforms."""
    path = "tests.support.arrow_functions:json_copies"
    settings = TransformSettings(function=path, connect=_CAST, provenance=provenance)
    records = _at(records)
    batches = [part for part in (records[:cut], records[cut:]) if part]
    handle = TopicTransforms(A_TO_B, settings).of(TopicName("t"), TopicName("A.t"))
    assert handle is not None
    outcomes = [asyncio.run(outcome_of(h, batches, most)) for h in (handle, partial(handle))]
    assert outcomes[0] == outcomes[1]


_origins = st.builds(
    lambda alias, cluster_id, via, more: (*alias, *cluster_id, *more, *via),
    st.sampled_from([(), ((CLUSTER.encode(), b"A"),), ((CLUSTER.encode(), b"B"),)]),
    st.sampled_from([(), ((CLUSTER_ID.encode(), b"a"),), ((CLUSTER_ID.encode(), b"c"),)]),
    st.sampled_from([(), ((VIA.encode(), b"b,c"),), ((VIA.encode(), None),)]),
    st.sampled_from([(), ((b"x", None), ("é".encode(), b"1"))]),
)


@given(
    records=st.lists(
        st.builds(replace, _records, headers=st.just(()) | _origins | st.just(((b"\xff", b""),))),
        min_size=1,
        max_size=20,
    ),
    cut=_cuts,
    most=_limits,
    ids=st.sampled_from([("", ""), ("a", "b"), ("", "b")]),
    origins=st.sampled_from(["", "A", "c"]),
)
def test_headers_of_provenance(
    records: list[Plain], cut: int, most: int, ids: tuple[str, str], origins: str
) -> None:
    settings = TransformSettings(provenance=True, origins=tuple(filter(None, [origins])))
    handle = TopicTransforms(A_TO_B, settings, *ids).of(TopicName("t"), TopicName("A.t"))
    assert isinstance(handle, ColumnHandle)
    _both(handle.handle, handle, records, cut, most)


@given(chain=_chains(), records=_some)
def test_no_record_is_looked_at_alone_if_no_transform_fails(
    chain: TransformChain, records: list[Plain]
) -> None:
    columns = on_columns(chain.steps)
    assert columns is not None
    records = [each for each in _at(records) if each.timestamp < 1 << 50]
    if records:
        columns.apply(decode(write_batch(records), topic="A.t", partition=0))
