"""What a worker's providers can read is not told to those who may only write connectors."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import pytest

from mm2.config.flow_config import FlowConfig
from mm2.config.text.expressions import hide
from mm2.connect.connector import read_connector
from mm2.connect.memory_store import MemoryStore
from mm2.connect.running_connectors import RunningConnectors
from mm2.connect.worker_config import WorkerConfig
from mm2.connect.worker_connectors import WorkerConnectors
from mm2.connect.worker_rest import worker_plugins
from mm2.core.connect.config_records import ConnectorConfig
from mm2.core.connect.status_records import RunState
from mm2.errors import ConfigErrors, Unavailable
from mm2.herder.view.flow_views import ConnectorView, FlowView, TaskView
from mm2.herder.view.followed_flows import FollowedFlows
from tests.support.rest import interface

_CONFIG = {
    "name": "m",
    "connector.class": "MirrorSourceConnector",
    "source.cluster.alias": "A",
    "target.cluster.alias": "B",
    "source.cluster.bootstrap.servers": "a:1",
}


def _worker(**variables: str) -> WorkerConfig:
    raw = {
        "config.providers": "env",
        "config.providers.env.class": (
            "org.apache.kafka.common.config.provider.EnvVarConfigProvider"
        ),
    }
    return WorkerConfig(raw=raw, is_distributed=False, environment=variables)


@pytest.mark.parametrize(
    ("key", "written", "secret"),
    [
        ("tasks.max", "${env:PW}", "hunter2"),
        ("tasks.max", "1${env:PW}", "hunter2"),
        ("tasks.max", "${env:PW} x${env:PW}", "hunter2"),
        ("sync.topic.acls.enabled", "${env:PW}", "hunter2"),
        ("offset.lag.max", "${env:PW}", "hunter2\n'\\"),
    ],
)
def test_messages_show_expressions_as_they_were_written(
    key: str, written: str, secret: str
) -> None:
    worker, config = _worker(PW=secret), {**_CONFIG, key: written}
    with pytest.raises(ConfigErrors) as errors:
        read_connector(config, worker)
    assert "hunter2" not in str(errors.value)
    assert "${env:PW}" in str(errors.value)
    assert not any("hunter2" in str(each.value) for each in errors.value.problems)
    assert "hunter2" not in str(worker_plugins(worker)[0].validated(config))


def test_what_was_written_plainly_is_said_plainly() -> None:
    config = {**_CONFIG, "tasks.max": "many", "offset.lag.max": "${env:LAG}"}
    with pytest.raises(ConfigErrors, match="many"):
        read_connector(config, _worker(LAG="7"))


def test_servers_of_the_worker_s_file_are_shown_and_those_of_connectors_are_not() -> None:
    environment = {"HERE": "here.example:9092", "THERE": "there.example:9092"}
    worker = replace(
        _worker(),
        raw={**_worker().raw, "bootstrap.servers": "${env:HERE}"},
        environment=environment,
    )
    servers = "source.cluster.bootstrap.servers"
    read_connector({**_CONFIG, servers: "${env:THERE}", "groups": "${env:HERE}"}, worker)
    text = "here.example:9092, there.example:9092"
    assert hide(text) == "here.example:9092, ${env:THERE}"


def test_what_another_key_stands_for_is_hidden_within_words_too() -> None:
    read_connector({**_CONFIG, "topics": "${env:PW}"}, _worker(PW="hunter2"))
    assert hide("no xhunter2y of 17") == "no x${env:PW}y of 17"


class _Failing:
    """Views of flows of which what fails is said with what their settings are."""

    def __init__(self, *, is_away: bool) -> None:
        self._is_away = is_away

    async def of(self, config: FlowConfig) -> FlowView:
        if self._is_away:
            raise Unavailable(config.flow.target, "cannot be looked at: /hunter2 is no file")
        failed = RunState.FAILED
        view = ConnectorView(
            name="MirrorSourceConnector",
            target_state=RunState.RUNNING,
            state=failed,
            worker_id="w",
            generation=1,
            trace="no xhunter2",
            tasks=(TaskView(task=0, state=failed, worker_id="w", generation=1, trace="hunter2"),),
        )
        return FlowView(flow=config.flow, time_ms=0, leader=None, connectors=(view,))


def _traced(*, is_away: bool) -> WorkerConnectors:
    worker, config = _worker(PW="hunter2"), {**_CONFIG, "topics": "${env:PW}"}
    store = MemoryStore([ConnectorConfig("m", config)])
    running = RunningConnectors(worker, store, lambda _: pytest.fail("nothing runs"), "w")
    views = cast("FollowedFlows", _Failing(is_away=is_away))
    return WorkerConnectors(worker, store, running, views)


async def test_traces_show_expressions() -> None:
    async with interface(_traced(is_away=False)) as client:
        status = await client.get("/connectors/m/status")
    assert status["connector"]["trace"] == "no x${env:PW}"
    assert status["tasks"][0]["trace"] == "${env:PW}"
    async with interface(_traced(is_away=True)) as client:
        status = await client.get("/connectors/m/status")
    away = "cluster B: cannot be looked at: /${env:PW} is no file"
    assert status["connector"]["trace"] == away


async def test_what_cannot_be_answered_is_said_with_expressions() -> None:
    async with interface(_traced(is_away=True)) as client:
        status, answer = await client.ask("GET", "/connectors/m/topics")
    assert status == 503
    assert "/${env:PW} is no file" in answer["message"]


def _asking(allowed: str | None) -> tuple[WorkerConnectors, WorkerConfig, MemoryStore]:
    worker = _worker(PW="hunter2")
    if allowed is not None:
        worker = replace(worker, raw={**worker.raw, "rest.config.providers.enabled": allowed})
    store = MemoryStore([ConnectorConfig("m", {**_CONFIG, "topics": "${env:PW}"})])
    running = RunningConnectors(worker, store, lambda _: pytest.fail("nothing runs"), "w")
    views = cast("FollowedFlows", _Failing(is_away=False))
    return WorkerConnectors(worker, store, running, views), worker, store


_OWN = {
    "config.providers": "own",
    "config.providers.own.class": "org.apache.kafka.common.config.provider.FileConfigProvider",
}


@pytest.mark.parametrize(
    ("allowed", "change", "is_taken"),
    [
        (None, {"groups": "${env:PW}"}, True),
        (None, _OWN, False),
        ("false", {"groups": "${env:PW}"}, False),
        ("false", _OWN, False),
        ("true", {"groups": "${env:PW}"}, True),
        ("true", _OWN, True),
        ("false", {"topics": "${env:PW}", "groups": "g"}, True),
    ],
)
async def test_the_worker_s_file_says_which_expressions_are_taken_over_rest(
    allowed: str | None, change: dict[str, str], *, is_taken: bool
) -> None:
    connectors, worker, store = _asking(allowed)
    asked = {**_CONFIG, "topics": "${env:PW}", **change}
    async with interface(connectors) as client:
        for method, path, body in (
            ("PUT", "/connectors/m/config", asked),
            ("PATCH", "/connectors/m/config", change),
            ("POST", "/connectors", {"name": "n", "config": {**change, **_CONFIG, "name": "n"}}),
        ):
            if method == "POST" and "topics" in change:
                continue  # which is new there
            status, answer = await client.ask(method, path, json=body)
            assert status in ({200, 201} if is_taken else {400}), answer
            assert is_taken or "rest.config.providers.enabled" in answer["message"]
    (plugin,) = [
        each
        for each in worker_plugins(worker, store)
        if each.class_name.endswith("SourceConnector")
    ]
    assert (plugin.validated(asked)["error_count"] == 0) == is_taken
