"""
Exactly once: what readers of committed records see of a mirror, whatever happens to it.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from concurrent.futures import Future
from functools import partial

import pytest
from confluent_kafka import KafkaException, Producer

from mm2.config.flow_config import flow_config
from mm2.config.mirror_maker_config import MirrorMakerConfig
from mm2.core.connect.offset_records import decode_key, decode_offset
from mm2.core.model import ClusterAlias, SourceAndTarget
from mm2.errors import Fenced
from mm2.herder.bundles.task_fencing import fence_earlier_tasks
from mm2.protocol.bundle_spec import ExactlyOnceSpec
from tests.support.bundle import Bench
from tests.support.cluster import Cluster, KafkaCluster
from tests.support.eventually import PATIENCE_S, eventually
from tests.support.groups import group_offsets
from tests.support.interrupted import Interruption, Stopped
from tests.support.raw import log_of, records_in
from tests.support.records import DEADLINE_S, Sample, committed, create_topic, produce

pytestmark = pytest.mark.broker

_PARTITIONS = 2
_NEVER = 1 << 30


def _bench(source: Cluster, target: Cluster, unique: str, *, exactly_once: bool = True) -> Bench:
    create_topic(source.bootstrap, f"{unique}-t", _PARTITIONS)
    return Bench(source, target, unique, {f"{unique}-t": _PARTITIONS}, exactly_once=exactly_once)


def _write(bench: Bench, first: int, count: int) -> int:
    """Writes numbered records; returns how many there are then."""
    (topic,) = bench.topics
    samples = [
        Sample(value=b"%d" % n, partition=n % _PARTITIONS) for n in range(first, first + count)
    ]
    produce(bench.source.bootstrap, topic, samples)
    return first + count


def _copied(bench: Bench) -> list[int]:
    """What readers of committed records see, by partition."""
    (topic,) = bench.topics
    found = committed(bench.target.bootstrap, bench.remote(topic))
    return [int(sample.value or b"") for sample in found]


def _wait(bench: Bench, total: int) -> None:
    eventually(partial(_copied, bench), until=lambda found: len(found) >= total)


def _in_order(total: int) -> list[int]:
    return [n for number in range(_PARTITIONS) for n in range(number, total, _PARTITIONS)]


def _everything(bench: Bench) -> list[int]:
    """What readers see who do not care whether it is committed."""
    (topic,) = bench.topics
    return [
        int(record.value or b"")
        for number in range(_PARTITIONS)
        for record in records_in(
            log_of(bench.target.bootstrap, bench.remote(topic), partition=number)
        )
    ]


def _group_offsets(bench: Bench) -> dict[int, int]:
    """As the coordinator has them."""
    offsets = group_offsets(bench.target.bootstrap, bench.group)
    (topic,) = bench.topics
    assert {each for each, _ in offsets} == {bench.remote(topic)}
    return {partition: offset for (_, partition), offset in offsets.items()}


def _record_offsets(bench: Bench) -> dict[int, int]:
    """As Connect would read them."""
    found = {}
    for sample in committed(bench.target.bootstrap, f"{bench.unique}-offsets"):
        _, where = decode_key(sample.key or b"")
        found[int(where.fields()["partition"])] = decode_offset(sample.value) or 0
    return found


def test_each_record_comes_once_over_restarts_and_positions_stand_in_both_places(
    cluster_a: Cluster, cluster_b: Cluster, unique: str
) -> None:
    bench, total = _bench(cluster_a, cluster_b, unique), 0
    for _ in range(2):
        total = _write(bench, total, 31)
        with bench.running():
            _wait(bench, total)
    assert _copied(bench) == _in_order(total)
    # Brokers write the markers of a transaction one by one after the answer to its end.
    eventually(partial(_group_offsets, bench), until={0: 31, 1: 31}.__eq__)
    eventually(partial(_record_offsets, bench), until={0: 30, 1: 30}.__eq__)


def test_between_at_least_and_exactly_once_the_position_is_kept(
    cluster_a: Cluster, cluster_b: Cluster, unique: str
) -> None:
    bench, total = _bench(cluster_a, cluster_b, unique, exactly_once=False), 0
    for mode in (False, True, False, True):
        bench.exactly_once = mode
        total = _write(bench, total, 10)
        with bench.running():
            _wait(bench, total)
    assert _copied(bench) == _in_order(total)
    eventually(partial(_group_offsets, bench), until={0: total // 2, 1: total // 2}.__eq__)


@pytest.mark.parametrize("exactly_once", [True, False])
def test_a_task_killed_after_any_of_its_steps_is_made_up_for(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, *, exactly_once: bool
) -> None:
    bench, total = _bench(cluster_a, cluster_b, unique, exactly_once=exactly_once), 0
    taken: set[str] = set()
    for step in range(1, 30):
        total = _write(bench, total, 4)
        interruption = Interruption(step)
        bench.connect = interruption.connect
        with bench.running(fails=True) as run:
            eventually(
                lambda: run.done() or set(_copied(bench)) == set(range(total))  # noqa: B023
            )
        taken |= {each.split()[0] for each in interruption.steps}
        if not interruption.is_over:
            break
        assert isinstance(run.exception(), Stopped)
    copied = _copied(bench)
    if exactly_once:
        assert copied == _in_order(total)
        assert len(_everything(bench)) > total, "nothing was ever aborted"
        assert taken == {
            "DescribeConfigsRequest",
            "InitProducerIdRequest",
            "AddPartitionsToTxnRequest",
            "AddOffsetsToTxnRequest",
            "produce",
            "TxnOffsetCommitRequest",
            "EndTxnRequest",
        }
    else:
        assert list(dict.fromkeys(copied)) == _in_order(total)
        assert taken == {"DescribeConfigsRequest", "InitProducerIdRequest", "produce"}


def test_a_task_that_was_replaced_is_fenced_and_leaves_nothing_behind(
    cluster_a: Cluster, cluster_b: Cluster, unique: str
) -> None:
    bench, total = _bench(cluster_a, cluster_b, unique), 0

    def flows(first: Future[Mapping[str, int]]) -> bool:
        nonlocal total
        total = _write(bench, total, 2)
        return first.done()

    with bench.running(epoch=1, fails=True) as first:
        total = _write(bench, total, 10)
        _wait(bench, total)
        with bench.running(epoch=1):
            eventually(partial(flows, first))
            _wait(bench, total)
    assert isinstance(first.exception(), Fenced)
    assert _copied(bench) == _in_order(total)


def test_a_broker_that_dies_in_mid_transaction_costs_nothing(
    cluster_a: Cluster, unique: str
) -> None:
    due, is_down = ["produce", "EndTxnRequest"], threading.Event()
    with KafkaCluster("B") as target:

        def kill(step: str) -> None:
            if due and step.startswith(due[0]) and not is_down.is_set():
                del due[0]
                target.kill()
                is_down.set()

        bench, total = _bench(cluster_a, target, unique), 0
        # A busy machine may take a minute to start a broker; the transaction is to outlive that.
        patient = ExactlyOnceSpec(group=bench.group, timeout_ms=600_000)
        bench.changes = {**bench.changes, "exactly_once": patient}
        bench.connect = Interruption(_NEVER, kill).connect
        with bench.running():
            for _ in tuple(due):
                total = _write(bench, total, 100)
                assert is_down.wait(PATIENCE_S)
                total = _write(bench, total, 100)
                target.restart()
                is_down.clear()
            _wait(bench, total)
        assert _copied(bench) == _in_order(total)


async def test_a_new_leader_ends_what_more_tasks_than_it_has_left_open(
    cluster_b: Cluster, unique: str
) -> None:
    """As when ``tasks.max`` goes from 4 to 2 after a crash."""
    create_topic(cluster_b.bootstrap, f"{unique}-r")
    raw = {
        "clusters": "A, B",
        "A.bootstrap.servers": "nowhere:1",
        "B.bootstrap.servers": cluster_b.bootstrap,
        "B.group.id": unique,
        "B.exactly.once.source.support": "enabled",
        "A->B.tasks.max": "2",
    }
    maker = MirrorMakerConfig(raw=raw, lines=dict.fromkeys(raw, 1), environment={})
    config = flow_config(maker, SourceAndTarget(ClusterAlias("A"), ClusterAlias("B")))
    fourth = Producer(
        {
            "bootstrap.servers": cluster_b.bootstrap,
            "transactional.id": f"{unique}-MirrorSourceConnector-3",
        }
    )
    fourth.init_transactions(DEADLINE_S)
    fourth.begin_transaction()
    fourth.produce(f"{unique}-r", b"half")
    assert fourth.flush(DEADLINE_S) == 0
    await fence_earlier_tasks(config, earlier=4)
    with pytest.raises(KafkaException):
        fourth.commit_transaction(DEADLINE_S)
    produce(cluster_b.bootstrap, f"{unique}-r", [Sample(value=b"after")])
    assert [s.value for s in committed(cluster_b.bootstrap, f"{unique}-r")] == [b"after"]
