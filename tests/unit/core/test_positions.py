"""Positions in Connect's own topic (C206, C207, C222)."""

from __future__ import annotations

from mm2.core.lineage import HEADER, Lineage
from mm2.core.model import ClusterAlias, TopicName, TopicPartition
from mm2.core.positions import last_positions, lineages_of, positions_of

_A = ClusterAlias("A")


def _key(
    cluster: str, topic: str, partition: int, connector: str = "MirrorSourceConnector"
) -> bytes:
    return (
        f'["{connector}",{{"cluster":"{cluster}","partition":{partition},"topic":"{topic}"}}]'
    ).encode()


def _where(topic: str, partition: int) -> TopicPartition:
    return TopicPartition(TopicName(topic), partition)


def test_the_last_record_of_a_partition_wins() -> None:
    records = [
        (_key("A", "t", 0), b'{"offset":4}'),
        (_key("A", "t", 1), b'{"offset":0}'),
        (_key("A", "t", 0), b'{"offset":9}'),
    ]
    assert positions_of(records, _A) == {_where("t", 0): 9, _where("t", 1): 0}


def test_tombstones_and_nulls_are_no_position() -> None:
    """C207."""
    records: list[tuple[bytes | None, bytes | None]] = []
    for number, value in enumerate([None, b'{"offset":null}', b'{"offset":-2}', b"null"]):
        records += [(_key("A", "t", number), b'{"offset":4}'), (_key("A", "t", number), value)]
    assert positions_of(records, _A) == {}
    assert last_positions(records, _A) == {_where("t", number): None for number in range(4)}


def test_minus_one_is_the_position_before_the_first_record() -> None:
    """So that auto.offset.reset=latest passes over nothing after a restart."""
    assert positions_of([(_key("A", "t", 0), b'{"offset":-1}')], _A) == {_where("t", 0): -1}


def test_a_position_after_a_reset_counts() -> None:
    records = [(_key("A", "t", 0), None), (_key("A", "t", 0), b'{"offset":3}')]
    assert positions_of(records, _A) == {_where("t", 0): 3}


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
    assert positions_of(records, _A) == {_where("t", 2): 2}


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
    assert lineages_of(records, _A) == lineages
