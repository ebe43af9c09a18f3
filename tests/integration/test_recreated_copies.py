"""A copy that is deleted and made anew: nobody believes what was known of the former one."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from flows.checkpoint.translation_followers import SyncFollower
from mm2.cli.mm2 import main
from mm2.core.internal_records import Checkpoint
from mm2.core.model import TopicName, TopicPartition
from mm2.core.translation.offset_sync_store import OffsetSyncStore
from mm2.core.translation.runs import Run
from tests.support.checkpointing import make_pair, text_bytes
from tests.support.cluster import Cluster
from tests.support.eventually import eventually_async
from tests.support.records import Sample, create_topic, produce
from tests.support.topics import recreate_topic

pytestmark = pytest.mark.broker


async def test_when_a_copy_is_made_anew_translations_and_checkpoints_forget_the_former(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path
) -> None:
    """A group that went on where the former copy had its place would skip records of the new."""
    pair = make_pair(cluster_a, cluster_b, unique, tmp_path, {})
    group, file = f"g-{unique[-8:]}", tmp_path / "mm2.properties"
    words = ("translate", str(file), "--topic", f"{pair.topic}:0", "--offset", "10")

    def translated() -> list[tuple[int | None, str]]:
        result = CliRunner().invoke(main, [*words, "--format", "json"])
        rows = json.loads(result.stdout)
        return [(row["translated"], row["accuracy"]) for row in rows]

    async with pair.with_topics():
        pair.exact_runs(0, 20, Run(0, 5, 20), logs=await pair.logs())
        pair.sync((0, 0, 5))
        pair.commit(group, {0: 10})
    assert await asyncio.to_thread(translated) == [(15, "exact")]
    async with pair.running():
        assert await pair.emitted(1) == [(group, 0, 10, 15)]
        await asyncio.to_thread(recreate_topic, cluster_b, pair.remote, 2)
        assert (await pair.emitted(2))[1:] == [(group, 0, 0, 0)]
        again = (await asyncio.to_thread(pair.raw))[1]
        assert Checkpoint.decode(again.key, again.value, again.headers).logs == await pair.logs()
        assert await asyncio.to_thread(translated) == [(None, "unknown")]
        pair.exact_runs(0, 20, Run(0, 0, 20), logs=await pair.logs())
        pair.sync((0, 0, 0))
        last = await eventually_async(
            lambda: asyncio.to_thread(pair.raw),
            until=lambda found: ("mm2.exact", b"1") in found[-1].headers,
        )
        assert (await pair.emitted(len(last)))[-1] == (group, 0, 10, 10)
    assert await asyncio.to_thread(translated) == [(10, "exact")]


async def test_a_copy_that_was_made_anew_while_no_checkpoints_were_made_is_noticed(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path
) -> None:
    """Tasks went on and told of the new copy only; the checkpoint says of which one it is."""
    pair = make_pair(cluster_a, cluster_b, unique, tmp_path, {})
    group = f"g-{unique[-8:]}"
    async with pair.with_topics():
        pair.exact_runs(0, 20, Run(0, 5, 20), logs=await pair.logs())
        pair.sync((0, 0, 5))
        pair.commit(group, {0: 10})
    async with pair.running():
        assert await pair.emitted(1) == [(group, 0, 10, 15)]
    await asyncio.to_thread(recreate_topic, cluster_b, pair.remote, 2)
    pair.exact_runs(0, 3, Run(0, 0, 3), logs=await pair.logs())
    pair.sync((0, 0, 0))
    async with pair.running():
        # At once where the new copy ends, or for a moment at its start.
        assert (await pair.emitted(2))[1] in [(group, 0, 10, 3), (group, 0, 0, 0)]


async def test_offset_syncs_are_read_as_far_as_they_were_and_then_as_they_come(
    cluster_a: Cluster, unique: str
) -> None:
    """C237: of partition 0 only, of a topic that may appear a little later."""
    one, other = (TopicPartition(TopicName(f"{unique}-t"), number) for number in (0, 1))
    store = OffsetSyncStore(must_read_to_end=False)
    properties = {"bootstrap.servers": cluster_a.bootstrap}
    following = asyncio.create_task(SyncFollower("A", properties, unique, store).run())

    def write(where: TopicPartition, at: int, partition: int = 0) -> None:
        key = text_bytes(where.topic) + where.partition.to_bytes(4, "big")
        value = at.to_bytes(8, "big") * 2
        produce(cluster_a.bootstrap, unique, [Sample(key=key, value=value, partition=partition)])

    async def until(at: int, expected: int) -> None:
        await eventually_async(
            lambda: asyncio.sleep(0, store.translate(one, at)),
            until=lambda found: found == expected,
        )

    assert store.translate(one, 7) is None, "not before the backlog is read"
    await asyncio.to_thread(create_topic, cluster_a.bootstrap, unique, 2)
    await asyncio.to_thread(write, other, 7, 1)
    await asyncio.to_thread(write, one, 7)
    await until(7, 7)
    await asyncio.to_thread(write, one, 9)
    await until(9, 9)
    assert store.translate(other, 7) is None
    following.cancel()
