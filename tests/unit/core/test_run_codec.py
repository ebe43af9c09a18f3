"""Blocks of runs as records: golden bytes, and what is no block."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mm2.core.model import ClusterAlias, TopicName, TopicPartition
from mm2.core.translation.run_codec import (
    decode_key,
    decode_value,
    encode_key,
    encode_value,
    runs_topic,
)
from mm2.core.translation.runs import Block, BlockName, Logs, Run, Runs, TaskTenure
from mm2.errors import SchemaError

WHERE = TopicPartition(TopicName("t"), 3)
BLOCK = Block(
    100,
    500,
    Runs([Run(100, 7, 10), Run(115, 17, 300)]),
    Logs(UUID(int=1), None),
    is_fresh=True,
    is_transactional=True,
    tenure=TaskTenure(3, 200, 1, 5),
)
PLAIN_KEY = b"\0\x01t" + bytes([0, 0, 0, 3]) + bytes(7) + b"\x64"
KEY = PLAIN_KEY + b"\1\2\3\4"
NAME, PLAIN_NAME = BlockName(100, 0x01020304), BlockName(100)
IDS = bytes(15) + b"\x01" + bytes(16)
RUNS = b"\x90\x03" + b"\0\x07\x0a" + b"\x05\0\xac\2"
VALUE = b"\x03\x0d" + IDS + b"\3\xc8\1\1\5" + RUNS
EARLIER = b"\x01\x05" + IDS + RUNS


def test_records_are_as_documented() -> None:
    assert (encode_key(WHERE, 100, 0x01020304), encode_value(BLOCK)) == (KEY, VALUE)
    assert decode_key(KEY) == (WHERE, NAME)
    assert decode_value(NAME, VALUE) == BLOCK
    assert runs_topic(ClusterAlias("B")) == "mm2-offset-runs.B.internal"


def test_keys_of_blocks_of_no_task_have_no_tag() -> None:
    assert encode_key(WHERE, 100) == PLAIN_KEY
    assert decode_key(PLAIN_KEY) == (WHERE, (100, 0))


def test_blocks_of_one_start_have_names_of_their_own_by_their_terms() -> None:
    latter = replace(BLOCK, tenure=TaskTenure(3, 201, 1, 6))
    assert BLOCK.name.start == latter.name.start == 100
    assert len({BLOCK.name, latter.name, replace(BLOCK, tenure=None).name}) == 3
    assert replace(BLOCK, end=600).name == BLOCK.name


def test_records_of_the_first_version_are_read() -> None:
    assert decode_value(PLAIN_NAME, EARLIER) == replace(BLOCK, tenure=None)


def test_blocks_of_the_second_version_keep_the_names_that_they_have() -> None:
    """Their keys had no numbers, whatever their tenures."""
    found = decode_value(PLAIN_NAME, b"\x02" + VALUE[1:])
    assert found == replace(BLOCK, is_tagged=False)
    assert found.name == PLAIN_NAME
    assert BLOCK.name.tag != 0


def test_earlier_releases_refuse_what_has_keys_that_they_misread() -> None:
    """They know versions 1 and 2, and would take the number in the key for a part of the start."""
    assert encode_value(BLOCK)[0] not in {1, 2}


def test_runs_that_belong_together_are_one() -> None:
    """Whoever wrote them apart."""
    apart = EARLIER[:-4] + b"\0\0\2"
    assert decode_value(PLAIN_NAME, apart).runs == Runs([Run(100, 7, 12)])


@pytest.mark.parametrize(
    "key", [None, b"", bytes(7), b"\0\x09t" + bytes(12), PLAIN_KEY[:-1], KEY[:-1], KEY + b"\0"]
)
def test_what_is_no_key_is_refused(key: bytes | None) -> None:
    with pytest.raises(SchemaError):
        decode_key(key)


@pytest.mark.parametrize(
    "value",
    [
        b"",
        VALUE[:34],
        VALUE[:36],
        VALUE[:39],
        VALUE[:-1],
        VALUE[:-3],
        b"\x04" + VALUE[1:],
        EARLIER[:34] + b"\0" + b"\0\0" + b"\xff" * 9 + b"\x7f",
        EARLIER[:34] + b"\0" + b"\0" + b"\xff" * 8 + b"\x7f" + b"\1",
    ],
)
def test_what_is_no_value_is_refused(value: bytes) -> None:
    with pytest.raises(SchemaError, match="Error reading a block of runs"):
        decode_value(NAME, value)


@st.composite
def blocks(draw: st.DrawFn) -> Block:
    numbers = st.integers(0, 2**40)
    start = upstream = draw(numbers)
    downstream, runs = draw(numbers), Runs()
    for _ in range(draw(st.integers(0, 5))):
        run = Run(upstream + draw(numbers), downstream + draw(numbers), draw(numbers) + 1)
        runs.append(run)
        upstream, downstream = run.upstream + run.records, run.downstream + run.records
    tenure = st.builds(TaskTenure, numbers, numbers, numbers, numbers)
    logs = st.none() | st.uuids().filter(lambda each: each.int != 0)
    return Block(
        start,
        upstream + draw(numbers),
        runs,
        Logs(draw(logs), draw(logs)),
        is_fresh=draw(st.booleans()),
        is_sparse=draw(st.booleans()),
        is_transactional=draw(st.booleans()),
        tenure=draw(st.none() | tenure),
    )


@given(blocks(), st.text(max_size=50).map(TopicName), st.integers(0, 2**31 - 1))
def test_what_is_written_is_read(block: Block, topic: TopicName, partition: int) -> None:
    where = TopicPartition(topic, partition)
    assert decode_key(encode_key(where, *block.name)) == (where, block.name)
    assert decode_value(block.name, encode_value(block)) == block
