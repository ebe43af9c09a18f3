"""``mm2 dump-log``: segments of logs and their indexes, as brokers keep them on disk."""

from __future__ import annotations

import mmap
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from mm2.cli.options import CHECK_FAILED, FORMAT, end
from mm2.cli.rows import Row, Value, rendered
from mm2.core.display_text import printable

if TYPE_CHECKING:  # --help answers at once without it.
    from mm2.kafka.logs.segment_file import SegmentBatch, SegmentRecord

_OF_BATCH: Final = (
    *("position", "size", "base_offset", "last_offset", "count", "magic", "codec"),
    *("leader_epoch", "producer_id", "producer_epoch", "base_sequence", "is_transactional"),
    *("is_control", "max_timestamp", "is_valid", "checksum"),
)
_OF_RECORD: Final = ("offset", "timestamp", "key", "value")
_LOG: Final = ".log"
_INDEX: Final = ".index"


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
@FORMAT
def dump_log(
    files: tuple[Path, ...], format_: str, *, deep_iteration: bool, offsets_decoder: bool
) -> None:
    """
    Prints the batches of segments (.log), or their records, and checks them.

    Each batch's checksum is computed. Of an index (.index), each entry is looked up in the segment
    beside it. Run it on a stopped broker's files, or on copies: a running one appends.

    Exit status: 0 done, 1 a checksum is wrong, a batch is incomplete or cannot be read, or an index
    is wrong, 2 wrong usage.
    """
    strange = [each for each in files if each.suffix not in {_LOG, _INDEX}]
    if strange:
        raise click.UsageError(f"{strange[0]} is neither a {_LOG} nor an {_INDEX} file.")
    is_deep = deep_iteration or offsets_decoder
    rows: list[Row] = []
    problems: list[str] = []
    for file in files:
        if file.suffix == _INDEX:
            problems += _of_index(file)
        else:
            found, wrong = _of_segment(file, deep=is_deep, decode=offsets_decoder)
            rows += found
            problems += wrong
    if rows or any(each.suffix == _LOG for each in files):
        click.echo(rendered(_OF_RECORD if is_deep else _OF_BATCH, rows, format_))
    if problems:
        end(CHECK_FAILED, *problems)


def _of_segment(file: Path, *, deep: bool, decode: bool) -> tuple[list[Row], list[str]]:
    from mm2.kafka.logs.segment_file import (  # noqa: PLC0415 - takes a while
        read_batches,
        read_records,
        rest_behind,
    )

    data = _content(file)
    batches = list(read_batches(data))
    problems = [f"{file}: {_wrong(each)}" for each in batches if not each.is_valid]
    if rest := rest_behind(data, batches[-1] if batches else None):
        problems.append(f"{file}: {rest} bytes at the end are no whole batch")
    if not deep:
        return [asdict(each) for each in batches], problems
    rows: list[Row] = []
    for batch in batches:
        records = read_records(data, batch)
        if records is None:
            problems.append(f"{file}: the batch at offset {batch.base_offset} cannot be read")
        elif not (decode and batch.is_control):
            rows += [_record(each, decode=decode) for each in records]
    return rows, problems


def _of_index(file: Path) -> Iterator[str]:
    from mm2.kafka.logs.segment_file import (  # noqa: PLC0415 - see above
        index_mistakes,
        read_batches,
        read_index,
    )

    segment = file.with_suffix(_LOG)
    if not segment.exists():
        yield f"{file}: there is no {segment.name} beside it"
        return
    if not file.stem.isdecimal():
        yield f"{file}: the name is not the first offset of a segment"
        return
    entries = read_index(file.read_bytes(), int(file.stem))
    batches = list(read_batches(_content(segment)))
    yield from (f"{file}: {each}" for each in index_mistakes(entries, batches))


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
