"""Positions in Connect's own topic (C206, C207, C222)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mm2.core.connect.offset_records import SourcePartition, encode_key
from mm2.core.model import ClusterAlias, TopicName, TopicPartition
from mm2.core.murmur2 import partition_for
from mm2.core.positions.log_identity import HEADER, Lineage
from mm2.core.positions.stored_positions import (
    may_be_about,
    newest_records,
)

_A = ClusterAlias("A")


def _key(
    cluster: str, topic: str, partition: int, connector: str = "MirrorSourceConnector"
) -> bytes:
    return (
        f'["{connector}",{{"cluster":"{cluster}","partition":{partition},"topic":"{topic}"}}]'
    ).encode()


def _where(topic: str, partition: int) -> TopicPartition:
    return TopicPartition(TopicName(topic), partition)


@dataclass(frozen=True)
class _Stored:
    """A record in a partition of the positions topic."""

    partition: int
    timestamp_ms: int
    value: bytes | None
    key: bytes | None = _key("A", "t", 0)
    headers: tuple[tuple[str, bytes | None], ...] = ()


def _newest(
    records: Iterable[tuple[bytes | None, bytes | None]],
) -> dict[TopicPartition, int | None]:
    """What records in one partition of the positions topic say."""
    stored = [_Stored(0, 7_000, value, key) for key, value in records]
    return newest_records(stored, _A).offsets


def test_the_last_record_of_a_partition_wins() -> None:
    records = [
        (_key("A", "t", 0), b'{"offset":4}'),
        (_key("A", "t", 1), b'{"offset":0}'),
        (_key("A", "t", 0), b'{"offset":9}'),
    ]
    assert _newest(records) == {_where("t", 0): 9, _where("t", 1): 0}


def test_tombstones_and_nulls_are_no_position() -> None:
    """C207."""
    records: list[tuple[bytes | None, bytes | None]] = []
    for number, value in enumerate([None, b'{"offset":null}', b'{"offset":-2}', b"null"]):
        records += [(_key("A", "t", number), b'{"offset":4}'), (_key("A", "t", number), value)]
    assert _newest(records) == {_where("t", number): None for number in range(4)}


def test_minus_one_is_the_position_before_the_first_record() -> None:
    """So that auto.offset.reset=latest passes over nothing after a restart."""
    assert _newest([(_key("A", "t", 0), b'{"offset":-1}')]) == {_where("t", 0): -1}


def test_a_position_after_a_reset_counts() -> None:
    records = [(_key("A", "t", 0), None), (_key("A", "t", 0), b'{"offset":3}')]
    assert _newest(records) == {_where("t", 0): 3}


def test_other_connectors_clusters_and_strangers_are_passed_over() -> None:
    records: list[tuple[bytes | None, bytes | None]] = [
        (_key("B", "t", 0), b'{"offset":1}'),
        (_key("A", "t", 0, "MirrorCheckpointConnector"), b'{"offset":1}'),
        (b'["jdbc",{"table":"x"}]', b'{"offset":1}'),
        (None, b'{"offset":1}'),
        (b"\xff", b'{"offset":1}'),
        (_key("A", "t", 1), b"\xff"),
        (_key("A", "t", 2), b'{"offset":2}'),
    ]
    assert _newest(records) == {_where("t", 2): 2}


def test_a_position_of_others_has_no_lineage_though_ours_before_it_had() -> None:
    ours = [(HEADER, Lineage(leader_epoch=3).encode())]
    records = [
        (_key("A", "t", 0), b'{"offset":9}', ours),
        (_key("A", "t", 0), b'{"offset":4}', []),
        (_key("A", "t", 1), b'{"offset":4}', ours),
        (_key("A", "t", 2), b'{"offset":4}', [(HEADER, b"of a later release")]),
        (_key("C", "t", 3), b'{"offset":4}', ours),
    ]
    lineages = {_where("t", 1): Lineage(leader_epoch=3), _where("t", 2): Lineage()}
    stored = [_Stored(0, 7_000, value, key, tuple(named)) for key, value, named in records]
    assert newest_records(stored, _A).lineages() == lineages


@given(
    source=st.sampled_from(["A", "a.b", "A\\", "ä"]),
    topic=st.sampled_from(["t", "T", "a.b-c_d", "10"]),
    partition=st.integers(0, 120),
    is_own=st.booleans(),
    blanks=st.booleans(),
)
def test_keys_of_other_partitions_alone_are_rejected(
    *, source: str, topic: str, partition: int, is_own: bool, blanks: bool
) -> None:
    alias, where = ClusterAlias(source), _where(topic, partition)
    accepts = may_be_about(alias, "C", [where] if is_own else [_where(topic, partition + 1)])
    key = encode_key("C", SourcePartition(alias, *where))
    key = key.replace(b",", b", ") if blanks else key
    assert accepts(key) is (is_own or blanks)
    assert accepts(None)
    assert accepts(encode_key("D", SourcePartition(alias, *where)))
    assert accepts(key.replace(b'partition":', b'partition":0'))


def _found(*records: _Stored) -> dict[TopicPartition, int | None]:
    return newest_records(records, _A).offsets


def test_of_one_partition_the_last_record_counts_whatever_the_clocks_said() -> None:
    behind, ahead = _Stored(1, 9_000, b'{"offset":9}'), _Stored(1, 5_000, b'{"offset":4}')
    assert _found(behind, ahead) == {_where("t", 0): 4}
    assert newest_records([behind, ahead], _A).contested == set()


@pytest.mark.parametrize("newest_is_behind", [False, True])
def test_of_several_partitions_the_newest_record_counts_in_any_order(
    *, newest_is_behind: bool
) -> None:
    """A rewind is the newest, and as good as what went before."""
    offsets = (4, 9) if newest_is_behind else (9, 4)
    new = _Stored(0, 7_000, b'{"offset":%d}' % offsets[0])
    old = _Stored(3, 6_999, b'{"offset":%d}' % offsets[1])
    for records in ([new, old], [old, new]):
        assert _found(*records) == {_where("t", 0): offsets[0]}
        assert newest_records(records, _A).contested == {_where("t", 0)}


def test_of_equally_old_records_that_in_the_higher_partition_counts() -> None:
    """Partitions were added, and the key has its home there since."""
    records = _Stored(28, 7_000, b'{"offset":9}'), _Stored(3, 7_000, b'{"offset":4}')
    assert _found(*records) == _found(*reversed(records)) == {_where("t", 0): 9}


def test_a_reset_that_is_the_newest_counts() -> None:
    records = _Stored(0, 7_000, None), _Stored(3, 6_000, b'{"offset":4}')
    assert _found(*records) == _found(*reversed(records)) == {_where("t", 0): None}


def test_what_says_the_same_in_two_partitions_is_no_contradiction() -> None:
    records = _Stored(0, 7_000, b'{"offset":4}'), _Stored(3, 6_000, b'{"offset":4}')
    assert newest_records(records, _A).contested == set()


def test_what_is_written_next_must_be_newer_than_what_stands_elsewhere() -> None:
    home = partition_for(_key("A", "t", 0), 50)
    records = [_Stored(home, 9_000, b'{"offset":4}'), _Stored(home + 1, 7_000, b'{"offset":5}')]
    newest = newest_records(records, _A, partitions=50)
    assert newest.elsewhere_ms == {_where("t", 0): 7_000}
    assert newest_records(records[:1], _A, partitions=50).elsewhere_ms == {}
