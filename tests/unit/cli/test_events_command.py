"""``mm2 events``: asks a node, filters, and says what is in the way."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import web
from click.testing import CliRunner, Result

from mm2.cli.flows.events_command import _EventFilter, _follow
from mm2.cli.mm2 import main
from mm2.config.rest_settings import Listener
from mm2.rest.client.node_client import NodeAddress
from mm2.telemetry.recent_events import KEPT, RecentEvents
from tests.support.certificates import PASSWORD, Certified
from tests.support.configs import TWO_CLUSTERS_TEXT
from tests.support.eventually import eventually_async
from tests.support.fake_connectors import FakeConnectors
from tests.support.rest import Client, interface, settings


def _log(events: RecentEvents, level: str, name: str, **fields: object) -> None:
    time = "2026-11-23T14:00:00Z"
    events(None, level, {"event": name, "level": level, "timestamp": time, **fields})


@pytest.fixture
def logged() -> RecentEvents:
    events = RecentEvents()
    _log(events, "debug", "heartbeat.sent", flow="A->B", topic="heartbeats")
    _log(events, "info", "flow.led", flow="A->B", epoch=7)
    _log(events, "warning", "cluster.unreachable", flow="B->A", cluster="A")
    _log(events, "info", "driver.started", version="1")
    return events


@pytest.fixture
async def node(logged: RecentEvents) -> AsyncIterator[Client]:
    async with interface(FakeConnectors(), events=logged) as client:
        yield client


async def _run(*words: str) -> Result:
    return await asyncio.to_thread(CliRunner().invoke, main, ["events", *words])


async def _names(*words: str) -> list[str]:
    result = await _run(*words, "--format", "json")
    assert result.exit_code == 0, result.stderr
    return [each["name"] for each in json.loads(result.stdout)]


@pytest.mark.parametrize(
    ("words", "names"),
    [
        ("", "heartbeat.sent flow.led cluster.unreachable driver.started"),
        ("--level warning", "cluster.unreachable"),
        ("--level INFO --flow A->B", "flow.led"),
        ("--name flow.* --name driver.started", "flow.led driver.started"),
        ("--last 2", "cluster.unreachable driver.started"),
    ],
)
async def test_events_are_filtered(node: Client, words: str, names: str) -> None:
    assert await _names("--url", node.url, *words.split()) == names.split()


async def test_people_get_a_table(node: Client) -> None:
    result = await _run("--url", f"{node.url}/", "--level", "warning")
    head, line = result.stdout.splitlines()
    assert head.split() == ["TIME", "LEVEL", "EVENT", "FLOW", "DETAILS"]
    assert line.split()[1:] == ["warning", "cluster.unreachable", "B->A", "cluster=A"]


async def test_the_node_is_found_by_the_file(node: Client, tmp_path: Path) -> None:
    file = tmp_path / "mm2.properties"
    file.write_text(f"{TWO_CLUSTERS_TEXT}\nlisteners = {node.url}\n")
    assert len(await _names(str(file))) == 4
    result = await _run(str(file), "--flow", "A->X")
    assert (result.exit_code, "there is no such flow" in result.stderr) == (2, True)


async def test_a_login_is_asked_for(
    logged: RecentEvents, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    passwords = tmp_path / "passwords"
    passwords.write_text("anna=s3cret\n")
    of = settings(passwords_file=str(passwords))
    async with interface(FakeConnectors(), of, events=logged) as node:
        result = await _run("--url", node.url)
        assert (result.exit_code, "give --user" in result.stderr) == (3, True)
        monkeypatch.setenv("MM2_REST_PASSWORD", "s3cret")
        assert len(await _names("--url", node.url, "--user", "anna")) == 4
        monkeypatch.setenv("MM2_REST_PASSWORD", "other")
        result = await _run("--url", node.url, "--user", "anna")
        assert (result.exit_code, "refuses the login" in result.stderr) == (3, True)


async def test_a_certificate_has_to_be_trusted(logged: RecentEvents, tmp_path: Path) -> None:
    authority = Certified.authority("authority")
    store = authority.issue("node").keystore(tmp_path / "node.p12", authority)
    tls = {"ssl.keystore.location": str(store), "ssl.keystore.password": PASSWORD}
    of = settings(listeners=(Listener("https", "localhost", 0),), tls=tls)
    trusted = authority.truststore(tmp_path / "trust.p12")
    client = tmp_path / "client.properties"
    client.write_text(
        f"ssl.truststore.location = {trusted}\nssl.truststore.password = {PASSWORD}\n"
    )
    async with interface(FakeConnectors(), of, events=logged) as node:
        result = await _run("--url", node.url)
        assert (result.exit_code, "is not trusted" in result.stderr) == (3, True)
        assert len(await _names("--url", node.url, "--command-config", str(client))) == 4


async def test_what_is_no_node_is_told_from_one(unused_tcp_port: int) -> None:
    runner = web.AppRunner(web.Application())
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", unused_tcp_port).start()
        result = await _run("--url", f"http://127.0.0.1:{unused_tcp_port}")
    finally:
        await runner.cleanup()
    assert (result.exit_code, "it is no node of mm2" in result.stderr) == (3, True)
    result = await _run("--url", f"http://127.0.0.1:{unused_tcp_port}")
    assert (result.exit_code, "does not answer" in result.stderr) == (3, True)


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        ("FILE --name flow.lead", 2, "there is no such event"),
        ("FILE --follow --watch 1", 2, "choose one"),
        ("FILE --url host:8083", 2, "write it as http://HOST:PORT"),
        ("none", 2, "cannot read none"),
        ("ANY_PORT", 3, "name the node with --url"),
        ("OFF", 3, "rest.enabled"),
    ],
)
async def test_what_cannot_be_asked_is_said(
    tmp_path: Path, words: str, status: int, message: str
) -> None:
    given = words
    for name, more in (
        ("FILE", ""),
        ("ANY_PORT", "listeners = http://127.0.0.1:0"),
        ("OFF", "rest.enabled = false"),
    ):
        file = tmp_path / name
        file.write_text(f"{TWO_CLUSTERS_TEXT}\n{more}\n")
        given = given.replace(name, str(file))
    result = await _run(*given.split())
    assert (result.exit_code, message in result.stderr) == (status, True), result.stderr


async def test_new_events_are_followed_also_over_a_time_without_the_node(
    logged: RecentEvents, capsys: pytest.CaptureFixture[str], unused_tcp_port: int
) -> None:
    listener = Listener("http", "127.0.0.1", unused_tcp_port)
    address = NodeAddress(url=str(listener))
    seen: list[str] = []

    async def has(text: str) -> bool:
        said = capsys.readouterr()
        seen.append(said.out + said.err)
        return text in "".join(seen)

    async with asyncio.TaskGroup() as tasks:
        async with interface(FakeConnectors(), settings(listeners=(listener,)), events=logged):
            following = tasks.create_task(
                _follow(address, _EventFilter("info", None, (), 50), "table"), name="follow"
            )
            await eventually_async(lambda: has("driver.started"))
            _log(logged, "info", "flow.stopped", flow="A->B")
            await eventually_async(lambda: has("flow.stopped A->B"))
            for number in range(60):
                _log(logged, "info", "burst.logged", number=number)
            await eventually_async(lambda: has("number=59"))
            for number in range(KEPT + 7):
                _log(logged, "debug", "heartbeat.sent", number=number)
            await eventually_async(lambda: has("7 events are missing here"))
        await eventually_async(lambda: has("It is asked again."))
        again = RecentEvents()
        _log(again, "info", "driver.stopped")
        async with interface(FakeConnectors(), settings(listeners=(listener,)), events=again):
            await eventually_async(lambda: has("driver.stopped"))
        following.cancel()
    assert "".join(seen).count("flow.led") == 1
    assert "".join(seen).count("burst.logged") == 60
    assert "".join(seen).count("are missing here") == 1
