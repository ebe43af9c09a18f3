"""``mm2 dump-log``: segments of logs and their indexes, as brokers keep them on disk."""

from __future__ import annotations

import mmap
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from mm2.cli.options import CHECK_FAILED, FORMAT, end
from mm2.cli.rows import Row, Value, streamed
from mm2.client.formatters import FORMATTERS, Formatter, formatter_for
from mm2.core.display_text import printable
from mm2.core.model import TopicName
from mm2.core.policy import DefaultReplicationPolicy
from mm2.kafka.logs.records import Record

if TYPE_CHECKING:  # --help answers at once without it.
    from mm2.kafka.logs.segment_file import SegmentBatch, SegmentRecord

_OF_BATCH: Final = (
    *("position", "size", "base_offset", "last_offset", "count", "magic", "codec"),
    *("leader_epoch", "producer_id", "producer_epoch", "base_sequence", "is_transactional"),
    *("is_control", "max_timestamp", "is_valid", "checksum"),
)
_OF_RECORD: Final = ("offset", "timestamp", "key", "value")
_ERROR: Final = "error"
_WRITTEN: Final = "written"
_RAW: Final = "raw"
_FOLDER: Final = re.compile(r"(.+)-([0-9]+)(?:\.[0-9a-f]+-(?:delete|future|stray))?")
"""As brokers name what they have of a partition."""

_LOG: Final = ".log"
_INDEX: Final = ".index"
_TIME_INDEX: Final = ".timeindex"
_INDEXES: Final = (_INDEX, _TIME_INDEX)


@click.command("dump-log")
@click.argument(
    "files",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    nargs=-1,
    required=True,
    metavar="FILE...",
)
@click.option("--deep-iteration", is_flag=True, help="Prints the records instead of the batches.")
@click.option(
    "--offsets-decoder",
    is_flag=True,
    help="Shows what groups have committed: for __consumer_offsets and the offset manager's topic.",
)
@click.option(
    "--kind",
    type=click.Choice([*FORMATTERS, _RAW]),
    help="What the records are, which are decoded then; raw: they are not.",
)
@FORMAT
def dump_log(
    files: tuple[Path, ...],
    kind: str | None,
    format_: str,
    *,
    deep_iteration: bool,
    offsets_decoder: bool,
) -> None:
    """
    Prints the batches of segments (.log), or their records, and checks them.

    Each batch's checksum is computed, and its offsets must follow those before it. Compaction
    leaves gaps. Each entry of an index (.index) is looked up in the segment beside it. In a time
    index (.timeindex) times must grow, and the segment must have the offsets. Run it on a stopped
    broker's files, or on copies: a running one appends.

    Records of internal topics are decoded as by mm2 dump, with --kind, or with --deep-iteration
    where the folder has the name of such a topic, as brokers name it. Files of several kinds are
    not decoded.

    The formats json and tsv are printed batch by batch. A table and yaml wait for the end, with all
    of it in memory.

    Exit status: 0 done, 1 a checksum or the order of offsets is wrong, a batch is incomplete, a
    batch or a record cannot be read, or an index is wrong, 2 wrong usage.
    """
    strange = [each for each in files if each.suffix not in {_LOG, *_INDEXES}]
    if strange:
        raise click.UsageError(f"{strange[0]} is no {_LOG}, {_INDEX} or {_TIME_INDEX} file.")
    if offsets_decoder and kind is not None:
        raise click.UsageError("--offsets-decoder and --kind exclude each other.")
    reading = _reading(files, kind, deep=deep_iteration, offsets=offsets_decoder)
    segments = [each for each in files if each.suffix == _LOG]
    problems: list[str] = []
    if segments:
        pieces = (rows for file in segments for rows in _of_segment(file, reading, problems))
        for text in streamed(reading.columns, pieces, format_):
            click.echo(text)
    problems += [each for file in files if file.suffix in _INDEXES for each in _of_index(file)]
    if problems:
        end(CHECK_FAILED, *problems)


@dataclass(frozen=True, slots=True)
class _Reading:
    """How records are shown: not at all, with the bytes of their keys and values, or decoded."""

    columns: tuple[str, ...]
    is_deep: bool = True
    offsets: bool = False
    formatter: Formatter | None = None

    @property
    def decodes(self) -> bool:
        return self.offsets or self.formatter is not None


def _reading(files: Iterable[Path], kind: str | None, *, deep: bool, offsets: bool) -> _Reading:
    if offsets:
        return _Reading(_OF_RECORD, offsets=True)
    if kind is None and not deep:
        return _Reading(_OF_BATCH, is_deep=False)
    formatter = _of_folders(files) if kind is None else FORMATTERS.get(kind)
    if formatter is None:
        return _Reading(_OF_RECORD)
    return _Reading(formatter.all_columns, formatter=formatter)


def _of_folders(files: Iterable[Path]) -> Formatter | None:
    """The kind of all segments, if the names of their folders say the same one."""
    policy = DefaultReplicationPolicy()
    folders = {_partition_of(each) for each in files if each.suffix == _LOG}
    found = {formatter_for(TopicName(topic), policy) for topic, _ in folders}
    return found.pop() if len(found) == 1 else None


def _partition_of(file: Path) -> tuple[str, int]:
    """Topic and partition, as the folder says; an empty topic if it does not."""
    found = _FOLDER.fullmatch(file.absolute().parent.name)
    return ("", 0) if found is None else (found[1], int(found[2]))


def _of_segment(file: Path, reading: _Reading, problems: list[str]) -> Iterator[Sequence[Row]]:
    """The rows of each batch; what is wrong with it is added to the problems."""
    from mm2.kafka.logs.segment_file import (  # noqa: PLC0415 - takes a while
        order_mistake,
        read_batches,
        rest_behind,
    )

    data = _content(file)
    last: SegmentBatch | None = None
    unreadable = 0
    for batch in read_batches(data):
        if not batch.is_valid:
            problems.append(f"{file}: {_wrong(batch)}")
        if mistake := order_mistake(batch, last):
            problems.append(f"{file}: {mistake}")
        last = batch
        rows = _of_records(file, data, batch, reading) if reading.is_deep else [asdict(batch)]
        if rows is None:
            problems.append(f"{file}: the batch at offset {batch.base_offset} cannot be read")
        else:
            unreadable += sum(row.get(_ERROR) is not None for row in rows)
            yield rows
    if rest := rest_behind(data, last):
        problems.append(f"{file}: {rest} bytes at the end are no whole batch")
    if unreadable:
        problems.append(f"{file}: {unreadable} records cannot be read")


def _of_records(
    file: Path, data: memoryview, batch: SegmentBatch, reading: _Reading
) -> Sequence[Row] | None:
    from mm2.kafka.logs.segment_file import read_records  # noqa: PLC0415 - see above

    records = read_records(data, batch)
    if records is None:
        return None
    if reading.formatter is not None and not batch.is_control:
        return [_decoded(reading.formatter, file, each) for each in records]
    if reading.decodes and batch.is_control:
        return []
    return [_record(each, decode=reading.offsets) for each in records]


def _decoded(formatter: Formatter, file: Path, record: SegmentRecord) -> Row:
    topic, partition = _partition_of(file)
    shown = formatter.shown(
        Record(
            topic=topic,
            partition=partition,
            offset=record.offset,
            timestamp_ms=-1 if record.timestamp is None else record.timestamp,
            key=record.key,
            value=record.value,
            headers=record.headers,
        )
    )
    place = {} if topic else {"record": str(record.offset)}
    written = {_WRITTEN: record.timestamp}
    found = {**shown.fields, **place, **written}
    return {name: _printable(value) for name, value in found.items()}


def _printable(value: Value) -> Value:
    return printable(value) if isinstance(value, str) else value


def _of_index(file: Path) -> Iterator[str]:
    segment = file.with_suffix(_LOG)
    if not segment.exists():
        yield f"{file}: there is no {segment.name} beside it"
        return
    if not file.stem.isdecimal():
        yield f"{file}: the name is not the first offset of a segment"
        return
    mistakes = _mistakes(file.suffix, file.read_bytes(), int(file.stem), _content(segment))
    yield from (f"{file}: {each}" for each in mistakes)


def _mistakes(suffix: str, index: bytes, base_offset: int, segment: memoryview) -> Iterator[str]:
    from mm2.kafka.logs.segment_file import (  # noqa: PLC0415 - see above
        index_mistakes,
        read_batches,
        read_index,
        read_time_index,
        time_index_mistakes,
    )

    if suffix == _INDEX:
        return index_mistakes(read_index(index, base_offset), list(read_batches(segment)))
    entries = read_time_index(index, base_offset)
    return time_index_mistakes(entries, base_offset, read_batches(segment))


def _content(file: Path) -> memoryview:
    with file.open("rb") as opened:
        if not file.stat().st_size:
            return memoryview(b"")
        return memoryview(mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ))


def _wrong(batch: SegmentBatch) -> str:
    return f"the checksum of the batch at offset {batch.base_offset} is wrong"


def _record(record: SegmentRecord, *, decode: bool) -> Row:
    key, value = (_committed if decode else _texts)(record)
    return {
        "offset": record.offset,
        "timestamp": record.timestamp,
        "key": key,
        "value": value,
    }


def _texts(record: SegmentRecord) -> Iterable[Value]:
    return [
        None if each is None else printable(each.decode(errors="backslashreplace"))
        for each in (record.key, record.value)
    ]


def _committed(record: SegmentRecord) -> Iterable[Value]:
    from mm2.core.offset_manager.committed_offset_records import (  # noqa: PLC0415 - see above
        decode_key,
        decode_value,
    )
    from mm2.errors import SchemaError  # noqa: PLC0415 - see above

    try:
        group, (topic, partition) = decode_key(record.key or b"")
        stored = None if record.value is None else decode_value(record.value)
    except SchemaError:  # what Kafka keeps of a group's members, for example
        return _texts(record)
    shown = f"offset={stored.offset} metadata={stored.metadata}" if stored else None
    return printable(f"{group} {topic}-{partition}"), shown and printable(shown)
