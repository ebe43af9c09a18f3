"""``kafka-mirror-maker`` as a member of cooperative and KIP-848 groups, and as a static member."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from tests.support.cluster import Cluster
from tests.support.eventually import eventually
from tests.support.legacy_tool import (
    SOON_MISSED,
    copies_when,
    events_of,
    legacy_tool,
    stream_shares,
)
from tests.support.mirror import Mirror
from tests.support.records import create_topic, numbered, produce

pytestmark = [pytest.mark.broker, pytest.mark.spark]


INSTANCE = "group.instance.id"
LONG_MISSED = {"session.timeout.ms": "180000"}
"""Of a static member that has time to come back."""


def rebalances(tool: Mirror) -> list[str]:
    """How often a process was given partitions, and had to give some up, one by one."""
    return [each["event"] for each in events_of(tool) if each["event"].startswith("stream.part")]


@pytest.mark.parametrize(
    "settings",
    [
        {"partition.assignment.strategy": "cooperative-sticky", INSTANCE: "one"},
        {"group.protocol": "consumer"},
    ],
    ids=["cooperative and static", "KIP-848"],
)
def test_a_second_process_takes_its_share_and_gives_it_back(
    cluster_a: Cluster,
    cluster_b: Cluster,
    unique: str,
    tmp_path: Path,
    settings: dict[str, str],
) -> None:
    topic, group = f"{unique}-t", f"{unique}-g"
    create_topic(cluster_a.bootstrap, topic, partitions=4)
    wanted = 0

    def copied() -> list[int]:
        nonlocal wanted
        produce(cluster_a.bootstrap, topic, numbered(wanted, 100, 4))
        wanted += 100
        return [int(copy.value or b"") for copy in copies_when(cluster_b, topic, wanted)]

    def tool(name: str, **more: str) -> AbstractContextManager[Mirror]:
        folder = tmp_path / name
        folder.mkdir()
        include = ("--include", topic, "--offset.commit.interval.ms", "500")
        consumer = {**SOON_MISSED, **settings, **more}
        return legacy_tool(folder, cluster_a, cluster_b, group, *include, consumer=consumer)

    is_static = INSTANCE in settings
    other = {INSTANCE: "other"} if is_static else {}
    with tool("one") as one:
        eventually(lambda: stream_shares(one) == {0: 4})
        copied()
        with tool("two", **other, **(LONG_MISSED if is_static else {})) as two:
            eventually(lambda: [stream_shares(each) for each in (one, two)] == [{0: 2}] * 2)
            copied()
            assert two.stop() == 0
        if is_static:
            before = rebalances(one)
            with tool("again", **other) as again:
                eventually(lambda: stream_shares(again) == {0: 2})
                copied()
                assert rebalances(one) == before
                assert again.stop() == 0
        eventually(lambda: stream_shares(one) == {0: 4})
        copies = copied()
        assert one.stop() == 0
    assert sorted(copies) == list(range(wanted))
