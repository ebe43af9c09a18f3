"""
What the consumer and the producer of mirrored records can be set to, beside how they connect.

Written ``A.consumer.<name>``, ``A->B.source.consumer.<name>``, ``B.producer.<name>`` and
``A->B.producer.override.<name>``. Types and limits are those of Java's ``ConsumerConfig`` and
``ProducerConfig``; defaults are ours, because batches are copied and not taken apart.
"""

from __future__ import annotations

from typing import Final

from mm2.config.keys.definition import Check, Definition, Key, Type, Value, between, one_of
from mm2.core.positions.start_rules import parse_reset

MAX_FETCH: Final = 16 << 20
MAX_PARTITION_FETCH: Final = 4 << 20
BUFFER_MEMORY: Final = 64 << 20
MAX_REQUEST: Final = 4 << 20
BATCH_SIZE: Final = 512 << 10

_CODECS: Final = ("none", "gzip", "snappy", "lz4", "zstd")


def _gzip_level(value: Value) -> str | None:
    return None if value == -1 else between(1, 9)(value)


def _reset(value: Value) -> str | None:
    try:
        parse_reset(str(value))
    except ValueError as error:
        return str(error)
    return None


def _key(name: str, type_: Type, default: str | None, doc: str, check: Check | None = None) -> Key:
    return Key(
        name=name,
        type=type_,
        default=default,
        importance="MEDIUM",
        doc=doc,
        definitions=frozenset({Definition.DATA}),
        check=check,
    )


CONSUMER_KEYS: Final = (
    _key(
        "fetch.max.bytes",
        Type.INT,
        str(MAX_FETCH),
        "Most bytes of one fetch answer; Java's default is 52428800.",
        between(0),
    ),
    _key(
        "max.partition.fetch.bytes",
        Type.INT,
        str(MAX_PARTITION_FETCH),
        "Most bytes of one partition in it; Java's default is 1048576.",
        between(0),
    ),
    _key("fetch.min.bytes", Type.INT, "1", "A broker answers when it has so much.", between(0)),
    _key("fetch.max.wait.ms", Type.INT, "500", "Or after this time.", between(0)),
    _key(
        "isolation.level",
        Type.STRING,
        "read_uncommitted",
        "read_committed leaves out the records of aborted transactions.",
        one_of("read_committed", "read_uncommitted"),
    ),
    _key(
        "auto.offset.reset",
        Type.STRING,
        "earliest",
        "Where a partition without a position begins: earliest, latest, none or by_duration:PT1H.",
        _reset,
    ),
)

PRODUCER_KEYS: Final = (
    _key(
        "compression.type",
        Type.STRING,
        None,
        "Codec of all that is written. Left out, each batch keeps the codec it has; Java then"
        " writes without compression.",
        one_of(*_CODECS),
    ),
    _key(
        "compression.gzip.level",
        Type.INT,
        "-1",
        "Level for compression.type=gzip: 1 to 9, -1 is 6.",
        _gzip_level,
    ),
    _key(
        "compression.lz4.level",
        Type.INT,
        "9",
        "Level for compression.type=lz4: 1 to 17. 9 is the fast compressor, as in Java.",
        between(1, 17),
    ),
    _key(
        "compression.zstd.level",
        Type.INT,
        "3",
        "Level for compression.type=zstd: -131072 to 22.",
        between(-131072, 22),
    ),
    _key(
        "batch.size",
        Type.INT,
        str(BATCH_SIZE),
        "Most bytes of batches that are made into one: because they are small, not compressed, or"
        " must be re-encoded anyway. Larger batches are copied as they are. Java's default is"
        " 16384.",
        between(0),
    ),
    _key(
        "buffer.memory",
        Type.LONG,
        str(BUFFER_MEMORY),
        "Bytes of one task that may wait between fetch and acknowledgement; counts from 1 MiB on."
        " Java's default is 33554432.",
        between(0),
    ),
    _key(
        "max.request.size",
        Type.INT,
        str(MAX_REQUEST),
        "Most bytes of batches in one request; a single larger batch goes alone, and is split only"
        " if the broker refuses it. Java's default is 1048576.",
        between(0),
    ),
)
