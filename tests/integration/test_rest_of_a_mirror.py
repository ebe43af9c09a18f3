"""The REST interface over flows of real clusters, asked as kafbat UI asks."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from operator import lt
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from aiohttp import ClientSession

from mm2.config.flow_config import flow_config
from mm2.config.mirror_maker_config import load_maker
from mm2.demo.broker_settings import free_ports
from mm2.herder.view.followed_flows import FollowedFlows
from mm2.protocol.command_records import Alterations
from mm2.protocol.control_codec import encode_control
from mm2.rest.flow_connectors import FlowConnectors
from tests.support.cluster import Cluster
from tests.support.eventually import eventually, eventually_async
from tests.support.kafbat import ANSWERS, check_answer
from tests.support.mirror import Mirror, properties
from tests.support.raw import log_of, records_in
from tests.support.records import Sample, consume, create_topic, produce
from tests.support.rest import Client, interface
from tests.support.rest_contract import check_connectors

pytestmark = [pytest.mark.broker, pytest.mark.timeout(240)]

CLASS = "org.apache.kafka.connect.mirror.MirrorSourceConnector"


@dataclass(frozen=True)
class _Running:
    """A flow of one topic that a node runs."""

    mirror: Mirror
    source: Cluster
    target: Cluster
    alias: str
    topic: str

    @property
    def connector(self) -> str:
        return f"{self.alias}->T.MirrorSourceConnector"

    @property
    def url(self) -> str:
        """Where the node listens, by its log."""
        (line,) = [each for each in self.mirror.text().splitlines() if "rest.listening" in each]
        return str(json.loads(line)["advertised"])

    def restarts(self) -> int:
        """How often a task was begun anew, by the node's log."""
        return self.mirror.text().count('"bundle.restarted"')

    def write(self, *values: bytes) -> None:
        produce(self.source.bootstrap, self.topic, [Sample(value=value) for value in values])

    def alter(self, changes: Mapping[str, str]) -> None:
        """As one does who may write to the control topic, and asks nobody."""
        key, value = encode_control(Alterations(changes=changes, time_ms=time.time_ns() // 10**6))
        topic = f"mm2-control.{self.alias}.internal"
        produce(self.target.bootstrap, topic, [Sample(key=key, value=value)])

    def copied(self) -> list[bytes | None]:
        log = log_of(self.target.bootstrap, f"{self.alias}.{self.topic}")
        return [record.value for record in records_in(log)]


@pytest.fixture
def running(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path
) -> Iterator[_Running]:
    alias = f"S{unique[-8:]}"
    create_topic(cluster_a.bootstrap, unique)
    settings = {
        f"{alias}->T.enabled": "true",
        f"{alias}->T.topics": unique,
        f"T->{alias}.emit.heartbeats.enabled": "false",
        "heartbeats.replication.enabled": "false",
        "listeners": "http://127.0.0.1:0",
        "rest.read.only": "false",
        f"{alias}.ssl.key.password": "s3cret",
    }
    text = properties({alias: cluster_a.bootstrap, "T": cluster_b.bootstrap}, settings)
    with Mirror(tmp_path, text) as mirror:
        yield _Running(mirror, cluster_a, cluster_b, alias, unique)


class _Kafbat:
    """Asks as kafbat UI does, and checks that it could read each answer."""

    def __init__(self, client: Client, connector: str) -> None:
        self._client = client
        self._names = {"c": quote(connector, safe=""), "t": "0", "p": CLASS}
        self.asked: set[tuple[str, str]] = set()

    async def ask(self, method: str, path: str, body: object = None) -> Any:
        options = {} if body is None else {"json": body}
        status, answer = await self._client.ask(method, path.format(**self._names), **options)
        check_answer(method, path, status, answer)
        self.asked.add((method, path))
        return answer

    async def until(self, state: str, tasks: int) -> None:
        """Waits for a state of the connector."""

        async def look() -> bool:
            status = await self.ask("GET", "/connectors/{c}/status")
            states = [task["state"] for task in status["tasks"]]
            assert (status["connector"]["state"], states) == (state, [state] * tasks)
            return True

        await eventually_async(look)


@asynccontextmanager
async def _node(file: Path) -> AsyncIterator[Client]:
    """The interface of a node that has a file and runs nothing of it."""
    maker = load_maker(file)
    flows = [flow_config(maker, flow) for flow in maker.cluster_pairs()]
    async with asyncio.TaskGroup() as tasks, asyncio.timeout(120):
        views = FollowedFlows(tasks, idle_s=1)
        async with interface(FlowConnectors(lambda: flows, views)) as client:
            yield client


async def test_any_node_shows_and_steers_flows_of_its_file(
    cluster_a: Cluster, cluster_b: Cluster, unique: str, tmp_path: Path
) -> None:
    alias = f"S{unique[-8:]}"
    create_topic(cluster_a.bootstrap, unique)
    produce(cluster_a.bootstrap, unique, [Sample(value=b"1"), Sample(value=b"2")])
    settings = {
        f"{alias}->T.enabled": "true",
        f"{alias}->T.topics": unique,
        f"T->{alias}.emit.heartbeats.enabled": "false",
        f"{alias}.ssl.key.password": "s3cret",
    }
    file = tmp_path / "mm2.properties"
    file.write_text(properties({alias: cluster_a.bootstrap, "T": cluster_b.bootstrap}, settings))
    name = f"{alias}->T.MirrorSourceConnector"
    config = f"/connectors/{quote(name, safe='')}/config"
    async with _node(file) as one, _node(file) as another:
        await check_connectors(one, name, {"cluster": alias, "partition": 0, "topic": unique})
        wrong = {"tasks.max": "many", "sync.topic.acls.enabled": "maybe"}
        status, body = await one.ask("PATCH", config, json=wrong)
        assert status == 400
        assert all(key in body["message"] for key in wrong), "all that is wrong"
        assert (await one.ask("PATCH", config, json={"tasks.max": "3"}))[0] == 200
        assert (await another.get(config))["tasks.max"] == "3"
        assert "s3cret" not in json.dumps(await another.get("/connectors?expand=info"))


async def test_configurations_are_shown_while_the_target_is_away(tmp_path: Path) -> None:
    """A file's flows used to have none then, so that nobody saw what was wrong with them."""
    (port,) = free_ports(1)
    settings = {"A->B.enabled": "true", "A->B.topics": "orders"}
    file = tmp_path / "mm2.properties"
    nowhere = f"127.0.0.1:{port}"
    file.write_text(properties({"A": nowhere, "B": nowhere}, settings))
    name = "A->B.MirrorSourceConnector"
    path = f"/connectors/{quote(name, safe='')}"
    async with _node(file) as client:
        info = (await client.get("/connectors?expand=info"))[name]["info"]
        assert (info["config"]["topics"], info["tasks"]) == ("orders", [])
        # Whoever edits these and sends them back would undo alterations that cannot be seen.
        asked = (client.ask("GET", each) for each in (path, f"{path}/config", f"{path}/status"))
        assert [status for status, _ in await asyncio.gather(*asked)] == [503, 503, 503]


async def test_kafbat_ui_shows_and_steers_a_flow(running: _Running) -> None:
    running.write(b"1", b"2")
    remote = f"{running.alias}.{running.topic}"
    await asyncio.to_thread(consume, running.target.bootstrap, remote, 2, timeout=90)
    url = await asyncio.to_thread(eventually, lambda: running.url)
    async with ClientSession() as session:
        client = Client(session, url)
        ui = _Kafbat(client, running.connector)
        await ui.until("RUNNING", 1)
        await _shown(ui, running)
        await _altered(ui)
        await _paused_and_resumed(ui, running)
        await _rewound(ui, client, running)
        assert ui.asked == ANSWERS.keys(), "all that it can ask"
        assert "s3cret" not in json.dumps(await client.get("/connectors?expand=info"))
    assert running.mirror.stop() == 0


async def test_what_is_not_in_the_file_neither_runs_code_nor_moves_clients(
    running: _Running,
) -> None:
    """Not over REST, nor by a record of the control topic, whoever wrote it there."""
    running.write(b"1")
    await asyncio.to_thread(eventually, running.copied, until=lambda seen: len(seen) >= 1)
    ends = {"topic.filter.class": "venv.__main__:X"}
    leads = {"source.consumer.bootstrap.servers": "127.0.0.1:1"}
    url = await asyncio.to_thread(eventually, lambda: running.url)
    async with ClientSession() as session:
        client = Client(session, url)
        path = f"/connectors/{quote(running.connector, safe='')}"
        for changes, reason in ((ends, "plugin.allowed.prefixes"), (leads, "where to connect")):
            status, answer = await client.ask("PATCH", f"{path}/config", json=changes)
            assert (status, reason in answer["message"]) == (400, True), answer

        await asyncio.to_thread(running.alter, {**ends, **leads})

        async def failed() -> bool:
            state = (await client.get(f"{path}/status"))["connector"]
            return state["state"] == "FAILED" and "plugin.allowed.prefixes" in state["trace"]

        await eventually_async(failed)
        assert "source.consumer.bootstrap.servers says where to connect" in running.mirror.text()
        await asyncio.to_thread(running.alter, leads)
        running.write(b"2")
        await asyncio.to_thread(eventually, running.copied, until=lambda seen: len(seen) >= 2)
        await eventually_async(lambda: _is_running(client, path))
    assert running.mirror.stop() == 0
    assert await asyncio.to_thread(running.copied) == [b"1", b"2"]


async def _is_running(client: Client, path: str) -> bool:
    return bool((await client.get(f"{path}/status"))["connector"]["state"] == "RUNNING")


async def _shown(ui: _Kafbat, running: _Running) -> None:
    assert (await ui.ask("GET", "/"))["version"] == "4.3.0"
    listed = await ui.ask("GET", "/connectors?expand=status&expand=info")
    assert set(listed) == {
        f"{running.alias}->T.Mirror{kind}Connector"
        for kind in ("Source", "Checkpoint", "Heartbeat")
    }
    assert (await ui.ask("GET", "/connectors/{c}"))["tasks"] == [
        {"connector": running.connector, "task": 0}
    ]
    (task,) = await ui.ask("GET", "/connectors/{c}/tasks")
    assert task["config"]["task.assigned.partitions"] == f"{running.topic}-0"
    assert (await ui.ask("GET", "/connectors/{c}/tasks/{t}/status"))["state"] == "RUNNING"
    topics = await ui.ask("GET", "/connectors/{c}/topics")
    assert topics == {running.connector: {"topics": [f"{running.alias}.{running.topic}"]}}
    assert CLASS in {each["class"] for each in await ui.ask("GET", "/connector-plugins")}


async def test_a_level_reaches_tasks_that_run_and_those_that_start_later(
    running: _Running,
) -> None:
    def committed() -> bool:
        """By the task that was begun last; what it is to commit is written now."""
        running.write(b"x")
        newest = running.mirror.text().rpartition('"bundle.restarted"')[2]
        return '"positions.committed"' in newest

    running.write(b"1")
    await asyncio.to_thread(eventually, running.copied)
    assert not committed()
    url = await asyncio.to_thread(eventually, lambda: running.url)
    async with ClientSession() as session:
        client = Client(session, url)
        path = "/admin/loggers/positions"
        assert (await client.ask("PUT", path, json={"level": "DEBUG"}))[0] == 200
        await asyncio.to_thread(eventually, committed)
        before = running.restarts()
        task = f"/connectors/{quote(running.connector, safe='')}/tasks/0/restart"
        assert (await client.ask("POST", task))[0] == 204
        await asyncio.to_thread(eventually, running.restarts, until=partial(lt, before))
        await asyncio.to_thread(eventually, committed)


async def _altered(ui: _Kafbat) -> None:
    config = await ui.ask("GET", "/connectors/{c}/config")
    changed = {**config, "flow.byte.rate.limit": "1000000"}
    validated = await ui.ask("PUT", "/connector-plugins/{p}/config/validate", changed)
    assert validated["error_count"] == 0
    answer = await ui.ask("PUT", "/connectors/{c}/config", changed)
    assert answer["config"] == changed
    assert (await ui.ask("PUT", "/connectors/{c}/config", config))["config"] == config


async def _paused_and_resumed(ui: _Kafbat, running: _Running) -> None:
    await ui.ask("PUT", "/connectors/{c}/pause")
    await ui.until("PAUSED", 1)
    running.write(b"3")
    await ui.ask("PUT", "/connectors/{c}/resume")
    await ui.until("RUNNING", 1)
    await asyncio.to_thread(eventually, running.copied, until=lambda seen: len(seen) >= 3)
    for path in ("restart?includeTasks=false&onlyFailed=false", "tasks/{t}/restart"):
        before = running.restarts()
        await ui.ask("POST", f"/connectors/{{c}}/{path}")
        await asyncio.to_thread(eventually, running.restarts, until=partial(lt, before))
        await ui.until("RUNNING", 1)
    assert await asyncio.to_thread(running.copied) == [b"1", b"2", b"3"]


async def _rewound(ui: _Kafbat, client: Client, running: _Running) -> None:
    """Offsets are altered, which only a stopped connector allows, and copying begins there."""
    where = {"cluster": running.alias, "partition": 0, "topic": running.topic}
    asked = {"offsets": [{"partition": where, "offset": {"offset": 1}}]}
    path = f"/connectors/{quote(running.connector, safe='')}/offsets"
    assert (await client.ask("PATCH", path, json=asked))[0] == 400
    await ui.ask("PUT", "/connectors/{c}/stop")
    await ui.until("STOPPED", 0)
    await eventually_async(lambda: _granted(client, "PATCH", path, json=asked))
    assert await ui.ask("GET", "/connectors/{c}/offsets") == asked
    await ui.ask("PUT", "/connectors/{c}/resume")
    await asyncio.to_thread(eventually, running.copied, until=lambda seen: len(seen) >= 4)
    await ui.ask("PUT", "/connectors/{c}/stop")
    await ui.until("STOPPED", 0)
    await eventually_async(lambda: ui.ask("DELETE", "/connectors/{c}/offsets"))
    assert await ui.ask("GET", "/connectors/{c}/offsets") == {"offsets": []}
    assert await asyncio.to_thread(running.copied) == [b"1", b"2", b"3", b"3"]


async def _granted(client: Client, method: str, path: str, **options: Any) -> bool:
    status, body = await client.ask(method, path, **options)
    assert status == 200, body
    return True


@pytest.mark.parametrize("allowed", [False, True])
async def test_what_providers_can_read_is_not_told_over_rest(
    cluster_b: Cluster, unique: str, tmp_path: Path, *, allowed: bool
) -> None:
    alias, secret = f"S{unique[-8:]}", "t0psecret"
    (tmp_path / "secrets").write_text(f"store={secret}\nservers=127.0.0.1:1\n")
    written = f"${{file:{tmp_path}/secrets:%s}}"
    settings = {
        "config.providers": "file",
        "config.providers.file.class": (
            "org.apache.kafka.common.config.provider.FileConfigProvider"
        ),
        f"{alias}->T.enabled": "true",
        f"{alias}->T.groups": written % "servers",
        f"T->{alias}.emit.heartbeats.enabled": "false",
        "rest.config.providers.enabled": str(allowed).lower(),
    }
    file = tmp_path / "mm2.properties"
    file.write_text(properties({alias: "127.0.0.1:1", "T": cluster_b.bootstrap}, settings))
    name = quote(f"{alias}->T.MirrorSourceConnector", safe="")
    async with _node(file) as client:
        for key in ("tasks.max", "topics", "client.id", "topic.filter.class"):
            change = {key: written % "store"}
            status, answer = await client.ask("PATCH", f"/connectors/{name}/config", json=change)
            assert secret not in str(answer)
            if not allowed:
                assert status == 400
                assert "rest.config.providers.enabled" in answer["message"]
            elif key in ("tasks.max", "topic.filter.class"):
                assert status == 400
        present = await client.get(f"/connectors/{name}/config")
        assert written % "servers" in present.values()
        assert (present.get("topics") == written % "store") == allowed
        changed = {**present, "tasks.max": "3"}
        status, answer = await client.ask("PUT", f"/connectors/{name}/config", json=changed)
        assert (status, answer["config"]["tasks.max"]) == (200, "3")
        assert secret not in str(answer)
