"""
Records that Connect's transforms change, between real clusters, on the way that tasks go.
"""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from mm2.config.connector_settings import TransformSettings
from mm2.core.internal_records import Heartbeat
from mm2.core.model import ClusterAlias
from mm2.core.topics.own_topics import OwnTopics
from tests.support.bundle import Bench
from tests.support.cluster import Cluster
from tests.support.eventually import eventually
from tests.support.raw import contents
from tests.support.records import Sample, committed, create_topic, produce
from tests.support.specs import error_settings

pytestmark = pytest.mark.broker

_CHAIN = {
    "transforms": "drop,mask,key,take",
    "transforms.drop.type": "Filter",
    "transforms.drop.predicate": "isTombstone",
    "transforms.mask.type": "org.apache.kafka.connect.transforms.MaskField$Value",
    "transforms.mask.fields": "iban",
    "transforms.mask.replacement": "***",
    "transforms.key.type": "org.apache.kafka.connect.transforms.ValueToKey",
    "transforms.key.fields": "id",
    "transforms.take.type": "org.apache.kafka.connect.transforms.ExtractField$Key",
    "transforms.take.field": "id",
    "predicates": "isTombstone",
    "predicates.isTombstone.type": "RecordIsTombstone",
}


def _bench(
    source: Cluster,
    target: Cluster,
    unique: str,
    connect: Mapping[str, str],
    *,
    exactly_once: bool = False,
    **spec: object,
) -> Bench:
    create_topic(source.bootstrap, f"{unique}-t")
    changes = {"transforms": TransformSettings(connect=connect), **spec}
    topics = {f"{unique}-t": 1}
    return Bench(source, target, unique, topics, changes=changes, exactly_once=exactly_once)


def _topic(bench: Bench) -> str:
    (topic,) = bench.topics
    return topic


def _payments(count: int) -> list[Sample]:
    return [
        Sample(
            key=b"old",
            value=None if n % 4 == 3 else b'{"id": %d, "iban": "DE%d", "n": 1.50}' % (n, n),
            headers=(("h", b"\xff"),),
            timestamp_ms=1_700_000_000_000 + n,
        )
        for n in range(count)
    ]


def _masked(count: int) -> list[Sample]:
    return [
        Sample(
            key=b"%d" % n,
            value=b'{"id":%d,"iban":"***","n":1.5}' % n,
            headers=(("h", b"\xff"),),
            timestamp_ms=1_700_000_000_000 + n,
        )
        for n in range(count)
        if n % 4 != 3
    ]


def _contents(found: list[Sample]) -> list[tuple[object, ...]]:
    return [(each.key, each.value, each.headers, each.timestamp_ms) for each in found]


def _has_position(bench: Bench) -> bool:
    return bool(committed(bench.target.bootstrap, f"{bench.unique}-offsets"))


@pytest.mark.parametrize("exactly_once", [False, True])
def test_copies_are_masked_keyed_and_left_out_and_a_kill_repeats_none(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, *, exactly_once: bool
) -> None:
    bench = _bench(cluster_a, cluster_b, unique, _CHAIN, exactly_once=exactly_once)
    topic, remote = _topic(bench), bench.remote(_topic(bench))
    samples, expected = _payments(80), _contents(_masked(80))
    with bench.detached():
        produce(cluster_a.bootstrap, topic, samples[:40], codec="lz4")
        eventually(
            lambda: len(committed(cluster_b.bootstrap, remote)), until=lambda found: found >= 30
        )
        # What is there beyond a position is recognised; without any, all is copied again.
        eventually(lambda: _has_position(bench))
    with bench.running():
        produce(cluster_a.bootstrap, topic, samples[40:], codec="gzip")
        eventually(
            lambda: len(committed(cluster_b.bootstrap, remote)), until=lambda found: found >= 60
        )
        eventually(lambda: bench.progress()[topic, 0].lag == 0)
    assert _contents(committed(cluster_b.bootstrap, remote)) == expected


def test_what_is_no_json_is_a_dead_letter_and_names_the_transform(
    cluster_a: Cluster, cluster_b: Cluster, unique: str
) -> None:
    letters = f"{unique}-letters"
    create_topic(cluster_b.bootstrap, letters)
    errors = error_settings(tolerates=True, dead_letter_topic=letters, context_headers=True)
    bench = _bench(cluster_a, cluster_b, unique, _CHAIN, errors=errors)
    samples = [*_payments(3), Sample(value=b"\xffbytes"), *_payments(2), Sample(value=b"[1]")]
    produce(cluster_a.bootstrap, _topic(bench), samples)
    with bench.running():
        eventually(lambda: bench.progress()[_topic(bench), 0].position == 6)
    found = committed(cluster_b.bootstrap, bench.remote(_topic(bench)))
    assert [each.key for each in found] == [b"0", b"1", b"2", b"0", b"1"]
    refused = committed(cluster_b.bootstrap, letters)
    assert [each.value for each in refused] == [b"\xffbytes", b"[1]"]
    headers = [dict(each.headers) for each in refused]
    assert {each["__connect.errors.stage"] for each in headers} == {b"TRANSFORMATION"}
    reasons = [each["__connect.errors.exception.message"] or b"" for each in headers]
    assert all(b"transform mask" in reason for reason in reasons)


def test_topics_that_every_predicate_excludes_are_copied_as_bytes(
    cluster_a: Cluster, cluster_b: Cluster, unique: str
) -> None:
    excluded = {
        "transforms": "drop",
        "transforms.drop.type": "Filter",
        "transforms.drop.predicate": "other",
        "predicates": "other",
        "predicates.other.type": "TopicNameMatches",
        "predicates.other.pattern": "other.*",
    }
    bench = _bench(cluster_a, cluster_b, unique, excluded)
    produce(cluster_a.bootstrap, _topic(bench), _payments(5), codec="lz4")
    remote = bench.remote(_topic(bench))
    with bench.running():
        eventually(lambda: bench.progress()[_topic(bench), 0].position == 4)
    assert contents(cluster_b.bootstrap, remote) == contents(cluster_a.bootstrap, _topic(bench))


def test_of_a_topic_that_is_called_like_heartbeats_all_but_these_is_masked(
    cluster_a: Cluster, cluster_b: Cluster, unique: str
) -> None:
    topic = f"{unique}-heartbeats"
    create_topic(cluster_a.bootstrap, topic)
    mask = {
        "transforms": "mask",
        "transforms.mask.type": "MaskField$Value",
        "transforms.mask.fields": "iban",
    }
    changes = {"transforms": TransformSettings(connect=mask)}
    bench = Bench(cluster_a, cluster_b, unique, {topic: 1}, changes=changes)
    beat = Heartbeat(ClusterAlias("C"), ClusterAlias("A"), 5)
    samples = [Sample(key=beat.key(), value=beat.value()), Sample(value=b'{"iban":"DE12"}')]
    produce(cluster_a.bootstrap, topic, samples)
    with bench.running():
        eventually(lambda: bench.progress()[topic, 0].position == 1)
    found = committed(cluster_b.bootstrap, bench.remote(topic))
    assert [each.value for each in found] == [beat.value(), b'{"iban":""}']


def _route(replacement: str) -> dict[str, str]:
    return {
        "transforms": "route",
        "transforms.route.type": "RegexRouter",
        "transforms.route.regex": r"A\.(.*)-t",
        "transforms.route.replacement": replacement,
    }


def test_what_a_router_sends_to_a_control_topic_is_a_dead_letter(
    cluster_a: Cluster, cluster_b: Cluster, unique: str
) -> None:
    """As columns, and record by record."""
    control, letters = f"mm2-control.{unique}.internal", f"{unique}-letters"
    for name in (control, letters):
        create_topic(cluster_b.bootstrap, name)
    route = _route("mm2-control.$1.internal")
    errors = error_settings(tolerates=True, dead_letter_topic=letters, context_headers=True)
    bench = _bench(cluster_a, cluster_b, unique, route, errors=errors)
    produce(cluster_a.bootstrap, _topic(bench), _payments(100))
    with bench.running():
        eventually(lambda: bench.progress()[_topic(bench), 0].position == 99)
    assert contents(cluster_b.bootstrap, control) == []
    refused = committed(cluster_b.bootstrap, letters)
    assert len(refused) == 100
    reason = dict(refused[0].headers)["__connect.errors.exception.message"] or b""
    assert f"{control} is internal".encode() in reason


def test_heartbeats_may_be_routed_to_heartbeats_and_nothing_else_may(
    cluster_a: Cluster, cluster_b: Cluster, unique: str
) -> None:
    beats, letters = f"{unique}-beats", f"{unique}-letters"
    create_topic(cluster_b.bootstrap, letters)
    route = _route("$1-beats")
    errors = error_settings(tolerates=True, dead_letter_topic=letters)
    own = OwnTopics(heartbeats=beats)
    bench = _bench(cluster_a, cluster_b, unique, route, errors=errors, own_topics=own)
    beat = Heartbeat(ClusterAlias("C"), ClusterAlias("A"), 5)
    sample = Sample(key=beat.key(), value=beat.value())
    produce(cluster_a.bootstrap, _topic(bench), [*[sample] * 80, *_payments(1)])
    with bench.running():
        eventually(lambda: bench.progress()[_topic(bench), 0].position == 80)
    assert [each.value for each in committed(cluster_b.bootstrap, beats)] == [beat.value()] * 80
    assert len(committed(cluster_b.bootstrap, letters)) == 1
