"""Work that has Spark's SQL change records, in a task of Spark's."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import psutil
import pyarrow as pa

from flows.source.transform.message_handler import handled
from flows.source.transform.sql_columns import sql_transform
from mm2.core.handled_records import SourceRecord
from mm2.core.transforms.column_schema import one_row, rows_of

TIME: Final = 1_700_000_000_123


def records(count: int) -> list[SourceRecord]:
    """Of types a and b; the third has no key, the first no timestamp."""
    return [
        SourceRecord(
            topic="A.t",
            partition=3,
            offset=100 + number,
            timestamp=TIME + number if number else -1,
            key=None if number == 2 else b"k%d" % number,
            value=b'{"type": "%s", "n": "%d"}' % (b"ab"[number % 2 : number % 2 + 1], number),
            headers=(("h", b"%d" % number), ("x", None)),
        )
        for number in range(count)
    ]


def all_ways(count: int, *, is_prepared: bool) -> Callable[[], Any]:
    """Records as one batch, as two at the same time, and one by one; None for one that fails."""

    def work() -> Any:
        async def main() -> Any:
            transform, made = sql_transform(), records(count)
            batch = pa.Table.from_batches([one_row(each) for each in made])
            (whole,) = batch.combine_chunks().to_batches()
            halves = [whole.slice(0, count // 2), whole.slice(count // 2)]
            first: Any = await asyncio.gather(
                *(transform.change(each) for each in (whole, *halves)), return_exceptions=True
            )
            found = [each if isinstance(each, Exception) else rows_of(each) for each in first]
            alone: list[Any] = []
            if is_prepared:
                assert transform.ahead is not None
                await transform.ahead(made)
            for each in made:
                try:
                    alone.append(list(await handled(transform, each)))
                except Exception as error:  # noqa: BLE001 - is shown
                    alone.append(repr(error))
            return found, alone

        return asyncio.run(main())

    return work


def never_answered(file: Path) -> Callable[[], None]:
    """Writes its process id, and kills the other worker: what it asks for never comes."""

    def work() -> None:
        async def main() -> None:
            transform = sql_transform()
            batch = one_row(records(1)[0])
            made: Any = transform.change(batch)
            await made
            for other in psutil.Process(os.getppid()).children():
                if other.pid != os.getpid():
                    other.kill()
            later: Any = transform.change(batch)
            await later

        file.write_text(str(os.getpid()))
        asyncio.run(main())

    return work


def endless(file: Path) -> Callable[[], None]:
    """Writes its process id, and goes on until it is killed."""

    def work() -> None:
        file.write_text(str(os.getpid()))
        threading.Event().wait()

    return work
