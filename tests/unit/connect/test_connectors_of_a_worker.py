"""Connectors of a worker come, go and change as REST and the store say."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus
from typing import cast

import pytest

from mm2.config.flow_config import FlowConfig
from mm2.connect.connector import Connector, read_connector
from mm2.connect.memory_store import MemoryStore
from mm2.connect.running_connectors import RunningConnectors
from mm2.connect.worker_config import WorkerConfig
from mm2.connect.worker_connectors import WorkerConnectors
from mm2.connect.worker_rest import worker_plugins
from mm2.connect.worker_status_topic import WorkerStatusTopic
from mm2.core.connect.config_records import (
    ConnectorConfig,
    Entry,
    Restart,
    TargetState,
    WantedState,
)
from mm2.core.connect.status_records import ConnectorKey, RunState, Status, TaskKey, encode_status
from mm2.core.filters import TopicFilter
from mm2.core.model import TopicName
from mm2.errors import ConfigErrors, Unavailable
from mm2.herder.view.flow_follower import ConnectorView, FlowView, LeaderView, TaskView
from mm2.rest.connector_protocol import State, TaskTarget
from mm2.rest.followed_flows import FlowViews
from mm2.rest.rest_errors import RestError
from tests.support.eventually import eventually_async
from tests.support.virtual_time import run

_CONFIG = {
    "connector.class": "MirrorSourceConnector",
    "source.cluster.alias": "A",
    "target.cluster.alias": "B",
    "source.cluster.bootstrap.servers": "a:1",
    "source.cluster.sasl.jaas.config": "secret",
}


class _Flow:
    """A flow that runs until it is stopped, and says what happens to it."""

    def __init__(self, connector: Connector, told: list[str]) -> None:
        self._topics = connector.flow.source.properties.get("topics", ".*")
        self._told = told
        self._stopping = asyncio.Event()

    async def run(self) -> None:
        self._told.append(f"run {self._topics}")
        if self._topics == "deaf":
            await asyncio.Event().wait()
        if self._topics == "bad":
            raise ValueError("bad")
        await self._stopping.wait()
        if self._topics == "slow":
            await asyncio.sleep(40)
        self._told.append(f"ended {self._topics}")

    def stop(self) -> None:
        self._stopping.set()


class _Away:
    """Views of flows whose targets do not answer."""

    async def of(self, config: FlowConfig) -> FlowView:
        raise Unavailable(config.flow.target, "no answer")


class _Led:
    """Views of flows that somebody leads, until he has released them."""

    def __init__(self) -> None:
        self.is_led = True

    async def of(self, config: FlowConfig) -> FlowView:
        leader = LeaderView(epoch=1, worker_id="leader", age_ms=0, is_alive=self.is_led)
        running = ConnectorView(
            name="MirrorSourceConnector",
            wanted=RunState.RUNNING,
            state=RunState.RUNNING,
            worker_id="leader",
            generation=1,
            tasks=(TaskView(task=0, state=RunState.RUNNING, worker_id="leader", generation=1),),
        )
        return FlowView(flow=config.flow, time_ms=0, leader=leader, connectors=(running,))


class _Said(WorkerStatusTopic):
    """A status topic without a cluster."""

    def __init__(self) -> None:
        super().__init__(WorkerConfig(raw={}, is_distributed=False))

    def say(self, key: ConnectorKey | TaskKey, state: RunState) -> None:
        """Somebody has written this."""
        trace = "why" if state is RunState.FAILED else None
        status = Status(state=state, worker_id="w", generation=1, trace=trace)
        self._take(*encode_status(key, status))


class _World:
    """A worker without Kafka."""

    def __init__(
        self,
        configs: Mapping[str, Mapping[str, str]] | None = None,
        views: _Away | _Led | None = None,
        board: WorkerStatusTopic | None = None,
        worker: Mapping[str, str] | None = None,
    ) -> None:
        self.worker = WorkerConfig(raw=worker or {}, is_distributed=False)
        self.told: list[str] = []
        self.store = MemoryStore(ConnectorConfig(n, c) for n, c in (configs or {}).items())
        self.running = RunningConnectors(
            self.worker, self.store, lambda connector: _Flow(connector, self.told), "w"
        )
        self.rest = WorkerConnectors(
            self.worker, self.store, self.running, cast("FlowViews", views or _Away()), board
        )


@pytest.mark.parametrize(
    ("worker", "is_cut_off"),
    [({}, True), ({"task.shutdown.graceful.timeout.ms": "60000"}, False)],
)
def test_a_connector_is_cut_off_only_after_the_time_that_the_user_gives_its_tasks(
    worker: Mapping[str, str], *, is_cut_off: bool
) -> None:
    async def story() -> list[str]:
        world, stopping = (
            _World({"m": {**_CONFIG, "name": "m", "topics": "slow"}}, worker=worker),
            asyncio.Event(),
        )
        async with asyncio.TaskGroup() as group:
            group.create_task(world.running.run(stopping))
            await asyncio.sleep(1)
            stopping.set()
        return world.told

    assert ("ended slow" not in run(story())) is is_cut_off


def test_connectors_run_as_the_store_wants_them() -> None:
    one, two = ({**_CONFIG, "name": "m", "topics": topics} for topics in ("one", "two"))

    async def story() -> list[str]:
        world, stopping = _World({"m": one}), asyncio.Event()
        async with asyncio.TaskGroup() as group:
            group.create_task(world.running.run(stopping))
            for entry in (
                WantedState("m", TargetState.PAUSED),
                WantedState("m", TargetState.STARTED),
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
        configs = {n: {**_CONFIG, "name": n, "topics": n} for n in ("bad", "good")}
        world, stopping = _World(configs), asyncio.Event()
        async with asyncio.TaskGroup() as group:
            group.create_task(world.running.run(stopping))
            await asyncio.sleep(1)
            failures = world.running.failure("bad"), world.running.failure("good")
            assert (await world.rest.status("bad")).connector.trace == "bad"
            stopping.set()
        return sorted(world.told), *failures

    assert run(story()) == (["ended good", "run bad", "run good"], "bad", None)


async def test_a_worker_says_which_of_its_connectors_are_not_ready_and_why() -> None:
    sources = {"away": "127.0.0.1:1", "bad": "127.0.0.1:2"}
    configs = {
        name: {**_CONFIG, "name": name, "topics": name, "source.cluster.bootstrap.servers": servers}
        for name, servers in sources.items()
    }
    worker = {"bootstrap.servers": "127.0.0.1:3"}
    world, stopping = _World({**configs, "x": {"name": "x"}}, worker=worker), asyncio.Event()
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


def _failure_of(world: _World, name: str) -> Callable[[], Awaitable[str | None]]:
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
    bad = {**_CONFIG, "name": "bad", "topic.filter.class": name}
    configs = {"bad": bad, "good": {**_CONFIG, "name": "good", "topics": "good"}}
    world = _World(configs, worker={"plugin.allowed.prefixes": __name__})
    stopping = asyncio.Event()

    async def failed() -> bool:
        state = (await world.rest.status("bad")).connector
        return state.state == "FAILED" and reason in state.trace and "run good" in world.told

    async with asyncio.TaskGroup() as group:
        group.create_task(world.running.run(stopping))
        await eventually_async(failed)
        stopping.set()
    assert world.told == ["run good", "ended good"]


async def test_a_class_that_the_worker_does_not_allow_is_not_taken_over_rest() -> None:
    rest = _World().rest
    with pytest.raises(ConfigErrors, match=r"plugin\.allowed\.prefixes"):
        await rest.create(
            "m", {**_CONFIG, "replication.policy.class": "venv.__main__:X"}, TaskTarget.RUNNING
        )
    assert not await rest.names()


def test_a_class_that_a_connector_s_own_file_names_needs_no_permission() -> None:
    named = {**_CONFIG, "name": "m", "topic.filter.class": "acme:Filter"}
    worker = WorkerConfig(raw={}, is_distributed=False, classes=frozenset({"acme:Filter"}))
    assert read_connector(named, worker).flow.source.properties["topic.filter.class"]
    with pytest.raises(ConfigErrors, match="does not allow it"):
        read_connector({**named, "group.filter.class": "acme:Other"}, worker)


def test_a_connector_that_does_not_end_holds_the_others_up_for_some_seconds_only() -> None:
    async def story() -> tuple[list[str], float]:
        world, stopping = _World({"m": {**_CONFIG, "name": "m", "topics": "deaf"}}), asyncio.Event()
        async with asyncio.TaskGroup() as group:
            group.create_task(world.running.run(stopping))
            await asyncio.sleep(1)
            await world.store.add(ConnectorConfig("m", {**_CONFIG, "name": "m", "topics": "one"}))
            await asyncio.sleep(30)
            stopping.set()
        return world.told, asyncio.get_running_loop().time()

    assert run(story()) == (["run deaf", "run one", "ended one"], 31)


def test_what_clients_are_not_shown_stays_as_it_is_when_they_send_it_back() -> None:
    async def story() -> None:
        rest = (world := _World()).rest
        made = await rest.create("m", _CONFIG, TaskTarget.STOPPED)
        assert made.config["source.cluster.sasl.jaas.config"] == "[hidden]"
        changed, is_new = await rest.put_config("m", {**made.config, "topics": "t"})
        assert (changed.config["topics"], is_new) == ("t", False)
        await rest.patch_config("m", {"topics": None, "tasks.max": "3"})
        assert world.store.contents.configs["m"] == {**_CONFIG, "name": "m", "tasks.max": "3"}

    run(story())


@pytest.mark.parametrize("target", [TaskTarget.PAUSED, TaskTarget.STOPPED])
def test_a_connector_runs_until_its_leader_has_released_it(target: TaskTarget) -> None:
    """What operators want is not yet so: records are still written meanwhile."""

    async def story() -> None:
        views = _Led()
        rest = _World(views=views).rest
        await rest.create("m", _CONFIG, target)
        status = await rest.status("m")
        assert (status.connector, set(status.tasks)) == (
            State(state="RUNNING", worker_id="leader"),
            {0},
        )
        views.is_led = False
        status = await rest.status("m")
        assert (status.connector, set(status.tasks)) == (
            State(state=target.name, worker_id="leader"),
            set(),
        )

    run(story())


def test_what_has_failed_before_it_is_paused_is_shown_so_and_why() -> None:
    """As by Connect's workers, which show what the status topic says."""

    async def story() -> tuple[State, Mapping[int, State]]:
        views, board = _Led(), _Said()
        views.is_led = False
        rest = _World(views=views, board=board).rest
        await rest.create("m", _CONFIG, TaskTarget.PAUSED)
        board.say(ConnectorKey("m"), RunState.RUNNING)
        board.say(TaskKey("m", 0), RunState.UNASSIGNED)
        board.say(TaskKey("m", 1), RunState.FAILED)
        status = await rest.status("m")
        return status.connector, status.tasks

    paused = State(state="PAUSED", worker_id="w")
    failed = State(state="FAILED", worker_id="w", trace="why")
    assert run(story()) == (paused, {0: paused, 1: failed})


def test_what_cannot_run_has_failed_until_it_is_stopped() -> None:
    """A pause does not put right what is wrong."""

    async def story() -> list[str]:
        world = _World({"m": {"name": "m"}})
        found = []
        for state in TargetState:
            await world.store.add(WantedState("m", state))
            found.append((await world.rest.status("m")).connector.state)
        return found

    assert run(story()) == ["FAILED", "FAILED", "STOPPED"]


def test_of_a_connector_that_cannot_be_seen_nobody_says_that_it_rests() -> None:
    async def story() -> None:
        rest = _World().rest
        await rest.create("m", _CONFIG, TaskTarget.STOPPED)
        state = (await rest.status("m")).connector
        assert (state.state, "no answer" in state.trace) == ("UNASSIGNED", True)

    run(story())


@pytest.mark.parametrize("name", ["m ", " m", "a\nb", "a\x85b", ""])
def test_names_that_look_like_others_are_refused(name: str) -> None:
    async def story() -> None:
        rest = (world := _World()).rest
        with pytest.raises(RestError, match="no name for a connector"):
            await rest.create(name, _CONFIG, TaskTarget.RUNNING)
        assert world.store.contents.configs == {}

    run(story())


class _Overtaken(MemoryStore):
    """A store in which somebody else is always faster."""

    def __init__(self) -> None:
        super().__init__()
        self.others = 0

    async def replace(
        self, before: Mapping[str, str] | None, new: ConnectorConfig, *entries: Entry
    ) -> bool:
        self.others += 1
        await self.add(ConnectorConfig(new.name, {"name": new.name, "by": str(self.others)}))
        return await super().replace(before, new, *entries)


def test_who_changes_a_connector_at_the_same_time_as_another_is_told_to_look_again() -> None:
    async def story() -> None:
        world, store = _World(), _Overtaken()
        rest = WorkerConnectors(world.worker, store, world.running, cast("FlowViews", _Away()))
        for call in (
            rest.create("m", _CONFIG, TaskTarget.RUNNING),
            rest.put_config("m", _CONFIG),
            rest.patch_config("m", _CONFIG),
        ):
            with pytest.raises(RestError) as refused:
                await call
            assert refused.value.status == HTTPStatus.CONFLICT
        assert store.contents.configs == {"m": {"name": "m", "by": "3"}}

    run(story())


def test_what_is_hidden_never_takes_the_place_of_a_secret() -> None:
    url = "source.cluster.sasl.oauthbearer.token.endpoint.url"
    config = {**_CONFIG, url: "https://id:secret@idp/t"}

    async def story() -> None:
        rest = (world := _World()).rest
        made = await rest.create("m", config, TaskTarget.STOPPED)
        await rest.patch_config("m", made.config)
        await rest.put_config("m", made.config)
        assert world.store.contents.configs["m"] == {**config, "name": "m"}
        for call in (
            rest.create("copy", {**made.config, "name": "copy"}, TaskTarget.STOPPED),
            rest.patch_config("m", {url: "https://other:[hidden]@idp/t"}),
            rest.put_config("m", {**made.config, "source.cluster.ssl.key.password": "[hidden]"}),
        ):
            with pytest.raises(ConfigErrors, match="write the value"):
                await call
        assert world.store.contents.configs == {"m": {**config, "name": "m"}}

    run(story())


def test_what_cannot_be_done_is_refused_and_changes_nothing() -> None:
    async def story() -> None:
        rest = (world := _World()).rest
        await rest.create("m", _CONFIG, TaskTarget.PAUSED)
        for call in (
            rest.create("m", _CONFIG, TaskTarget.RUNNING),
            rest.info("other"),
            rest.delete("other"),
            rest.set_target_state("other", TaskTarget.STOPPED),
            rest.alter_offsets("m", {}),
            rest.reset_offsets("m"),
            rest.restart_task("m", 0),
        ):
            with pytest.raises(RestError):
                await call
        with pytest.raises(ConfigErrors):
            await rest.put_config("m", {**_CONFIG, "tasks.max": "0"})
        assert world.store.contents.configs == {"m": {**_CONFIG, "name": "m"}}
        await rest.delete("m")
        assert await rest.names() == []

    run(story())


def test_a_connector_whose_target_is_away_can_be_seen_put_right_and_restarted() -> None:
    async def story() -> None:
        rest = (world := _World()).rest
        await rest.create("m", _CONFIG, TaskTarget.RUNNING)
        assert (await rest.info("m")).config["source.cluster.alias"] == "A"
        status = await rest.status("m")
        assert (status.connector.state, "no answer" in status.connector.trace) == (
            "UNASSIGNED",
            True,
        )
        changed, _ = await rest.put_config("m", {**_CONFIG, "topics": "t"})
        assert changed.config["topics"] == "t"
        assert await rest.restart("m", include_tasks=True, only_failed=True) == status
        assert world.store.contents.restarts == {}
        await rest.restart("m", include_tasks=True, only_failed=False)
        assert world.store.contents.restarts == {"m": 1}

    run(story())


def test_all_classes_are_offered_and_check_what_a_start_would() -> None:
    plugins = worker_plugins(WorkerConfig(raw={}, is_distributed=False))
    assert [(p.class_name.rpartition(".")[2], p.type.value) for p in plugins] == [
        ("MirrorSourceConnector", "source"),
        ("MirrorCheckpointConnector", "source"),
        ("MirrorHeartbeatConnector", "source"),
        ("MirrorSinkConnector", "sink"),
        ("CheckpointSinkConnector", "sink"),
    ]
    assert list(plugins[0].check({**_CONFIG, "name": "m"})) == []
    assert [e.key for e in plugins[3].check({**_CONFIG, "name": "m"})] == [
        "target.cluster.bootstrap.servers"
    ]
