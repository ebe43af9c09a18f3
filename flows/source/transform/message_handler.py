"""
The user's message handler: what each record becomes.

A class with ``handle(record) -> list of records`` and perhaps ``init(args)`` (KIP-3), or a plain
function; either may be asynchronous.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, Final, TypeAlias

from flows.source.forward.record_body import NO_TIMESTAMP, DecodedRecord, fields_of, keyed_body
from mm2.core.handled_records import SourceRecord, TargetRecord
from mm2.core.internal_records import is_heartbeat
from mm2.core.model import TopicPartition
from mm2.core.user_objects import load_object
from mm2.errors import ClusterError, TransformError

_LATEST: Final = (1 << 63) - 1

Handled: TypeAlias = Iterable[SourceRecord | TargetRecord]
Handle: TypeAlias = Callable[[SourceRecord], Handled | Awaitable[Handled]]


class WrongRecords(ValueError):
    """A handler has returned what is no list of records."""


def unchanged(record: SourceRecord) -> Handled:
    """What becomes of a record without a handler."""
    return (record,)


def load_handler(path: str, arguments: str | None) -> Handle:
    """
    The handler under an import path.

    Raises:
        ConfigError: it cannot be loaded.
    """
    found = load_object(path)
    if not isinstance(found, type):
        return _typed(found)
    handler: Any = found()
    if hasattr(handler, "init"):
        handler.init(arguments or "")
    return _typed(handler.handle)


def sparing_heartbeats(handle: Handle) -> Handle:
    """What becomes of records some of which are heartbeats: these stay as they are."""

    def handle_others(record: SourceRecord) -> Handled | Awaitable[Handled]:
        return [record] if is_heartbeat(record.key, record.value) else handle(record)

    return handle_others


def _typed(found: Any) -> Handle:
    handle: Handle = found
    return handle


async def handled(handle: Handle, record: SourceRecord) -> Sequence[SourceRecord | TargetRecord]:
    """
    The records that one becomes.

    Raises:
        WrongRecords: the handler has returned something else.
        TransformError: it has raised what an error of our clusters would be, or would end the task.
        CancelledError: the task is cancelled.
        BaseException: whatever else it has raised.
    """
    before = _cancellations()
    try:
        answer = handle(record)
        if isinstance(answer, list):
            records = answer
        else:
            found = await _awaited(answer, before) if isinstance(answer, Awaitable) else answer
            records = _listed(found)
    except BaseException as error:
        if not _would_end_the_task(error, before):
            raise
        raise TransformError(f"the handler has raised {error!r}") from error
    for each in records:
        if not isinstance(each, SourceRecord | TargetRecord):
            raise WrongRecords(f"the handler has returned a {type(each).__name__}, not a record")
    return records


async def _awaited(answer: Awaitable[Handled], before: int) -> Handled:
    """
    What an asynchronous handler returns.

    Args:
        before: how often the task had been cancelled before the handler was called.

    Raises:
        CancelledError: the task is cancelled; what the handler makes of that is no answer.
        BaseException: what the handler has raised.
    """
    try:
        return await answer
    finally:
        if _cancellations() > before:
            raise asyncio.CancelledError


def _cancellations() -> int:
    """How often the task has been cancelled; handlers may have caught some of it."""
    task = asyncio.current_task()
    return 0 if task is None else task.cancelling()


def _would_end_the_task(error: BaseException, before: int) -> bool:
    """Whether what a handler has raised would be taken for an error or an end of the task."""
    if isinstance(error, asyncio.CancelledError):
        return _cancellations() <= before
    return not isinstance(error, Exception | SystemExit | GeneratorExit) or isinstance(
        error, ClusterError
    )


def _listed(found: object) -> list[object]:
    if not isinstance(found, Iterable) or isinstance(found, bytes | str):
        raise WrongRecords(f"the handler must return a list of records, not {type(found).__name__}")
    return list(found)


def source_record(where: TopicPartition, record: DecodedRecord) -> SourceRecord:
    """
    A record as handlers see it.

    Raises:
        ValueError: its bytes are not a record's body.
    """
    key, value, headers = fields_of(record.body)
    return SourceRecord(
        topic=where.topic,
        partition=where.partition,
        offset=record.offset,
        timestamp=record.timestamp,
        key=key,
        value=value,
        headers=headers,
    )


def body_of(record: SourceRecord | TargetRecord) -> bytes:
    """Key, value and headers as bytes."""
    headers = [(name.encode("utf-8", "surrogateescape"), value) for name, value in record.headers]
    return keyed_body(record.key, record.value, headers)


def named_partition(made: SourceRecord | TargetRecord) -> int | None:
    """
    The partition that a record is to go to; None if it names none.

    Raises:
        WrongRecords: no partition can have that number.
    """
    number: object = made.partition
    if number is None:
        return None
    if type(number) is not int or number < 0:
        raise WrongRecords(f"{number!r} is no partition")
    return number


def copy_of(
    made: SourceRecord | TargetRecord, source: SourceRecord, record: DecodedRecord
) -> DecodedRecord:
    """
    The record to send; ``source`` is what the handler was given, ``record`` what that was read as.

    Raises:
        WrongRecords: its timestamp is none.
        TypeError: its key, value or headers are no bytes.
    """
    if made is source:
        return record
    timestamp: object = record.timestamp if made.timestamp is None else made.timestamp
    if not isinstance(timestamp, int) or not NO_TIMESTAMP <= timestamp <= _LATEST:
        raise WrongRecords(f"{timestamp!r} is no timestamp in ms")
    return DecodedRecord(record.offset, timestamp, body_of(made))
