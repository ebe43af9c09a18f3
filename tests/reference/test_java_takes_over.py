"""Kafka's MirrorMaker and mm2 take a flow over from each other under traffic, each record once."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Final

import pytest

from mm2.demo.broker_settings import HOST, free_ports
from tests.harness.chaos.numbered_records import Reader, Writer, lag
from tests.support.cluster import Cluster
from tests.support.eventually import eventually
from tests.support.mirror import Mirror, java_mirror, properties
from tests.support.records import create_topic

pytestmark = [
    pytest.mark.broker,
    pytest.mark.reference,
    pytest.mark.spark,
    pytest.mark.thorough,
    pytest.mark.timeout(3_000),
]

_PARTITIONS = 4
_EACH = 40_000
"""Records that are copied, at least, in each turn."""

_PATIENCE_S = 400
"""Java starts slowly, and copies slowly in transactions, on a machine that is busy."""

_TURNS = 5
_RATE = 2_500
_JAVA: Final = (java_mirror, 143)
_OURS: Final = (None, 0)
"""How a mirror is run, and its exit status after SIGTERM."""

_NOT_COMMITTED: Final = ("Graceful stop of task", "Timed out waiting to flush", "Failed to flush")
"""
What Java says when it exits without having committed what it has copied.

It gives its tasks 5 s to stop, which a busy machine may exceed; at least once whoever comes next
then copies again what was not committed.
"""

_TRANSACTIONS: Final = {
    "B.exactly.once.source.support": "enabled",
    # Java's nodes fence each other's tasks by REST.
    "dedicated.mode.enable.internal.rest": "true",
}


@pytest.mark.parametrize("settings", [{}, _TRANSACTIONS], ids=["at-least-once", "exactly-once"])
def test_a_flow_goes_from_java_to_us_and_back_and_each_record_is_there_once(
    cluster_a: Cluster,
    cluster_b: Cluster,
    unique: str,
    tmp_path: Path,
    settings: Mapping[str, str],
) -> None:
    """Five turns of at least 40,000 records each, while others are being written."""
    source = f"S{unique[-6:]}"
    create_topic(cluster_a.bootstrap, unique, _PARTITIONS)
    remote = f"{source}.{unique}"
    create_topic(cluster_b.bootstrap, remote, _PARTITIONS)
    text = properties(
        {source: cluster_a.bootstrap, "B": cluster_b.bootstrap},
        {
            f"{source}->B.enabled": "true",
            "topics": unique,
            f"B->{source}.enabled": "false",
            f"B->{source}.emit.heartbeats.enabled": "false",
            f"{source}.consumer.isolation.level": "read_committed",
            "listeners": f"http://{HOST}:{free_ports(1)[0]}",
            **settings,
        },
    )
    with (
        Writer(cluster_a.bootstrap, unique, _PARTITIONS, _RATE) as writer,
        Reader(cluster_b.bootstrap, remote, _PARTITIONS) as reader,
    ):
        repeated, not_committed = [0], [""]
        for turn in range(_TURNS):
            command, status = _JAVA if turn % 2 == 0 else _OURS
            with Mirror(tmp_path, text, command=command) as mirror:
                _copy_some(reader)
                if turn == _TURNS - 1:
                    writer.stop()
                    eventually(lambda: not any(lag(writer, reader)), timeout=_PATIENCE_S)
                assert mirror.stop(60) == status
                mirror.wait_gone()
                not_committed.append(_complaints(mirror.text()))
            repeated.append(reader.toll.repeated)
        written, toll = writer.acknowledged, reader.toll
    assert sum(written) >= _EACH * _TURNS
    assert (toll.missing, toll.disordered) == (0, 0)
    twice = [after - before for before, after in pairwise(repeated)]
    excused = [bool(said) and not settings for said in not_committed]
    blame = [
        f"{count} records are there twice since turn {turn} has begun"
        for turn, count in enumerate(twice)
        if count and not excused[turn]
    ]
    assert not blame, f"{twice}, {not_committed}"


def _copy_some(reader: Reader) -> None:
    enough = sum(reader.next) + _EACH
    eventually(lambda: sum(reader.next) >= enough, timeout=_PATIENCE_S)


def _complaints(text: str) -> str:
    lines = [line for line in text.splitlines() if any(each in line for each in _NOT_COMMITTED)]
    return "\n".join(lines)
