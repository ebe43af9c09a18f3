"""Message handlers as users write them; tests name them by their import path."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

from mm2.core.handled_records import SourceRecord, TargetRecord


def fan_out(record: SourceRecord) -> list[SourceRecord]:
    """As many copies as the value's number modulo 4, so that some records become none."""
    number = int(record.value or b"0")
    return [replace(record, value=b"%d.%d" % (number, n)) for n in range(number % 4)]


def differently_each_time(record: SourceRecord) -> list[SourceRecord]:
    """A header that is another one each time, as handlers must not make it."""
    return [replace(record, headers=(("id", uuid4().bytes),))]


async def fan_out_later(record: SourceRecord) -> list[SourceRecord]:
    """The same, but others have their turn first."""
    await asyncio.sleep(0)
    return fan_out(record)


class Waits:
    """Takes 5 ms for each record, and waits at ``hold`` until a file is there: the argument."""

    def init(self, args: str) -> None:
        """Takes the path of the file."""
        self._file = Path(args)

    async def handle(self, record: SourceRecord) -> list[SourceRecord]:
        """Leaves the record as it is."""
        await asyncio.sleep(0.005)
        while record.value == b"hold" and not self._file.exists():  # noqa: ASYNC110 - no event
            await asyncio.sleep(0.05)
        return [record]


class Marks:
    """
    Adds a header, whose value is the argument.

    Drops what is ``drop``, fails at ``bad``, and returns for ``odd`` a partition that none can be.
    """

    def init(self, args: str) -> None:
        """Takes the header's value."""
        self._mark = args.encode()

    def handle(self, record: SourceRecord) -> list[SourceRecord | TargetRecord]:
        """What becomes of a record."""
        if record.value == b"drop":
            return []
        if record.value == b"bad":
            raise ValueError("no such record")
        if record.value == b"odd":
            return [record.replace(partition=0.5)]
        return [replace(record, headers=(*record.headers, ("mark", self._mark)))]


def spread(record: SourceRecord) -> list[SourceRecord | TargetRecord]:
    """Odd numbers to one partition of another topic, every third number to both topics."""
    number = int(record.value or b"0")
    there = TargetRecord(
        topic=f"{record.topic}.more", key=record.key, value=record.value, partition=0
    )
    if number % 3 == 0:
        return [record, there]
    return [there] if number % 2 else [record]


def sized(record: SourceRecord) -> list[SourceRecord]:
    """Three copies, of which the middle one is large."""
    sizes = (900, 3_000, 900)
    number = record.value or b""
    filler = [bytes((n * n * 7919 >> 4) % 251 for n in range(size)) for size in sizes]
    return [replace(record, value=b"%s.%d %s" % (number, n, filler[n])) for n in range(3)]


def to_send(record: SourceRecord) -> list[TargetRecord]:
    """A record of its own, at another time."""
    return [TargetRecord(topic=record.topic, key=record.key, value=record.value, timestamp=5)]


class GivesUp:
    """
    Waits at ``hold`` for ever, and leaves the record out when it is cancelled.

    The argument is a file that is there once it waits.
    """

    def init(self, args: str) -> None:
        """Takes the path of the file."""
        self._file = Path(args)

    async def handle(self, record: SourceRecord) -> list[SourceRecord]:
        """Leaves other records as they are."""
        if record.value != b"hold":
            return [record]
        self._file.touch()
        with suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        return []


class CancelsItself:
    """Cancels the task that calls it at the value ``cancel``, until a file is there."""

    def init(self, args: str) -> None:
        """Takes the path of the file."""
        self._over = Path(args)

    async def handle(self, record: SourceRecord) -> list[SourceRecord]:
        """The record itself."""
        task = asyncio.current_task()
        if record.value == b"cancel" and task is not None and not self._over.exists():
            task.cancel()
            await asyncio.sleep(0)
        return [record]


class FailsAndWaits(Waits):
    """Fails at ``bad``, and waits at ``hold``."""

    async def handle(self, record: SourceRecord) -> list[SourceRecord]:
        """Leaves other records as they are."""
        if record.value == b"bad":
            raise ValueError("no such record")
        return await super().handle(record)


def by_time(record: SourceRecord) -> list[SourceRecord]:
    """As many copies as the timestamp modulo 3."""
    return [record] * (record.timestamp % 3)


def bare(record: SourceRecord) -> list[TargetRecord]:
    """A record of its own, without headers."""
    return [TargetRecord(topic=record.topic, key=record.key, value=record.value)]
