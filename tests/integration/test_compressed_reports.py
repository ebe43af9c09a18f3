"""What tasks report is compressed, since there may be thousands of partitions in it."""

from __future__ import annotations

import pytest

from mm2.kafka.wire.compression import codec_name
from tests.support.bundle import Bench
from tests.support.cluster import Cluster
from tests.support.eventually import eventually
from tests.support.raw import log_of
from tests.support.records import create_topic

pytestmark = pytest.mark.broker

_CODEC_BITS = 7


def test_reports_are_in_a_codec_that_each_broker_and_node_knows(
    cluster_a: Cluster, cluster_b: Cluster, topic_name: str, unique: str
) -> None:
    create_topic(cluster_a.bootstrap, topic_name)
    bench = Bench(cluster_a, cluster_b, unique, {topic_name: 1})
    with bench.running():
        eventually(bench.reports, until=lambda reports: any(each.partitions for each in reports))
    log = log_of(cluster_b.bootstrap, f"{unique}-progress")
    assert {codec_name(each.attributes & _CODEC_BITS) for each in log} == {"snappy"}
