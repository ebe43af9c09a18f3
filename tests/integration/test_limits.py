"""Rates that are kept: the flow's own limit, and quotas of the brokers."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from mm2.protocol.command_records import LiveSettings, RateDivision
from mm2.protocol.control_codec import encode_control
from mm2.protocol.progress_records import PaceProgress
from tests.support.bundle import Bench
from tests.support.cluster import Cluster
from tests.support.eventually import eventually
from tests.support.quotas import set_quota
from tests.support.raw import contents
from tests.support.records import Sample, consume, create_topic, produce
from tests.support.specs import data_settings

pytestmark = pytest.mark.broker

_MIB = 1 << 20
_LIMIT = _MIB


def _fill(cluster: Cluster, topic: str, mebibytes: int) -> None:
    """Incompressible enough: nothing is compressed at all."""
    samples = [Sample(value=bytes(64 << 10)) for _ in range(mebibytes * 16)]
    produce(cluster.bootstrap, topic, samples, settings={"batch.size": 64 << 10})


def _pace(bench: Bench) -> PaceProgress:
    reports = bench.reports()
    assert reports
    return reports[-1].pace


def test_a_limit_is_kept_and_changes_while_the_task_runs(
    cluster_a: Cluster, cluster_b: Cluster, topic_name: str, unique: str
) -> None:
    create_topic(cluster_a.bootstrap, topic_name)
    _fill(cluster_a, topic_name, 4)
    bench = Bench(
        cluster_a, cluster_b, unique, {topic_name: 1}, changes={"byte_rate_limit": _LIMIT}
    )
    started = time.monotonic()
    with bench.running():
        consume(cluster_b.bootstrap, bench.remote(topic_name), 64)
        # Only too fast would be wrong, so a slow machine cannot fail this: 4 MiB, and a burst of
        # half a second.
        assert time.monotonic() - started > 3
        eventually(lambda: _pace(bench), until=lambda pace: pace.byte_rate_limit == _LIMIT)
        half = RateDivision(epoch=bench.epoch, portions={0: 0.5})
        bench.tell(*encode_control(half))
        eventually(lambda: _pace(bench), until=lambda pace: pace.byte_rate_limit == _LIMIT / 2)
        bench.tell(*encode_control(replace(half, portions={0: 1.0})))
        settings = LiveSettings(epoch=bench.epoch, byte_rate_limit=_LIMIT // 64, flush_interval_s=1)
        bench.tell(*encode_control(settings))
        eventually(lambda: _pace(bench), until=lambda pace: pace.byte_rate_limit == _LIMIT // 64)
        _fill(cluster_a, topic_name, 16)
        # Would take 17 minutes.
        bench.tell(*encode_control(replace(settings, byte_rate_limit=-1)))
        consume(cluster_b.bootstrap, bench.remote(topic_name), 64 + 256)
        eventually(lambda: _pace(bench), until=lambda pace: pace.byte_rate_limit is None)
        bench.tell(*encode_control(replace(settings, byte_rate_limit=_LIMIT)))
        eventually(lambda: _pace(bench), until=lambda pace: pace.byte_rate_limit == _LIMIT)


@pytest.mark.parametrize("kind", ["consumer_byte_rate", "producer_byte_rate"])
def test_a_quota_by_client_id_is_honoured_and_no_request_fails_over_it(  # noqa: PLR0917 - fixtures
    kind: str,
    cluster_a: Cluster,
    cluster_b: Cluster,
    topic_name: str,
    unique: str,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """KIP-219: the broker answers at once, and leaves it to us to hold back."""
    create_topic(cluster_a.bootstrap, topic_name)
    _fill(cluster_a, topic_name, 12)
    is_source = kind.startswith("consumer")
    client_ids = (
        f"{unique}|A->B|MirrorSourceConnector-0|replication-consumer",
        f"{unique}|connector-producer-MirrorSourceConnector-0",
    )
    set_quota(cluster_a if is_source else cluster_b, client_ids[0 if is_source else 1], kind, _MIB)
    bench = Bench(
        cluster_a,
        cluster_b,
        unique,
        {topic_name: 1},
        data=data_settings(fetch_max_bytes=_MIB),
        client_ids=client_ids,
    )
    with bench.running():
        consume(cluster_b.bootstrap, bench.remote(topic_name), 12 * 16)
        pace = eventually(
            lambda: _pace(bench),
            until=lambda p: p.source_throttled_ms + p.target_throttled_ms > 0,
        )
    assert (pace.source_throttled_ms > 0, pace.target_throttled_ms > 0) == (
        is_source,
        not is_source,
    )
    assert contents(cluster_b.bootstrap, bench.remote(topic_name)) == contents(
        cluster_a.bootstrap, topic_name
    )
    output = capfd.readouterr()
    assert "kafka.throttled" in output.out + output.err
    assert "failed" not in output.out + output.err
