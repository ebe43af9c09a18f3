"""What the REST interface of a worker says of its connectors, and does to them."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import cast

import pytest

from mm2.connect.memory_store import MemoryStore
from mm2.connect.worker_config import WorkerConfig
from mm2.connect.worker_connectors import WorkerConnectors
from mm2.connect.worker_rest import worker_plugins
from mm2.core.connect.config_records import (
    ConnectorConfig,
    ConnectorTarget,
    Entry,
    TargetState,
)
from mm2.core.connect.status_records import ConnectorKey, RunState, Status, TaskKey
from mm2.errors import ConfigErrors
from mm2.herder.view.followed_flows import FollowedFlows
from mm2.rest.connector_protocol import TaskTarget
from mm2.rest.rest_errors import RestError
from tests.support.fake_worker import (
    CONNECTOR_CONFIG,
    AwayViews,
    FakeStatusTopic,
    FakeWorker,
    LedViews,
)
from tests.support.virtual_time import run


def test_what_clients_are_not_shown_stays_as_it_is_when_they_send_it_back() -> None:
    async def story() -> None:
        rest = (world := FakeWorker()).rest
        made = await rest.create("m", CONNECTOR_CONFIG, TaskTarget.STOPPED)
        assert made.config["source.cluster.sasl.jaas.config"] == "[hidden]"
        changed, is_new = await rest.put_config("m", {**made.config, "topics": "t"})
        assert (changed.config["topics"], is_new) == ("t", False)
        await rest.patch_config("m", {"topics": None, "tasks.max": "3"})
        assert world.store.contents.configs["m"] == {
            **CONNECTOR_CONFIG,
            "name": "m",
            "tasks.max": "3",
        }

    run(story())


@pytest.mark.parametrize("target", [TaskTarget.PAUSED, TaskTarget.STOPPED])
def test_a_connector_runs_until_its_leader_has_released_it(target: TaskTarget) -> None:
    """What operators want is not yet so: records are still written meanwhile."""

    async def story() -> None:
        views = LedViews()
        rest = FakeWorker(views=views).rest
        await rest.create("m", CONNECTOR_CONFIG, target)
        status = await rest.status("m")
        assert (status.connector, set(status.tasks)) == (
            Status(state=RunState.RUNNING, worker_id="leader", generation=1),
            {0},
        )
        views.is_led = False
        status = await rest.status("m")
        assert (status.connector, set(status.tasks)) == (
            Status(state=RunState[target.name], worker_id="leader", generation=0),
            set(),
        )

    run(story())


def test_what_has_failed_before_it_is_paused_is_shown_so_and_why() -> None:
    """As by Connect's workers, which show what the status topic says."""

    async def story() -> tuple[Status, Mapping[int, Status]]:
        views, board = LedViews(), FakeStatusTopic()
        views.is_led = False
        rest = FakeWorker(views=views, board=board).rest
        await rest.create("m", CONNECTOR_CONFIG, TaskTarget.PAUSED)
        board.say(ConnectorKey("m"), RunState.RUNNING)
        board.say(TaskKey("m", 0), RunState.UNASSIGNED)
        board.say(TaskKey("m", 1), RunState.FAILED)
        status = await rest.status("m")
        return status.connector, status.tasks

    paused = Status(state=RunState.PAUSED, worker_id="w", generation=1)
    failed = Status(state=RunState.FAILED, worker_id="w", generation=1, trace="why")
    assert run(story()) == (paused, {0: paused, 1: failed})


def test_what_cannot_run_has_failed_until_it_is_stopped() -> None:
    """A pause does not put right what is wrong."""

    async def story() -> list[RunState]:
        world = FakeWorker({"m": {"name": "m"}})
        found = []
        for state in TargetState:
            await world.store.add(ConnectorTarget("m", state))
            found.append((await world.rest.status("m")).connector.state)
        return found

    assert run(story()) == ["FAILED", "FAILED", "STOPPED"]


def test_of_a_connector_that_cannot_be_seen_nobody_says_that_it_rests() -> None:
    async def story() -> None:
        rest = FakeWorker().rest
        await rest.create("m", CONNECTOR_CONFIG, TaskTarget.STOPPED)
        state = (await rest.status("m")).connector
        assert (state.state, "no answer" in str(state.trace)) == ("UNASSIGNED", True)

    run(story())


@pytest.mark.parametrize("name", ["m ", " m", "a\nb", "a\x85b", ""])
def test_names_that_look_like_others_are_refused(name: str) -> None:
    async def story() -> None:
        rest = (world := FakeWorker()).rest
        with pytest.raises(RestError, match="no name for a connector"):
            await rest.create(name, CONNECTOR_CONFIG, TaskTarget.RUNNING)
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
        world, store = FakeWorker(), _Overtaken()
        rest = WorkerConnectors(
            world.worker, store, world.running, cast("FollowedFlows", AwayViews())
        )
        for call in (
            rest.create("m", CONNECTOR_CONFIG, TaskTarget.RUNNING),
            rest.put_config("m", CONNECTOR_CONFIG),
            rest.patch_config("m", CONNECTOR_CONFIG),
        ):
            with pytest.raises(RestError) as refused:
                await call
            assert refused.value.status == HTTPStatus.CONFLICT
        assert store.contents.configs == {"m": {"name": "m", "by": "3"}}

    run(story())


def test_what_is_hidden_never_takes_the_place_of_a_secret() -> None:
    url = "source.cluster.sasl.oauthbearer.token.endpoint.url"
    config = {**CONNECTOR_CONFIG, url: "https://id:secret@idp/t"}

    async def story() -> None:
        rest = (world := FakeWorker()).rest
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
        rest = (world := FakeWorker()).rest
        await rest.create("m", CONNECTOR_CONFIG, TaskTarget.PAUSED)
        for call in (
            rest.create("m", CONNECTOR_CONFIG, TaskTarget.RUNNING),
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
            await rest.put_config("m", {**CONNECTOR_CONFIG, "tasks.max": "0"})
        assert world.store.contents.configs == {"m": {**CONNECTOR_CONFIG, "name": "m"}}
        await rest.delete("m")
        assert await rest.names() == []

    run(story())


def test_a_connector_whose_target_is_away_can_be_seen_put_right_and_restarted() -> None:
    async def story() -> None:
        rest = (world := FakeWorker()).rest
        await rest.create("m", CONNECTOR_CONFIG, TaskTarget.RUNNING)
        assert (await rest.info("m")).config["source.cluster.alias"] == "A"
        status = await rest.status("m")
        assert (status.connector.state, "no answer" in str(status.connector.trace)) == (
            "UNASSIGNED",
            True,
        )
        changed, _ = await rest.put_config("m", {**CONNECTOR_CONFIG, "topics": "t"})
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
    assert list(plugins[0].check({**CONNECTOR_CONFIG, "name": "m"})) == []
    assert [e.key for e in plugins[3].check({**CONNECTOR_CONFIG, "name": "m"})] == [
        "target.cluster.bootstrap.servers"
    ]
