"""Kafka's MirrorMaker and mm2 take a flow over from each other under traffic, each record once."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from tests.support.chaos.traffic import Reader, Writer, lag
from tests.support.cluster import Cluster
from tests.support.eventually import eventually
from tests.support.mirror import Mirror, java_mirror, properties
from tests.support.records import create_topic

pytestmark = [
    pytest.mark.broker,
    pytest.mark.reference,
    pytest.mark.spark,
    pytest.mark.thorough,
    pytest.mark.timeout(900),
]

_PARTITIONS = 4
_EACH = 40_000
"""Records that are copied, at least, in each turn."""

_TURNS = 5
_RATE = 2_500
_JAVA: Final = (java_mirror, 143)
_OURS: Final = (None, 0)
"""How a mirror is run, and its exit status after SIGTERM."""


def test_a_flow_goes_from_java_to_us_and_back_and_each_record_is_there_once(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path
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
        },
    )
    with (
        Writer(cluster_a.bootstrap, unique, _PARTITIONS, _RATE) as writer,
        Reader(cluster_b.bootstrap, remote, _PARTITIONS) as reader,
    ):
        repeated = []
        for turn in range(_TURNS):
            command, status = _JAVA if turn % 2 == 0 else _OURS
            with Mirror(tmp_path, text, command=command) as mirror:
                _copy_some(reader)
                if turn == _TURNS - 1:
                    writer.stop()
                    eventually(lambda: not any(lag(writer, reader)), timeout=180)
                assert mirror.stop(60) == status
                mirror.wait_gone()
            repeated.append(reader.toll.repeated)
        written, toll = writer.acknowledged, reader.toll
    assert sum(written) >= _EACH * _TURNS
    assert repeated == [0] * _TURNS, "after so many turns"
    assert (toll.missing, toll.repeated, toll.disordered) == (0, 0, 0)


def _copy_some(reader: Reader) -> None:
    enough = sum(reader.next) + _EACH
    eventually(lambda: sum(reader.next) >= enough, timeout=180)
