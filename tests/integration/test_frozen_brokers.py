"""One broker of three freezes for a minute: what the others have goes on, and nothing is lost."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from itertools import count
from pathlib import Path

import pytest
from click.testing import CliRunner

from mm2.cli.mm2 import main
from mm2.core.model import TopicName, TopicPartition
from mm2.core.translation.checkpoint_rules import CommittedOffset
from mm2.kafka.admin import Admin
from mm2.kafka.flow_clusters import check_reachable
from mm2.kafka.groups.offset_calls import OffsetAt
from tests.support.cluster import KafkaCluster, running
from tests.support.eventually import eventually
from tests.support.groups import group_offsets
from tests.support.mirror import Mirror, properties
from tests.support.records import commit_group, consume, create_topic, numbered, produce

pytestmark = [pytest.mark.broker, pytest.mark.thorough, pytest.mark.timeout(600)]

_PARTITIONS = 6
_FROZEN_S = 60
_WITHIN_S = 120.0
_STEP = 600
_AS_BY_DEFAULT = {
    "broker.session.timeout.ms": "9000",
    "broker.heartbeat.interval.ms": "2000",
    "min.insync.replicas": "2",
    "transaction.state.log.min.isr": "2",
}
_REPLICATED = {
    f"{name}.replication.factor": "3"
    for name in (
        *(f"{kind}.storage" for kind in ("config", "offset", "status")),
        *(f"{kind}.topic" for kind in ("checkpoints", "heartbeats", "offset-syncs")),
    )
}
_ONCE = {"enable.idempotence": "true", "request.timeout.ms": "5000"}
"""The test itself does not wait long for the broker that is frozen."""
_COMMITTED = {"isolation.level": "read_committed"}


@contextmanager
def _frozen(cluster: KafkaCluster, node: int) -> Iterator[None]:
    """At least for a minute."""
    ends = time.monotonic() + _FROZEN_S
    cluster.pause(node)
    try:
        yield
        time.sleep(max(0.0, ends - time.monotonic()))
    finally:
        cluster.resume(node)


async def test_questions_are_answered_while_one_broker_is_frozen(
    unique: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of others at once, and about groups once these have another coordinator."""
    monkeypatch.setattr("random.shuffle", lambda _: None)
    groups = [f"{unique}-{number}" for number in range(8)]
    with KafkaCluster("Q", brokers=3, heap="320m", properties=_AS_BY_DEFAULT) as cluster:
        create_topic(cluster.bootstrap, unique, _PARTITIONS, {"min.insync.replicas": "1"})
        for group in groups:
            commit_group(cluster.bootstrap, group, {(unique, 0): 1})
        admin, late = (Admin("Q", {"bootstrap.servers": cluster.bootstrap}) for _ in range(2))
        partitions = [TopicPartition(TopicName(unique), n) for n in range(_PARTITIONS)]
        assert len(await admin.known_offsets(partitions, OffsetAt.LATEST)) == _PARTITIONS
        cluster.pause(0)

        await check_reachable(late)
        known = await admin.known_offsets(partitions, OffsetAt.LATEST)
        assert 0 < len(known) < _PARTITIONS
        assert await admin.groups_of_other_types() == []
        found = await admin.list_offsets_of_groups(groups)
        assert found == {group: {partitions[0]: CommittedOffset(1)} for group in groups}
        for each in (admin, late):
            await each.close()


@pytest.mark.also_on_spark_cluster
@pytest.mark.parametrize("exactly_once", ["disabled", "enabled"])
@pytest.mark.parametrize("side", ["source", "target"])
def test_a_mirror_goes_on_without_a_frozen_broker_and_with_it_again(
    tmp_path: Path, unique: str, side: str, exactly_once: str
) -> None:
    """Records, groups, and what operators want: while it is frozen, and once it is not."""
    source = KafkaCluster("M", brokers=3, heap="320m", properties=_AS_BY_DEFAULT)
    target = KafkaCluster("N", brokers=3, heap="320m", properties=_AS_BY_DEFAULT)
    remote, group = f"M.{unique}", f"{unique}-group"
    steps = count(_STEP, _STEP)

    def commit(offset: int) -> bool:
        commit_group(source.bootstrap, group, {(unique, n): offset for n in range(_PARTITIONS)})
        return True

    def go_on() -> int:
        """Some more records arrive, and where a group stands among them."""
        total = next(steps)
        more = numbered(total - _STEP, _STEP, _PARTITIONS)
        produce(source.bootstrap, unique, more, settings=_ONCE)
        copied = consume(target.bootstrap, remote, total, timeout=_WITHIN_S, settings=_COMMITTED)
        last = {(remote, sample.partition): sample.offset for sample in copied}
        eventually(partial(commit, total // _PARTITIONS), timeout=_WITHIN_S)
        eventually(partial(has_read, last), timeout=_WITHIN_S)
        return total

    def has_read(last: Mapping[tuple[str, int], int]) -> bool:
        """The group stands behind the last records, or behind the marker of their transaction."""
        stands = group_offsets(target.bootstrap, group)
        most = 2 if exactly_once == "enabled" else 1
        return stands.keys() == last.keys() and all(
            1 <= stands[where] - offset <= most for where, offset in last.items()
        )

    with running(source, target):
        create_topic(source.bootstrap, unique, _PARTITIONS, replication_factor=3)
        settings = {
            "M->N.enabled": "true",
            "M->N.replication.factor": "3",
            "M->N.topics": unique,
            "N->M.emit.heartbeats.enabled": "false",
            "N.exactly.once.source.support": exactly_once,
            "sync.group.offsets.enabled": "true",
            "sync.group.offsets.interval.seconds": "1",
            **_REPLICATED,
        }
        clusters = {each.name: each.bootstrap for each in (source, target)}
        with Mirror(tmp_path, properties(clusters, settings)) as mirror:
            go_on()
            for node in range(3):
                with _frozen(source if side == "source" else target, node):
                    go_on()
                    _flows(mirror, "pause")
                    _flows(mirror, "resume")
                total = go_on()
            assert mirror.process.poll() is None
            copied = consume(target.bootstrap, remote, total, settings=_COMMITTED)
            assert mirror.stop() == 0
        for number in range(_PARTITIONS):
            mine = [int(s.value or b"") for s in copied if s.partition == number]
            assert mine == list(range(number, total, _PARTITIONS))


def _flows(mirror: Mirror, command: str) -> None:
    result = CliRunner().invoke(main, ["flows", command, str(mirror.file), "--flow", "M->N"])
    assert result.exit_code == 0, result.output
