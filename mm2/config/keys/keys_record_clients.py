"""
What the consumer and the producer of mirrored records can be set to, beside how they connect.

Written ``A.consumer.<name>``, ``A->B.source.consumer.<name>``, ``B.producer.<name>`` and
``A->B.producer.override.<name>``. Types and limits are those of Java's ``ConsumerConfig`` and
``ProducerConfig``; defaults are ours, because batches are copied and not taken apart.
"""

from __future__ import annotations

from functools import partial
from typing import Final

from mm2.config.keys.definition import Definition, Key
from mm2.config.keys.key_types import Type, Value, equals
from mm2.config.keys.value_checks import between, one_of
from mm2.core.positions.start_rules import parse_reset

_LEAST_MEMORY: Final = 1 << 20
_CODECS: Final = ("none", "gzip", "snappy", "lz4", "zstd")


def _gzip_level(value: Value) -> str | None:
    return None if value == -1 else between(1, 9)(value)


def _reset(value: Value) -> str | None:
    try:
        parse_reset(str(value))
    except ValueError as error:
        return str(error)
    return None


def _as_it_is(value: Value) -> Value:
    return value


def _enough_memory(value: Value) -> int:
    return max(_LEAST_MEMORY, int(str(value)))


_key: Final = partial(Key, importance="MEDIUM", definitions=frozenset({Definition.DATA}))

# fmt: off
CONSUMER_KEYS: Final = (
    _key("fetch.max.bytes", Type.INT, "16777216",
        "Most bytes of one fetch answer; Java's default is 52428800.", check=between(0),
        field="fetch_max_bytes"),
    _key("max.partition.fetch.bytes", Type.INT, "4194304",
        "Most bytes of one partition in it; Java's default is 1048576.", check=between(0),
        field="fetch_partition_bytes"),
    _key("fetch.min.bytes", Type.INT, "1", "A broker answers when it has so much.",
        check=between(0), field="fetch_min_bytes"),
    _key("fetch.max.wait.ms", Type.INT, "500",
        "Or after this time. While nothing is under way and a single byte is enough, it may be"
        " 5000; a record is answered at once.", check=between(0),
        field="fetch_wait_ms", convert=_as_it_is),
    _key("isolation.level", Type.STRING, "read_uncommitted",
        "read_committed leaves out the records of aborted transactions.",
        check=one_of("read_committed", "read_uncommitted"),
        field="read_committed", convert=equals("read_committed")),
    _key("auto.offset.reset", Type.STRING, "earliest",
        "Where a partition without a position begins: earliest, latest, none or by_duration:PT1H.",
        check=_reset, field="reset"),
)

PRODUCER_KEYS: Final = (
    _key("compression.type", Type.STRING, None,
        "Codec of all that is written. Left out, each batch keeps the codec it has; Java then"
        " writes without compression.", check=one_of(*_CODECS), field="codec"),
    _key("compression.gzip.level", Type.INT, "-1",
        "Level for compression.type=gzip: 1 to 9, -1 is 6.", check=_gzip_level),
    _key("compression.lz4.level", Type.INT, "9",
        "Level for compression.type=lz4: 1 to 17. 9 is the fast compressor, as in Java.",
        check=between(1, 17)),
    _key("compression.zstd.level", Type.INT, "3",
        "Level for compression.type=zstd: -131072 to 22.", check=between(-131072, 22)),
    _key("batch.size", Type.INT, "917504",
        "Most bytes of batches that are made into one: because they are small, not compressed, or"
        " must be re-encoded anyway. Larger batches are copied as they are. Java's default is"
        " 16384.", check=between(0), field="batch_size"),
    _key("buffer.memory", Type.LONG, "67108864",
        "Bytes of one task that may wait between fetch and acknowledgement; counts from 1 MiB on."
        " Java's default is 33554432.", check=between(0),
        field="buffer_memory", convert=_enough_memory),
    _key("max.request.size", Type.INT, "4194304",
        "Most bytes of batches in one request; a single larger batch goes alone, and is split"
        " only if the broker refuses it. Java's default is 1048576.", check=between(0),
        field="max_request_size"),
)
