"""What may be a message handler, and what it may return."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

import pytest

from flows.source.forward.record_body import fields_of, key_of
from flows.source.transform.message_handler import (
    WrongRecords,
    body_of,
    handled,
    load_handler,
    unchanged,
)
from mm2.core.handled_records import SourceRecord, TargetRecord
from mm2.errors import ConfigError, TransformError, Unavailable

RECORD = SourceRecord(
    topic="t",
    partition=1,
    offset=5,
    timestamp=9,
    key=b"k",
    value=None,
    headers=(("h", b"x"), ("none", None), ("\udcff", b"")),
)


class Renames:
    prefix = ""

    def init(self, args: str) -> None:
        self.prefix = args

    def handle(self, record: SourceRecord) -> list[TargetRecord]:
        return [TargetRecord(topic=self.prefix + record.topic, key=record.key, value=b"new")]


async def waits(record: SourceRecord) -> list[SourceRecord]:
    return [record, record]


def drops(record: SourceRecord) -> list[SourceRecord]:
    del record
    return []


def forgets(record: SourceRecord) -> None:
    del record


HERE = __name__


async def test_a_class_is_initialised_with_the_arguments() -> None:
    (found,) = await handled(load_handler(f"{HERE}:Renames", "copy."), RECORD)
    assert (found.topic, found.value) == ("copy.t", b"new")


async def test_functions_may_wait_and_may_drop() -> None:
    assert await handled(load_handler(f"{HERE}:waits", None), RECORD) == [RECORD, RECORD]
    assert await handled(load_handler(f"{HERE}.drops", None), RECORD) == []


async def test_without_a_handler_a_record_stays_as_it_is() -> None:
    assert await handled(unchanged, RECORD) == [RECORD]


async def test_what_is_no_list_of_records_is_an_error() -> None:
    with pytest.raises(WrongRecords, match="must return a list of records, not NoneType"):
        await handled(load_handler(f"{HERE}:forgets", None), RECORD)
    with pytest.raises(WrongRecords, match="returned a str"):
        await handled(lambda _: ["x"], RECORD)  # type: ignore[list-item]  # the mistake of a user


@pytest.mark.parametrize(
    "raised",
    [KeyboardInterrupt(), asyncio.CancelledError(), BaseException(), Unavailable("A", "x")],
)
@pytest.mark.parametrize("waits", [False, True])
async def test_what_would_end_the_task_is_an_error_of_the_record(
    raised: BaseException, *, waits: bool
) -> None:
    def fails(record: SourceRecord) -> list[SourceRecord]:
        assert record is RECORD
        raise raised

    async def fails_later(record: SourceRecord) -> list[SourceRecord]:
        await asyncio.sleep(0)
        return fails(record)

    with pytest.raises(TransformError, match=f"the handler has raised {type(raised).__name__}"):
        await handled(fails_later if waits else fails, RECORD)


async def test_a_task_that_is_cancelled_while_a_handler_waits_ends() -> None:
    begun = asyncio.Event()

    async def waits_for_ever(_: SourceRecord) -> list[SourceRecord]:
        begun.set()
        await asyncio.Event().wait()
        return []

    task = asyncio.ensure_future(handled(waits_for_ever, RECORD))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("no.such.module:Class", "ModuleNotFoundError"),
        (f"{HERE}:Missing", "AttributeError"),
        (f"{HERE}:HERE", "neither a class nor a function"),
    ],
)
def test_what_cannot_be_loaded_is_named(path: str, reason: str) -> None:
    with pytest.raises(ConfigError, match=reason) as caught:
        load_handler(path, None)
    assert path in caught.value.message


def test_key_value_and_headers_survive_being_taken_apart() -> None:
    assert key_of(body_of(RECORD)) == RECORD.key
    assert fields_of(body_of(RECORD)) == (RECORD.key, RECORD.value, RECORD.headers)


@pytest.mark.parametrize("answer", [[], None, ValueError("stopped")])
async def test_what_a_handler_answers_when_its_task_is_cancelled_does_not_count(
    answer: list[SourceRecord] | Exception | None,
) -> None:
    begun = asyncio.Event()

    async def handle(_: SourceRecord) -> Any:
        begun.set()
        with suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        if isinstance(answer, Exception):
            raise answer
        return answer

    task = asyncio.create_task(handled(handle, RECORD))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
