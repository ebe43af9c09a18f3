"""
Exactly once against a cluster in memory that loses, delays and refuses as hypothesis pleases, while
tasks are killed at any moment.

Whatever happens, readers of committed records see each record once, in order, and the positions in
both places are those of the last of them, or of the last marker behind it (KIP-618, KIP-656). So do
those of a topic to which transforms send some records of all partitions, or copies of them.
"""

from __future__ import annotations

from typing import Any, Final

from hypothesis import example, given, settings
from hypothesis import strategies as st

from mm2.core.model import TopicName, TopicPartition
from tests.support.fake_broker import Trouble
from tests.support.mirrored_transactions import JOINT, Spread, is_record, mirror, stored_positions
from tests.support.virtual_time import run

_TROUBLES = sorted(set(Trouble) - {Trouble.CORRUPT, Trouble.THROTTLED, Trouble.OVERTAKEN})

_HISTORIES: Final[dict[str, st.SearchStrategy[Any]]] = {
    "logs": st.lists(st.integers(0, 30), min_size=1, max_size=3),
    "troubles": st.lists(st.sampled_from(_TROUBLES), max_size=30),
    "kills": st.lists(st.tuples(st.floats(0.0, 0.6), st.booleans()), max_size=4),
    "most_s": st.sampled_from([0.02, 0.25, 5.0]),
    "spoils": st.lists(st.floats(0.0, 0.3), max_size=3),
    "verifies": st.booleans(),
}


@settings(max_examples=150, deadline=None)
@given(**_HISTORIES)
@example(
    logs=[4],
    troubles=[],
    kills=[(n / 200, False) for n in range(20)],
    most_s=0.25,
    spoils=[],
    verifies=False,
)
# A batch whose answer hides that it is appended, and others behind it that are acknowledged.
@example(
    logs=[23, 21],
    troubles=[
        Trouble.LOST_REQUEST,
        Trouble.SLOW,
        Trouble.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        Trouble.LOST_REQUEST,
        Trouble.LOST_REQUEST,
        Trouble.SLOW,
        Trouble.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    ],
    kills=[(0.167, False), (0.4, False)],
    most_s=0.02,
    spoils=[],
    verifies=False,
)
def test_each_record_comes_once_whatever_happens(
    *,
    logs: list[int],
    troubles: list[Trouble],
    kills: list[tuple[float, bool]],
    most_s: float,
    spoils: list[float],
    verifies: bool,
) -> None:
    cluster = run(mirror(logs, troubles, kills, most_s, spoils, verifies=verifies))
    positions = stored_positions(cluster)
    for number, end in enumerate(logs):
        remote = TopicPartition(TopicName("t"), number)
        seen = [int(record.value or b"") for record in cluster.committed(remote)]
        assert seen == list(filter(is_record, range(end)))
        if end:
            assert positions[TopicPartition(TopicName("s"), number)] == end - 1
            assert cluster.group[remote] == end


@settings(max_examples=150, deadline=None)
@given(**_HISTORIES, spread=st.sampled_from(Spread))
# The copy of a partition waits while the other topic has later records.
@example(
    logs=[12, 12],
    troubles=[*[Trouble.NONE] * 4, Trouble.NOT_ENOUGH_REPLICAS],
    kills=[(0.08, True)],
    most_s=0.02,
    spoils=[],
    verifies=True,
    spread=Spread.THIRDS,
)
# What is queued while a transaction is aborted.
@example(
    logs=[12, 12],
    troubles=[*[Trouble.NONE] * 6, *[Trouble.NOT_ENOUGH_REPLICAS] * 2],
    kills=[(0.04, True)],
    most_s=0.02,
    spoils=[0.12],
    verifies=True,
    spread=Spread.THIRDS,
)
def test_each_copy_comes_once_where_records_go_to_several_partitions(
    *,
    logs: list[int],
    troubles: list[Trouble],
    kills: list[tuple[float, bool]],
    most_s: float,
    spoils: list[float],
    verifies: bool,
    spread: Spread,
) -> None:
    cluster = run(mirror(logs, troubles, kills, most_s, spoils, verifies=verifies, spread=spread))
    positions = stored_positions(cluster)
    values = [each.value or b"" for each in cluster.committed(JOINT)]
    joint = [tuple(map(int, value.split())) for value in values]
    for number, end in enumerate(logs):
        remote = TopicPartition(TopicName("t"), number)
        seen = [int(record.value or b"") for record in cluster.committed(remote)]
        elsewhere = [offset for source, offset in joint if source == number]
        offsets = list(filter(is_record, range(end)))
        assert seen == list(filter(spread.is_copied, offsets))
        assert elsewhere == list(filter(spread.is_routed, offsets))
        if end:
            assert positions[TopicPartition(TopicName("s"), number)] == end - 1
            assert cluster.group[remote] == end
