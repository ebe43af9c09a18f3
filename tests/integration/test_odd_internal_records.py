"""Records that others may write to the topics of a mirror, and that mean nothing."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Final

import pytest
from click.testing import CliRunner

from flows.source.forward.recode import encode
from flows.source.forward.record_body import DecodedRecord, keyed_body
from mm2.cli.mm2 import main
from mm2.core.model import TopicName, TopicPartition
from mm2.errors import ClusterError
from mm2.kafka.logs.first_records import first_records
from mm2.kafka.logs.read_log import read_to_end
from mm2.kafka.wire.compression import GZIP, Compression
from tests.support.batches import with_checksum
from tests.support.cluster import Cluster, KafkaCluster
from tests.support.eventually import eventually
from tests.support.mirror import Mirror, properties
from tests.support.raw import write
from tests.support.records import Sample, consume, create_topic, produce
from tests.support.topics import partition_counts

pytestmark = [pytest.mark.broker, pytest.mark.spark]

_HEADERS: Final = [(b"\xff\xfe", b"\xff")]
_KEYED: Final = (
    keyed_body(b"\xff\xfe", None),
    keyed_body(b"\xff", b"\xff", _HEADERS),
    keyed_body(b"", b"", _HEADERS),
    keyed_body(b"odd", b"null"),
    keyed_body(b"odd", b"[]", _HEADERS),
    keyed_body(b'["MirrorSourceConnector",{}]', b"{}", _HEADERS),
    keyed_body(b"bundle-0-odd", b"\x00\x01", _HEADERS),
)
_LARGE: Final = keyed_body(b"odd", bytes(65 << 20))
_KEYLESS: Final = (keyed_body(None, None, _HEADERS), keyed_body(None, b"odd"))


def _odd(*bodies: bytes) -> bytes:
    records = [DecodedRecord(n, 1_700_000_000_000 + n, body) for n, body in enumerate(bodies)]
    return with_checksum(encode(records, Compression(GZIP)).data)


@pytest.mark.also_on_spark_cluster
def test_a_mirror_goes_on_whatever_stands_in_its_topics(
    cluster_a: Cluster, unique: str, tmp_path: Path
) -> None:
    # A target of its own: heartbeats are read by other tests, too.
    with KafkaCluster("odd") as target:
        _goes_on(cluster_a, target, unique, tmp_path)


def _goes_on(cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path) -> None:
    source, target = f"S-{unique[-4:]}", f"T-{unique[-4:]}"
    create_topic(cluster_a.bootstrap, unique)
    text = properties(
        {source: cluster_a.bootstrap, target: cluster_b.bootstrap},
        {
            f"{source}->{target}.enabled": "true",
            f"{target}->{source}.emit.heartbeats.enabled": "false",
            "topics": unique,
            "groups": f"{unique}.*",
            "emit.heartbeats.enabled": "true",
            "sync.group.offsets.enabled": "true",
        },
    )
    on_target = {
        "heartbeats",
        f"{source}.checkpoints.internal",
        *(
            f"mm2-{kind}.{source}.internal"
            for kind in ("configs", "offsets", "status", "control", "progress")
        ),
    }
    on_source = {f"mm2-offset-{kind}.{target}.internal" for kind in ("syncs", "runs")}
    copied = f"{source}.{unique}"

    def check(number: int) -> None:
        produce(cluster_a.bootstrap, unique, [Sample(value=b"%d" % number)])
        assert len(consume(cluster_b.bootstrap, copied, number + 1)) == number + 1

    with Mirror(tmp_path, text) as mirror:
        check(0)
        eventually(lambda: on_target <= partition_counts(cluster_b).keys())
        eventually(lambda: on_source <= partition_counts(cluster_a).keys())
        for bootstrap, topics in (
            (cluster_a.bootstrap, on_source),
            (cluster_b.bootstrap, on_target),
        ):
            for topic in topics:
                write(bootstrap, topic, _odd(*_KEYED), _odd(_LARGE))
        write(cluster_b.bootstrap, f"mm2-progress.{source}.internal", _odd(*_KEYLESS))
        check(1)
        assert mirror.stop() == 0
        mirror.wait_gone()
    # Whoever starts reads all of it from the beginning.
    with Mirror(tmp_path, text) as mirror:
        check(2)
        eventually(
            lambda: CliRunner().invoke(main, ["status", str(mirror.file)]),
            until=lambda result: result.exit_code == 0,
        )
        assert mirror.stop() == 0
    for failure in ("part.failed", "bundle.failed", "Traceback"):
        assert failure not in mirror.text()
    assert "kafka.batch_ignored" in mirror.text()
    assert len(consume(cluster_b.bootstrap, copied, 3)) == 3


async def test_odd_records_are_looked_at_as_others_are(cluster_b: Cluster, unique: str) -> None:
    """As failover does, which only wants to know where records are."""
    create_topic(cluster_b.bootstrap, unique)
    await asyncio.to_thread(write, cluster_b.bootstrap, unique, _odd(*_KEYED, *_KEYLESS))
    where, client = TopicPartition(TopicName(unique), 0), {"bootstrap.servers": cluster_b.bootstrap}
    found = await first_records("B", client, {where: (1, 5)}, read_committed=True)
    assert (record := found[where]) is not None
    assert record.offset == 1
    read = await read_to_end("B", client, unique)
    assert [record.offset for record in read] == list(range(len(_KEYED) + len(_KEYLESS)))


async def test_a_batch_that_is_too_large_is_passed_over_where_all_of_a_topic_is_read(
    cluster_b: Cluster, unique: str
) -> None:
    """Whoever asks where records are is not told that there are none."""
    create_topic(cluster_b.bootstrap, unique)
    good, bad = _odd(keyed_body(b"k", b"v")), _odd(_LARGE)
    await asyncio.to_thread(write, cluster_b.bootstrap, unique, good, bad, bad, good, bad)
    client = {"bootstrap.servers": cluster_b.bootstrap}
    read = await read_to_end("B", client, unique)
    assert [record.offset for record in read] == [0, 3]
    where = TopicPartition(TopicName(unique), 0)
    with pytest.raises(ClusterError, match=f"{unique}-0 cannot be read at offset 1"):
        await first_records("B", client, {where: (1, 3)}, read_committed=True)
