"""``kafka-mirror-maker`` as a member of cooperative and KIP-848 groups, and as a static member."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cluster import Cluster
from tests.support.eventually import eventually
from tests.support.legacy_tool import SOON_MISSED, copies_when, legacy_tool, stream_shares
from tests.support.records import create_topic, numbered, produce

pytestmark = [pytest.mark.broker, pytest.mark.spark]


@pytest.mark.parametrize(
    "settings",
    [
        {
            **SOON_MISSED,
            "partition.assignment.strategy": "cooperative-sticky",
            "group.instance.id": "static",
        },
        {"group.protocol": "consumer"},
    ],
    ids=["cooperative", "KIP-848"],
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
    produce(cluster_a.bootstrap, topic, numbered(0, 100, 4))
    folders = [tmp_path / name for name in ("one", "two")]
    for folder in folders:
        folder.mkdir()
    of_two = (
        {**settings, "group.instance.id": "other"} if "group.instance.id" in settings else settings
    )
    include = ("--include", topic, "--offset.commit.interval.ms", "500")
    with legacy_tool(folders[0], cluster_a, cluster_b, group, *include, consumer=settings) as one:
        eventually(lambda: stream_shares(one) == {0: 4})
        copies_when(cluster_b, topic, 100)
        with legacy_tool(folders[1], cluster_a, cluster_b, group, *include, consumer=of_two) as two:
            eventually(lambda: [stream_shares(each) for each in (one, two)] == [{0: 2}] * 2)
            produce(cluster_a.bootstrap, topic, numbered(100, 100, 4))
            copies_when(cluster_b, topic, 200)
            assert two.stop() == 0
        eventually(lambda: stream_shares(one) == {0: 4})
        produce(cluster_a.bootstrap, topic, numbered(200, 100, 4))
        copies = copies_when(cluster_b, topic, 300)
        assert one.stop() == 0
    assert sorted(int(copy.value or b"") for copy in copies) == list(range(300))
