"""
Random logs, written by real producers and cleaned by real cleaners, through the source task: a
consumer of the copy sees what a consumer of the source sees, or what transforms make of that.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from random import Random
from typing import Final
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from flows.source.transform.column_handle import compile_columns
from flows.source.transform.handler_batches import compile_handler_batches
from mm2.client.load_translation import read_translation
from mm2.config.connector_settings import TransformSettings
from mm2.core.translation.offset_translation import OffsetTranslation
from mm2.kafka.wire.compression import CODEC_NAMES
from mm2.protocol.bundle_spec import OffsetSyncSpec
from tests.support.bundle import Bench
from tests.support.cluster import Cluster
from tests.support.eventually import eventually
from tests.support.random_logs import (
    KINDS,
    Author,
    author_of_changed_logs,
    check_translation,
    clean,
)
from tests.support.records import Sample, create_topic, ends, everything
from tests.support.specs import data_settings
from tests.support.topics import delete_before

pytestmark = pytest.mark.broker


def _check(source: Cluster, target: Cluster, seed: int, *, read_committed: bool) -> None:
    random = Random(seed)
    unique = f"random-{uuid4().hex[:8]}"
    kinds = [*KINDS, *random.choices(KINDS, k=2)]
    topics = {f"{unique}-{n}": "cleanup.policy" in kind for n, kind in enumerate(kinds)}
    for topic, kind in zip(topics, kinds, strict=True):
        create_topic(source.bootstrap, topic, configs=kind)
    author = Author(source, random, topics)
    author.write(120)
    author.end_all()
    clean(source, author)
    data = data_settings(
        fetch_wait_ms=50,
        fetch_partition_bytes=random.choice((300, 5_000, 1 << 20)),
        read_committed=read_committed,
        codec=random.choice((None, None, random.choice(CODEC_NAMES))),
    )
    bench = Bench(source, target, unique, dict.fromkeys(topics, 1), data)
    with bench.running():
        author.write(30)
    author.write(20)
    author.end_all()
    isolation = {"isolation.level": "read_committed" if read_committed else "read_uncommitted"}
    expected = {topic: everything(source.bootstrap, topic, settings=isolation) for topic in topics}
    remotes = [bench.remote(topic) for topic in topics]
    with bench.running():
        eventually(
            lambda: ends(target.bootstrap, remotes),
            until=lambda found: found >= [len(records) for records in expected.values()],
        )
    for topic, records in expected.items():
        found = everything(target.bootstrap, bench.remote(topic))
        assert [record.content for record in found] == [record.content for record in records]
        assert [record.offset for record in found] == list(range(len(found)))


@pytest.mark.parametrize("read_committed", [True, False])
def test_random_logs_look_the_same_on_both_sides(
    *, cluster_a: Cluster, cluster_b: Cluster, read_committed: bool
) -> None:
    _check(cluster_a, cluster_b, 4 + read_committed, read_committed=read_committed)


@pytest.mark.thorough
@pytest.mark.timeout(1_200)
@settings(
    max_examples=20,
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(seed=st.integers(0, 1 << 32), read_committed=st.booleans())
def test_any_random_logs_look_the_same_on_both_sides(
    *, cluster_a: Cluster, cluster_b: Cluster, seed: int, read_committed: bool
) -> None:
    _check(cluster_a, cluster_b, seed, read_committed=read_committed)


_COMMITTED: Final = {"isolation.level": "read_committed"}
_BY_TIME: Final[Mapping[str, TransformSettings]] = {
    "function": TransformSettings(function="tests.support.arrow_functions:by_time"),
    "handler": TransformSettings(handler="tests.support.user_handlers:by_time"),
}


def _changing(source: Cluster, target: Cluster, topics: Sequence[str], kind: str) -> Bench:
    """A flow that publishes its runs, and whose records become none, one or two."""
    unique = topics[0]
    spec = OffsetSyncSpec(
        cluster="target",
        properties={"bootstrap.servers": target.bootstrap},
        topic=f"{unique}-syncs",
        lag_max=100,
        runs_topic=f"{unique}-runs",
    )
    for topic in (spec.topic, f"{unique}-runs"):
        create_topic(target.bootstrap, topic, configs={"cleanup.policy": "compact"})
    return Bench(
        source,
        target,
        unique,
        dict.fromkeys(topics, 1),
        data_settings(fetch_wait_ms=50, fetch_partition_bytes=5_000, read_committed=True),
        changes={"transforms": _BY_TIME[kind], "offset_syncs": spec},
        exactly_once=True,
    )


def _translation(bench: Bench) -> OffsetTranslation:
    syncs, runs = f"{bench.unique}-syncs", f"{bench.unique}-runs"
    properties = {"bootstrap.servers": bench.target.bootstrap}
    return asyncio.run(read_translation("target", properties, syncs_topic=syncs, runs_topic=runs))


def _copies(sample: Sample) -> int:
    """How many copies ``by_time`` makes."""
    return (sample.timestamp_ms or 0) % 3


def _await_end(bench: Bench) -> None:
    """Waits until all is copied."""
    topics = list(bench.topics)
    wanted = dict(zip(topics, ends(bench.source.bootstrap, topics), strict=True))

    def reached() -> dict[str, int]:
        return {topic: at.position + 1 for (topic, _), at in bench.progress().items()}

    eventually(reached, until=wanted.__eq__)


@pytest.mark.parametrize("kind", ["function", pytest.param("handler", marks=pytest.mark.thorough)])
def test_what_transforms_make_of_random_logs_comes_once_over_kills_and_translation_skips_nothing(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, kind: str
) -> None:
    """One topic begins far from 0, and loses records that are not copied yet."""
    compile_columns()
    compile_handler_batches()
    author = author_of_changed_logs(cluster_a, Random(kind), unique, 120)
    topics, late = author.topics, next(iter(author.topics))
    bench = _changing(cluster_a, cluster_b, list(topics), kind)
    remotes = list(map(bench.remote, topics))
    with bench.running():
        _await_end(bench)
    for _ in range(2):
        aim = sum(ends(cluster_b.bootstrap, remotes)) + 20
        with bench.detached(columns=True):
            author.write(40)
            eventually(lambda: sum(ends(cluster_b.bootstrap, remotes)), until=aim.__le__)
    author.write(30)
    author.end_all()
    author.write_last(_copies)
    wanted = {
        topic: everything(cluster_a.bootstrap, topic, settings=_COMMITTED) for topic in topics
    }
    (end,) = ends(cluster_a.bootstrap, [late])
    delete_before(cluster_a, late, end - 10)
    with bench.running():
        _await_end(bench)
        gaps = [(gap.first, gap.end) for gap in bench.progress()[late, 0].gaps]
    assert [behind for _, behind in gaps] == [end - 10]
    translation = _translation(bench)
    for topic, records in wanted.items():
        lost = [each for each in gaps if topic == late]
        left = [r for r in records if not any(first <= r.offset < end for first, end in lost)]
        made = [each for each in left for _ in range(_copies(each))]
        found = everything(cluster_b.bootstrap, bench.remote(topic), settings=_COMMITTED)
        assert [each.content for each in found] == [each.content for each in made]
        check_translation(translation, topic, made, found)
