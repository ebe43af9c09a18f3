"""Groups of a flow that Java's MirrorMaker runs stand where Java's numbers say: ``mm2 groups``."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pytest
from click.testing import CliRunner

from mm2.cli.mm2 import main
from mm2.client import remote_cluster_utils
from mm2.core.internal_records import OffsetSync
from mm2.core.java_regex import JavaPattern
from tests.support.cluster import Cluster
from tests.support.eventually import eventually
from tests.support.mirror import Mirror, java_mirror, properties
from tests.support.records import (
    Sample,
    commit_group,
    committed,
    create_topic,
    everything,
    numbered,
    produce,
    produce_transaction,
)

pytestmark = [
    pytest.mark.broker,
    pytest.mark.reference,
    pytest.mark.thorough,
    pytest.mark.timeout(400),
]

_SETTINGS: Final = {
    # More syncs than the 64 that are kept, and none held back for a minute.
    "offset.lag.max": "5",
    "offset.flush.interval.ms": "500",
    "heartbeats.replication.enabled": "false",
}


def test_groups_of_javas_flow_stand_where_javas_checkpoints_say(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path
) -> None:
    """C238-C248, from the same 64 syncs; Java's client reads the checkpoints."""
    source, target = f"S{unique[-8:]}", f"T{unique[-8:]}"
    here, there = cluster_a.bootstrap, cluster_b.bootstrap
    records = _log_with_gaps(here, unique)
    text = properties(
        {source: here, target: there},
        {
            f"{source}->{target}.enabled": "true",
            f"{target}->{source}.emit.heartbeats.enabled": "false",
            f"{source}.consumer.isolation.level": "read_committed",
            "topics": unique,
            "groups": f"{unique}-.*",
            **_SETTINGS,
        },
    )
    with Mirror(tmp_path, text, command=java_mirror) as java:
        _wait_for_last_sync(here, f"mm2-offset-syncs.{target}.internal", records[-1].offset)
        stand = _commit(here, unique, records)
        javas = eventually(
            lambda: _javas(there, source, unique),
            until=lambda found: found.keys() == stand.keys(),
        )
        flow = ("--flow", f"{source}->{target}", "--format", "json")
        groups = _rows("groups", str(java.file), *flow, "--pattern", f"{unique}-.*")
        assert {row["group"]: row["offset"] for row in groups} == stand
        assert {row["group"]: row["translated"] for row in groups} == javas
        assert {row["accuracy"] for row in groups} == {"approximate"}
        for group, offset in stand.items():
            where = ("--topic", f"{unique}:0", "--offset", str(offset))
            for words in (("--group", group), where):
                (found,) = _rows("translate", str(java.file), *flow, *words)
                assert (found["offset"], found["translated"]) == (offset, javas[group])
    for group, offset in stand.items():
        assert javas[group] <= sum(each.offset < offset for each in records)
    assert len(set(javas.values())) > 3, "one answer for all would be no test of the numbers"


def _log_with_gaps(bootstrap: str, topic: str) -> Sequence[Sample]:
    create_topic(bootstrap, topic)
    for part in range(8):
        produce(bootstrap, topic, numbered(200 * part, 180), settings={"batch.num.messages": 7})
        produce_transaction(bootstrap, topic, numbered(0, 10), commit=part % 2 > 0)
    return committed(bootstrap, topic)


def _wait_for_last_sync(bootstrap: str, syncs: str, last: int) -> None:
    """Until then the numbers change."""

    def newest() -> int:
        found = [OffsetSync.decode(each.key, each.value) for each in everything(bootstrap, syncs)]
        return max(each.upstream_offset for each in found)

    eventually(newest, until=lambda offset: offset == last, timeout=200)


def _commit(bootstrap: str, topic: str, records: Sequence[Sample]) -> dict[str, int]:
    """Groups that stand at some records, behind some, and at the end."""
    numbers = (0, 1, 333, 720, 1_000, 1_300, 1_400, len(records) - 20, len(records) - 2)
    places = [records[number].offset for number in numbers]
    places += [records[180].offset - 4, records[-1].offset + 1]
    stand = {f"{topic}-{place}": place for place in places}
    for group, place in stand.items():
        commit_group(bootstrap, group, {(topic, 0): place})
    return stand


def _javas(bootstrap: str, source: str, topic: str) -> Mapping[str, int]:
    """As the client's, which is Java's (``test_our_client_beside_javas``)."""
    properties = {"bootstrap.servers": bootstrap}
    pattern = JavaPattern(f"{topic}-.*")
    groups = asyncio.run(remote_cluster_utils.translate_offsets(properties, source, pattern))
    return {group: each.offset for group, found in groups.items() for each in found.values()}


def _rows(*words: str) -> list[dict[str, Any]]:
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 0, result.output
    return list(json.loads(result.stdout))
