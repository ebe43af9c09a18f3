"""Levels of logging, changed while a node runs."""

from __future__ import annotations

import io
from collections.abc import AsyncIterator

import pytest
import structlog

from mm2.telemetry.levels import LEVELS, ChosenLevels, LogLevels, take_levels
from mm2.telemetry.logs import configure_logs
from tests.support.fake_connectors import FakeConnectors
from tests.support.rest import Client, interface

log = structlog.get_logger()


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    async with interface(FakeConnectors()) as client:
        yield client


def _lines(stream: io.StringIO) -> list[str]:
    found = [line.split('"event": "')[1].split('"')[0] for line in stream.getvalue().splitlines()]
    stream.seek(0)
    stream.truncate()
    return found


def _say() -> None:
    log.debug("source.debugged")
    log.info("source.said")
    log.info("checkpoint.said")
    log.warning("checkpoint.warned")


def test_levels_are_those_of_all_or_of_one_kind_of_events() -> None:
    stream = io.StringIO()
    configure_logs(stream)
    levels = LogLevels()
    levels.set("checkpoint", "WARN")
    _say()
    assert _lines(stream) == ["source.said", "checkpoint.warned"]
    levels.set("source", "DEBUG")
    _say()
    assert _lines(stream) == ["source.debugged", "source.said", "checkpoint.warned"]
    assert levels.set("root", "OFF") == ["checkpoint", "root", "source"]
    _say()
    assert _lines(stream) == []


@pytest.mark.parametrize("level", LEVELS)
def test_every_level_lets_through_what_is_not_below_it(level: str) -> None:
    stream = io.StringIO()
    configure_logs(stream)
    LogLevels().set("root", level)
    log.critical("source.x")
    log.debug("source.x")
    expected = (LEVELS[level] <= 50) + (LEVELS[level] <= 10)
    assert len(_lines(stream)) == expected


def test_those_who_listen_are_told_of_what_was_chosen_and_of_nothing_else() -> None:
    chosen, told = ChosenLevels(), list[dict[str, str]]()
    levels = LogLevels(chosen)
    with chosen.listen(lambda: told.append(dict(chosen.levels))):
        levels.set("checkpoint", "WARN")
        levels.set("source", "DEBUG")
    levels.set("root", "ERROR")
    assert told == [{"checkpoint": "WARN"}, {"checkpoint": "WARN", "source": "DEBUG"}]
    assert chosen.levels == {"checkpoint": "ERROR", "root": "ERROR", "source": "ERROR"}


def test_a_task_takes_over_the_levels_that_it_knows() -> None:
    stream = io.StringIO()
    configure_logs(stream)
    take_levels({"source": "DEBUG", "checkpoint": "OF_A_NEWER_RELEASE", "rest": "OFF"})
    _say()
    assert _lines(stream) == [
        "source.debugged",
        "source.said",
        "checkpoint.said",
        "checkpoint.warned",
    ]
    take_levels({"root": "WARN"})
    _say()
    assert _lines(stream) == ["checkpoint.warned"]


async def test_levels_are_shown_and_set(client: Client) -> None:
    assert await client.get("/admin/loggers") == {"root": {"level": "INFO", "last_modified": None}}
    status, body = await client.ask(
        "PUT", "/admin/loggers/checkpoint?scope=worker", json={"level": "debug"}
    )
    assert (status, body) == (200, ["checkpoint"])
    found = await client.get("/admin/loggers/checkpoint")
    assert found["level"] == "DEBUG"
    assert found["last_modified"] > 0
    assert (await client.get("/admin/loggers/source"))["level"] == "INFO"
    assert (await client.get("/admin/loggers")).keys() == {"checkpoint", "root"}


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/admin/loggers/org.apache.kafka", {"level": "DEBUG"}, 404),
        ("/admin/loggers/root", {"level": "LOUD"}, 404),
        ("/admin/loggers/root", {}, 400),
        ("/admin/loggers/root?scope=cluster", {"level": "DEBUG"}, 400),
    ],
)
async def test_what_cannot_be_set_is_refused(
    client: Client, path: str, body: dict[str, str], status: int
) -> None:
    assert (await client.ask("PUT", path, json=body))[0] == status
    assert (await client.get("/admin/loggers")).keys() == {"root"}
