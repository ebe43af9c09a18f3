"""Topics as a data source of Spark."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.cluster import Cluster
from tests.support.records import CODECS, Sample, create_topic, produce, produce_transaction

pytestmark = [pytest.mark.broker, pytest.mark.spark, pytest.mark.timeout(300)]

_PROGRAM = """
import sys
from pyspark.sql import SparkSession
from flows.spark.kafka_source import KafkaSource

servers, topic = sys.argv[1:3]
options = dict(each.split("=", 1) for each in sys.argv[3:])
settings = {"spark.ui.enabled": "false", "spark.sql.session.timeZone": "UTC"}
builder = SparkSession.builder.master("local[2]")
for key, value in settings.items():
    builder = builder.config(key, value)
spark = builder.getOrCreate()
spark.dataSource.register(KafkaSource)
frame = (
    spark.read.format("mm2-kafka")
    .option("kafka.bootstrap.servers", servers)
    .option("subscribe", topic)
    .options(**options)
    .load()
)
print(frame.columns)
for row in frame.orderBy("partition", "offset").collect():
    headers = None if row.headers is None else [(each.key, each.value) for each in row.headers]
    key, value = (None if each is None else bytes(each) for each in (row.key, row.value))
    ms = round(row.timestamp.timestamp() * 1000)
    print((key, value, row.topic, row.partition, row.offset, ms, row.timestampType, headers))
"""


def _read(cluster: Cluster, topic: str, folder: Path, *options: str) -> list[object]:
    program = folder / "read.py"
    program.write_text(_PROGRAM)
    done = subprocess.run(
        [sys.executable, str(program), cluster.bootstrap, topic, *options],
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
        cwd=Path(__file__).parents[2],
        env={**os.environ, "PYSPARK_PYTHON": sys.executable},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    names = {"bytearray": bytearray}
    return [eval(line, names) for line in done.stdout.splitlines() if line[:1] in "([" and line]


def test_what_was_produced_is_read_with_any_codec(
    cluster_a: Cluster, unique: str, tmp_path: Path
) -> None:
    create_topic(cluster_a.bootstrap, unique, 2)
    samples = [
        Sample(key=b"k", value=b"\xff\x00", headers=(("a", b"1"), ("a", None)), timestamp_ms=1_000),
        Sample(key=None, value=None, timestamp_ms=2_345),
        Sample(key=b"", value=b"v" * 5000, partition=1, timestamp_ms=3_000),
    ]
    for codec in CODECS:
        produce(cluster_a.bootstrap, unique, samples, codec=codec)
    produce_transaction(cluster_a.bootstrap, unique, samples[:1], commit=False)
    columns, *rows = _read(
        cluster_a, unique, tmp_path, "kafka.isolation.level=read_committed", "minPartitions=6"
    )
    assert columns == [
        *("key", "value", "topic", "partition", "offset", "timestamp", "timestampType", "headers")
    ]
    first, second, third = (
        (each.key, each.value, unique, each.partition, each.timestamp_ms) for each in samples
    )
    found = [(row[0], row[1], row[2], row[3], row[5]) for row in rows]  # type: ignore[index]
    assert found == [first, second] * 5 + [third] * 5
    assert [row[4] for row in rows] == [*range(10), *range(5)]  # type: ignore[index]
    headers = [row[7] for row in rows][:2]  # type: ignore[index]
    assert headers == [[("a", b"1"), ("a", None)], None]


def test_offsets_say_what_is_read(cluster_a: Cluster, unique: str, tmp_path: Path) -> None:
    create_topic(cluster_a.bootstrap, unique)
    produce(cluster_a.bootstrap, unique, [Sample(value=str(n).encode()) for n in range(20)])
    starts, ends = (f'{{"{unique}": {{"0": {offset}}}}}' for offset in (5, 9))
    _, *rows = _read(
        cluster_a, unique, tmp_path, f"startingOffsets={starts}", f"endingOffsets={ends}"
    )
    assert [row[1] for row in rows] == [b"5", b"6", b"7", b"8"]  # type: ignore[index]
