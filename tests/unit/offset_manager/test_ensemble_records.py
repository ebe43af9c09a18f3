"""Where groups belong, who leads what, and what the instances tell each other."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mm2.core.offset_manager.ensemble import Ensemble, Instance, JoiningInstance, decide
from mm2.core.offset_manager.log_placement import log_partition_of, place_logs
from mm2.protocol.ensemble_records import (
    decode_ensemble,
    decode_joining,
    encode_ensemble,
    encode_joining,
)

LEADS = st.dictionaries(
    st.sampled_from("abcdef"), st.frozensets(st.integers(0, 40), max_size=30), min_size=1
)


@pytest.mark.parametrize(
    ("group", "partition"),
    # String.hashCode of Java: "orders" is -1008770331, "𝄞" 1772394.
    [("", 0), ("a", 97 % 50), ("orders", (-1008770331 & 0x7FFFFFFF) % 50), ("𝄞", 1772394 % 50)],
)
def test_a_group_is_where_kafka_has_it_too(group: str, partition: int) -> None:
    assert log_partition_of(group, 50) == partition


@given(LEADS, st.integers(1, 40))
def test_all_is_led_evenly_and_who_leads_goes_on(
    leads: dict[str, frozenset[int]], partitions: int
) -> None:
    placed = place_logs(leads, partitions)
    assert len(placed) == partitions
    counts = Counter(dict.fromkeys(leads, 0)) + Counter(placed)
    assert max(counts.values()) <= -(-partitions // len(leads))
    again = {name: frozenset(n for n, each in enumerate(placed) if each == name) for name in leads}
    assert place_logs(again, partitions) == placed


def test_an_instance_that_comes_takes_only_its_share() -> None:
    before = {"a": frozenset(range(10)), "b": frozenset[int]()}
    placed = place_logs(before, 10)
    assert placed == ["a"] * 5 + ["b"] * 5


def test_numbers_of_instances_collide_with_none() -> None:
    said = [JoiningInstance(instance=Instance(name=n, host="h", port=9)) for n in "abc"]
    nodes = [each.node for each in decide(said, 4, []).instances]
    assert len(set(nodes)) == 3
    others = [each.node for each in decide(said, 4, nodes).instances]
    assert not set(others) & set(nodes)
    assert all(0 < node < 2**31 - 1 for node in [*nodes, *others])


@given(LEADS)
def test_a_decision_is_read_as_it_was_made(leads: dict[str, frozenset[int]]) -> None:
    said = [
        JoiningInstance(instance=Instance(name=name, host="h", port=9092), leads=led)
        for name, led in leads.items()
    ]
    assert [decode_joining(encode_joining(each)) for each in said] == said
    made = decide(said, 7, [1, 2, 3])
    assert decode_ensemble(encode_ensemble(made)) == made
    led = [made.led_by(name) for name in leads]
    assert sorted(n for each in led for n in each) == list(range(7))
    first = made.leader(0)
    assert first is not None
    assert 0 in made.led_by(first.name)


def test_nobody_leads_what_nobody_has_decided_about() -> None:
    assert Ensemble().leader(0) is None
    assert Ensemble().leader(-1) is None


def test_members_of_earlier_releases_are_understood() -> None:
    joining = JoiningInstance(
        instance=Instance(name="a", host="h", port=9), leads=frozenset({2, 1})
    )
    assert encode_joining(joining) == (
        b'{"version":1,"name":"a","host":"h","port":9,"leads":[1,2]}'
    )
    made = decide([joining], 2, [])
    node = made.instances[0].node
    assert encode_ensemble(made) == (
        b'{"version":1,"instances":[{"name":"a","host":"h","port":9,"node":%d}],"leaders":[0,0]}'
        % node
    )


@given(st.binary(max_size=80))
def test_other_user_data_does_not_count(data: bytes) -> None:
    assert decode_joining(data) is None
    assert decode_ensemble(data) is None


@pytest.mark.parametrize(
    "data",
    [
        b'{"instances":[{"name":"a","host":"h","port":1}],"leaders":[1]}',
        b'{"instances":[{"name":"a","host":"h","port":70000}],"leaders":[]}',
        b'{"instances":[{"name":"","host":"h","port":1}],"leaders":[]}',
        b'{"instances":[{"name":"a","host":"h","port":1,"node":-7}],"leaders":[]}',
        b'{"instances":[3],"leaders":[]}',
        b'{"instances":{}}',
    ],
)
def test_an_impossible_decision_does_not_count(data: bytes) -> None:
    assert decode_ensemble(data) is None
