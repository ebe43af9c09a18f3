"""JSON from outside is bounded, wherever it is read."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mm2.core.connect import config_records, status_records
from mm2.core.connect.offset_records import decode_key, decode_offset
from mm2.core.json_text import MOST_LEVELS, read_json
from mm2.core.leadership.placement import Member, leader_of
from mm2.core.positions.log_identity import Lineage
from mm2.errors import SchemaError
from mm2.protocol.checkpoint_progress import decode_checkpoint_progress
from mm2.protocol.control_codec import decode_control
from mm2.protocol.heartbeat_progress import decode_heartbeats
from mm2.protocol.member_metadata import decode_decision, decode_member, encode_member
from mm2.protocol.progress_records import decode_progress
from mm2.rest.requests import parse_body
from mm2.rest.rest_errors import RestError

DEEP = b"[" * 100_000
CLOSED = b"[" * 100_000 + b"]" * 100_000
WITHIN = b'{"version":1,"epoch":' + b'{"a":' * 5_000 + b"1" + b"}" * 5_001
ENDLESS = b'{"version":1,"epoch":1e999,"time_ms":Infinity,"leads":{"f":1e999},"portions":{"0":NaN}}'
HALF = b'{"version":1,"epoch":1,"owner":"\\ud800","node":"\\ud800","leader":"\\udfff"}'
HOSTILE = [DEEP, CLOSED, WITHIN, ENDLESS, HALF, b"\xff\xfe", b'{"epoch":' + b"9" * 5000 + b"}"]

_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda each: st.lists(each) | st.dictionaries(st.text(max_size=5), each),
)

_READS_JSON = re.compile(r"\bjson\.loads?\b|JSONDecoder|from json import|\.json\(\)|msgspec\.json")


@given(_JSON, st.booleans())
def test_all_json_that_is_not_deep_is_read_as_it_is(value: object, ascii_: bool) -> None:
    try:
        text = json.dumps(value, ensure_ascii=ascii_).encode()
    except UnicodeEncodeError:
        return
    assert read_json(text) == json.loads(text)


@pytest.mark.parametrize(
    "text", ['"' + "[" * 500 + '"', '["\\"' + "{" * 500 + '"]', "[" + "[]," * 500 + "1]"]
)
def test_brackets_in_texts_and_beside_each_other_are_not_deep(text: str) -> None:
    assert read_json(text) == json.loads(text)


def test_as_many_levels_as_are_allowed_are_read() -> None:
    assert read_json("[" * MOST_LEVELS + "]" * MOST_LEVELS)
    with pytest.raises(ValueError, match="levels deep"):
        read_json("[" * (MOST_LEVELS + 1) + "]" * (MOST_LEVELS + 1))


def test_what_is_too_long_is_not_read() -> None:
    with pytest.raises(ValueError, match="longer than 10 bytes"):
        read_json(b'"123456789"', most_bytes=10)


@pytest.mark.parametrize(
    "text", ['["' + '\\"' * 400_000, '"' * 999_999, "[{" * 400_000, "[" + "\\" * 999_999]
)
def test_the_longest_texts_are_judged_in_one_pass(text: str) -> None:
    """If it took longer than their length, this would not end."""
    with pytest.raises(ValueError, match=r"."):
        read_json(text)


READERS: dict[str, Callable[[bytes], object]] = {
    **{
        key: partial(decode_control, key.encode())
        for key in ("lease", "flow", "bundle-0", "missing-t", "config", "settings", "shares")
    },
    **{key: partial(decode_control, key.encode()) for key in ("connector-c", "restart-c")},
    "progress": decode_progress,
    "checkpoints": decode_checkpoint_progress,
    "heartbeats": decode_heartbeats,
    "position's key": decode_key,
    "position": decode_offset,
    "connector": partial(config_records.decode, b"connector-c"),
    "status": status_records.decode_status,
    "topic": status_records.decode_topic,
}


@pytest.mark.parametrize("data", HOSTILE)
@pytest.mark.parametrize("kind", READERS)
def test_a_damaged_record_is_told_as_one(kind: str, data: bytes) -> None:
    with pytest.raises(SchemaError):
        READERS[kind](data)


@pytest.mark.parametrize("data", HOSTILE)
def test_a_hostile_body_is_a_bad_request(data: bytes) -> None:
    with pytest.raises(RestError) as caught:
        parse_body(data)
    assert caught.value.status == 400


@pytest.mark.parametrize("data", HOSTILE)
def test_a_lineage_that_cannot_be_read_is_not_known(data: bytes) -> None:
    assert not Lineage.decode(data).is_known


@pytest.mark.parametrize(
    "data",
    [
        *HOSTILE,
        b'{"node":"x","leads":{"f":-5}}',
        b'{"node":"x","leads":[1]}',
        b'{"node":"x","could":7}',
        b"[]",
        b"7",
        json.dumps({"node": "x", "could": list(map(str, range(100_000)))}).encode(),
    ],
)
def test_a_hostile_member_does_not_keep_others_from_electing(data: bytes) -> None:
    honest = Member(node="n", eligible=frozenset({"f"}))
    members = [decode_member(data, "hostile"), decode_member(encode_member(honest), "m")]
    assert members[0] == Member(node="hostile")
    assert leader_of("f", members) == "n"
    assert decode_decision(data) is None


def test_json_is_read_in_one_place_and_records_in_another() -> None:
    root = Path(__file__).parents[3]
    readers = [
        str(file.relative_to(root))
        for folder in ("mm2", "flows")
        for file in sorted((root / folder).rglob("*.py"))
        if _READS_JSON.search(file.read_text())
    ]
    assert readers == ["mm2/core/json_text.py", "mm2/protocol/codec.py"]
