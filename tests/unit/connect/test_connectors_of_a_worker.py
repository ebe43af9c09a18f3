"""Connectors of a worker come, go and change as the store says."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping

import pytest

from mm2.connect.connector import read_connector
from mm2.connect.worker_config import WorkerConfig
from mm2.core.connect.config_records import (
    ConnectorConfig,
    ConnectorTarget,
    Restart,
    TargetState,
)
from mm2.core.filters import TopicFilter
from mm2.core.model import TopicName
from mm2.errors import ConfigErrors
from mm2.rest.connector_protocol import TaskTarget
from mm2.rest.rest_errors import RestError
from tests.support.eventually import eventually_async
from tests.support.fake_worker import (
    CONNECTOR_CONFIG,
    FakeWorker,
)
from tests.support.virtual_time import run


@pytest.mark.parametrize(
    ("worker", "is_cut_off"),
    [({}, True), ({"task.shutdown.graceful.timeout.ms": "60000"}, False)],
)
def test_a_connector_is_cut_off_only_after_the_time_that_the_user_gives_its_tasks(
    worker: Mapping[str, str], *, is_cut_off: bool
) -> None:
    async def story() -> list[str]:
        world, stopping = (
            FakeWorker({"m": {**CONNECTOR_CONFIG, "name": "m", "topics": "slow"}}, worker=worker),
            asyncio.Event(),
        )
        async with asyncio.TaskGroup() as group:
            group.create_task(world.running.run(stopping))
            await asyncio.sleep(1)
            stopping.set()
        return world.told

    assert ("ended slow" not in run(story())) is is_cut_off


def test_connectors_run_as_the_store_wants_them() -> None:
    one, two = ({**CONNECTOR_CONFIG, "name": "m", "topics": topics} for topics in ("one", "two"))

    async def story() -> list[str]:
        world, stopping = FakeWorker({"m": one}), asyncio.Event()
        async with asyncio.TaskGroup() as group:
            group.create_task(world.running.run(stopping))
            for entry in (
                ConnectorTarget("m", TargetState.PAUSED),
                ConnectorTarget("m", TargetState.STARTED),
                ConnectorConfig("m", two),
                Restart("m", include_tasks=True, only_failed=False),
                ConnectorConfig("x", {"name": "x"}),
                ConnectorConfig("m", None),
            ):
                await asyncio.sleep(1)
                await world.store.add(entry)
            await asyncio.sleep(1)
            assert set(world.running.rejected) == {"x"}
            stopping.set()
        return world.told

    ones, twos = ["run one", "ended one"], ["run two", "ended two"]
    assert run(story()) == [*ones, *ones, *twos, *twos]


def test_a_connector_that_ends_for_good_leaves_the_others_alone() -> None:
    async def story() -> tuple[list[str], str | None, str | None]:
        configs = {n: {**CONNECTOR_CONFIG, "name": n, "topics": n} for n in ("bad", "good")}
        world, stopping = FakeWorker(configs), asyncio.Event()
        async with asyncio.TaskGroup() as group:
            group.create_task(world.running.run(stopping))
            await asyncio.sleep(1)
            failures = world.running.failure("bad"), world.running.failure("good")
            assert (await world.rest.status("bad")).connector.trace == "bad"
            stopping.set()
        return sorted(world.told), *failures

    assert run(story()) == (["ended good", "run bad", "run good"], "bad", None)


@pytest.mark.parametrize("topics", ["bad", "bad at its end"])
@pytest.mark.parametrize("is_deleted", [True, False])
def test_a_failure_is_of_the_configuration_that_failed(topics: str, *, is_deleted: bool) -> None:
    """Also if it fails while it ends, because it is to have another one."""

    async def story() -> str | None:
        config = {**CONNECTOR_CONFIG, "name": "m"}
        world, stopping = FakeWorker({"m": {**config, "topics": topics}}), asyncio.Event()
        gone = (ConnectorConfig("m", None), ConnectorTarget("m", None))
        async with asyncio.TaskGroup() as group:
            group.create_task(world.running.run(stopping))
            await asyncio.sleep(1)
            await world.store.add(*gone if is_deleted else ())
            await asyncio.sleep(1)
            paused = ConnectorTarget("m", TargetState.PAUSED)
            await world.store.add(paused, ConnectorConfig("m", {**config, "topics": "good"}))
            await asyncio.sleep(1)
            stopping.set()
        return world.running.failure("m")

    assert run(story()) is None


async def test_a_worker_says_which_of_its_connectors_are_not_ready_and_why() -> None:
    sources = {"away": "127.0.0.1:1", "bad": "127.0.0.1:2"}
    configs = {
        name: {
            **CONNECTOR_CONFIG,
            "name": name,
            "topics": name,
            "source.cluster.bootstrap.servers": servers,
        }
        for name, servers in sources.items()
    }
    worker = {"bootstrap.servers": "127.0.0.1:3"}
    world, stopping = FakeWorker({**configs, "x": {"name": "x"}}, worker=worker), asyncio.Event()
    async with asyncio.TaskGroup() as group:
        group.create_task(world.running.run(stopping))
        await eventually_async(_failure_of(world, "bad"), until=lambda failure: failure == "bad")
        found = await world.rest.readiness(None)
        assert found.flows.keys() == {"away", "bad", "x"}
        assert "refuses connections" in str(found.flows["away"])
        assert found.flows["bad"] == "bad"
        assert "connector.class" in str(found.flows["x"])
        assert {servers for _, servers in found.clusters} == {*sources.values(), "127.0.0.1:3"}
        assert all("refuses connections" in str(reason) for reason in found.clusters.values())
        assert (await world.rest.readiness("away")).flows.keys() == {"away"}
        with pytest.raises(RestError):
            await world.rest.readiness("nobody")
        stopping.set()


def _failure_of(world: FakeWorker, name: str) -> Callable[[], Awaitable[str | None]]:
    async def failure() -> str | None:
        return world.running.failure(name)

    return failure


class EndsTheProcess(TopicFilter):
    """A filter that ends the process as soon as it is made."""

    def __init__(self) -> None:
        raise SystemExit(2)

    def should_replicate_topic(self, topic: TopicName) -> bool:
        raise AssertionError(topic)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("venv.__main__:X", "plugin.allowed.prefixes of the node's file does not allow it"),
        (f"{__name__}:EndsTheProcess", "cannot be created without arguments: SystemExit(2)"),
    ],
)
async def test_a_class_that_is_stored_ends_its_connector_and_no_worker(
    name: str, reason: str
) -> None:
    bad = {**CONNECTOR_CONFIG, "name": "bad", "topic.filter.class": name}
    configs = {"bad": bad, "good": {**CONNECTOR_CONFIG, "name": "good", "topics": "good"}}
    world = FakeWorker(configs, worker={"plugin.allowed.prefixes": __name__})
    stopping = asyncio.Event()

    async def failed() -> bool:
        state = (await world.rest.status("bad")).connector
        return state.state == "FAILED" and reason in str(state.trace) and "run good" in world.told

    async with asyncio.TaskGroup() as group:
        group.create_task(world.running.run(stopping))
        await eventually_async(failed)
        stopping.set()
    assert world.told == ["run good", "ended good"]


async def test_a_class_that_the_worker_does_not_allow_is_not_taken_over_rest() -> None:
    rest = FakeWorker().rest
    with pytest.raises(ConfigErrors, match=r"plugin\.allowed\.prefixes"):
        await rest.create(
            "m",
            {**CONNECTOR_CONFIG, "replication.policy.class": "venv.__main__:X"},
            TaskTarget.RUNNING,
        )
    assert not await rest.names()


def test_a_class_that_a_connector_s_own_file_names_needs_no_permission() -> None:
    named = {**CONNECTOR_CONFIG, "name": "m", "topic.filter.class": "acme:Filter"}
    worker = WorkerConfig(raw={}, is_distributed=False, classes=frozenset({"acme:Filter"}))
    assert read_connector(named, worker).flow.source.properties["topic.filter.class"]
    with pytest.raises(ConfigErrors, match="does not allow it"):
        read_connector({**named, "group.filter.class": "acme:Other"}, worker)


def test_a_connector_that_does_not_end_holds_the_others_up_for_some_seconds_only() -> None:
    async def story() -> tuple[list[str], float]:
        world, stopping = (
            FakeWorker({"m": {**CONNECTOR_CONFIG, "name": "m", "topics": "deaf"}}),
            asyncio.Event(),
        )
        async with asyncio.TaskGroup() as group:
            group.create_task(world.running.run(stopping))
            await asyncio.sleep(1)
            await world.store.add(
                ConnectorConfig("m", {**CONNECTOR_CONFIG, "name": "m", "topics": "one"})
            )
            await asyncio.sleep(30)
            stopping.set()
        return world.told, asyncio.get_running_loop().time()

    assert run(story()) == (["run deaf", "run one", "ended one"], 31)


@pytest.mark.parametrize(
    "strange",
    [
        {"topics": "${file:/nowhere:key}"},
        {"source.cluster.sasl.jaas.config": "${file:/nowhere:key}"},
        {"topics": "${file:/dev/zero:key}"},
        {"topics": "half of a character: \ud800"},
    ],
)
def test_a_connector_that_cannot_be_read_leaves_the_others_alone(
    strange: Mapping[str, str],
) -> None:
    worker = {
        "config.providers": "file",
        "config.providers.file.class": "org.apache.kafka.common.config.provider.FileConfigProvider",
    }

    async def story() -> tuple[list[str], set[str]]:
        good = {**CONNECTOR_CONFIG, "name": "good", "topics": "good"}
        world, stopping = FakeWorker({"good": good}, worker=worker), asyncio.Event()
        async with asyncio.TaskGroup() as group:
            group.create_task(world.running.run(stopping))
            await asyncio.sleep(1)
            await world.store.add(
                ConnectorConfig("bad", {**CONNECTOR_CONFIG, "name": "bad", **strange})
            )
            await asyncio.sleep(1)
            rejected, told = set(world.running.rejected), list(world.told)
            stopping.set()
        return told, rejected

    assert run(story()) == (["run good"], {"bad"})
