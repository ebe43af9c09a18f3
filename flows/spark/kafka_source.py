"""
Kafka topics as a data source of Spark, in Python: PySpark brings no connector along.

    spark.dataSource.register(KafkaSource)
    spark.read.format("mm2-kafka").option("subscribe", "orders").option(
        "kafka.bootstrap.servers", "broker:9092"
    ).load()

Options and columns are those of Spark's own connector. Only batch reads are possible.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from flows.verify.arrow_records import arrow_batches
from flows.verify.log_reader import LogReader, connected
from flows.verify.source_options import LATEST, ReadRange, SourceOptions, divide, read_options
from mm2.core.model import TopicPartition
from mm2.errors import ClusterError
from mm2.kafka.admin import Admin
from mm2.kafka.client_errors import UnknownTopic
from mm2.kafka.groups.offset_calls import OffsetAt

_ALIAS: Final = "kafka"
_HEADER: Final = StructType([StructField("key", StringType()), StructField("value", BinaryType())])
_COLUMNS: Final = (
    StructField("key", BinaryType()),
    StructField("value", BinaryType()),
    StructField("topic", StringType()),
    StructField("partition", IntegerType()),
    StructField("offset", LongType()),
    StructField("timestamp", TimestampType()),
    StructField("timestampType", IntegerType()),
)
_HEADERS: Final = StructField("headers", ArrayType(_HEADER))


class KafkaSource(DataSource):
    """
    Reads topics.

    ``subscribe`` names them, separated by commas; ``kafka.*`` are settings of Java's clients.
    ``startingOffsets`` and ``endingOffsets`` are JSON by topic and partition, or ``earliest`` and
    ``latest``; partitions that they do not name are read whole. ``minPartitions``,
    ``includeHeaders`` (true unless set) and ``failOnDataLoss`` are as in Spark's own connector.
    """

    @classmethod
    def name(cls) -> str:
        """The name of the format."""
        return "mm2-kafka"

    def schema(self) -> StructType:
        """
        The columns.

        Raises:
            ConfigErrors: all that is wrong with the options.
        """
        headers = read_options(self.options).headers
        return StructType([*_COLUMNS, _HEADERS] if headers else list(_COLUMNS))

    def reader(self, schema: StructType) -> DataSourceReader:
        """Makes the reader."""
        del schema
        return KafkaReader(read_options(self.options))


@dataclass
class _Partition(InputPartition):
    """A range that one task reads."""

    range: ReadRange


class KafkaReader(DataSourceReader):
    """
    Divides what is to be read among tasks, and is what they run.

    Args:
        options: what is to be read.
    """

    def __init__(self, options: SourceOptions) -> None:
        self._options = options

    def partitions(self) -> list[InputPartition]:
        """
        The ranges of all tasks.

        Raises:
            ClusterError: the cluster does not answer, refuses, or has no such topic.
        """
        ranges = divide(asyncio.run(_ranges(self._options)), self._options.min_partitions)
        return [_Partition(each) for each in ranges]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """
        The records of one range.

        Raises:
            ClusterError: the leader does not answer, or records are gone that were to be read.
        """
        assert isinstance(partition, _Partition)  # noqa: S101 - those of ``partitions``
        with asyncio.Runner() as runner:
            batches = _batches(self._options, partition.range)
            try:
                while (batch := runner.run(_next(batches))) is not None:
                    yield batch
            finally:
                runner.run(batches.aclose())


async def _next(batches: AsyncGenerator[pa.RecordBatch, None]) -> pa.RecordBatch | None:
    return await anext(batches, None)


async def _ranges(options: SourceOptions) -> list[ReadRange]:
    admin = Admin(_ALIAS, options.properties)
    try:
        topics = await admin.describe_topics(options.topics)
        if missing := [name for name in options.topics if name not in topics]:
            raise UnknownTopic(_ALIAS, f"there is no topic {', '.join(missing)}")
        partitions = [
            TopicPartition(name, number)
            for name, topic in sorted(topics.items())
            for number in range(topic.partitions)
        ]
        starts = await admin.list_offsets(partitions, OffsetAt.EARLIEST)
        committed = options.read_committed
        ends = await admin.list_offsets(partitions, OffsetAt.LATEST, read_committed=committed)
    finally:
        await admin.close()
    return [
        ReadRange(
            where,
            _resolved(options.starts.get(where, starts[where]), starts[where], ends[where]),
            _resolved(options.ends.get(where, ends[where]), starts[where], ends[where]),
        )
        for where in partitions
    ]


def _resolved(offset: int, start: int, end: int) -> int:
    """An offset of the log, of which -2 is the beginning and -1 the end."""
    if offset < 0:
        return end if offset == LATEST else start
    return min(offset, end)


async def _batches(options: SourceOptions, read: ReadRange) -> AsyncGenerator[pa.RecordBatch, None]:
    span = read.first, read.end
    async with connected(_ALIAS, options.properties, read.where.topic) as client:
        reader = LogReader(client, read.where, span, read_committed=options.read_committed)
        async with aclosing(reader.parts()) as parts:
            async for part in parts:
                if part.is_behind_gap and options.fails_on_loss:
                    message = f"{read.where}: records were deleted before they were read"
                    raise ClusterError(_ALIAS, f"{message}; failOnDataLoss=false passes over them")
                for batch in arrow_batches(part, read.where, span, headers=options.headers):
                    yield batch
