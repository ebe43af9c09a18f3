"""What a worker's providers can read is not told to those who may only write connectors."""

from __future__ import annotations

from typing import cast

import pytest

from mm2.config.flow import FlowConfig
from mm2.connect.connector import read_connector
from mm2.connect.expressions import Expressions
from mm2.connect.facade import WorkerConnectors
from mm2.connect.memory import MemoryStore
from mm2.connect.running import RunningConnectors
from mm2.connect.service import worker_plugins
from mm2.connect.worker import WorkerConfig
from mm2.core.connect_configs import ConnectorConfig
from mm2.core.connect_status import RunState
from mm2.errors import ConfigError, ConfigErrors, Unavailable
from mm2.herder.flow_view import ConnectorView, FlowView, TaskView
from mm2.rest.ports import ConnectorStatus
from mm2.rest.views import FlowViews

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


def test_what_another_key_stands_for_is_hidden_within_words_too() -> None:
    config = {**_CONFIG, "topics": "${env:PW}", "tasks.max": "${env:N}"}
    expressions = Expressions(config, _worker(PW="hunter2", N="7"))
    assert expressions.hide("no xhunter2y of 17, 7") == "no x${env:PW}y of 17, ${env:N}"


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
            wanted=RunState.RUNNING,
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
    views = cast("FlowViews", _Failing(is_away=is_away))
    return WorkerConnectors(worker, store, running, views)


def _traces(status: ConnectorStatus) -> list[str]:
    return [status.connector.trace, *(each.trace for each in status.tasks.values())]


async def test_traces_show_expressions() -> None:
    assert _traces(await _traced(is_away=False).status("m")) == ["no x${env:PW}", "${env:PW}"]
    away = "cluster B: cannot be looked at: /${env:PW} is no file"
    assert _traces(await _traced(is_away=True).status("m")) == [away]


async def test_what_cannot_be_answered_is_said_with_expressions() -> None:
    with pytest.raises(Unavailable, match=r"/\$\{env:PW\} is no file"):
        await _traced(is_away=True).topics("m")


def test_a_mistake_that_is_seen_later_shows_expressions() -> None:
    expressions = Expressions({"ssl.truststore.location": "${env:PW}"}, _worker(PW="hunter2"))
    for key in ("ssl.truststore.location", None):
        with pytest.raises(ConfigError, match=r"\$\{env:PW\}") as told, expressions.hiding():
            raise ConfigError("location=hunter2 cannot be read", key=key)
        assert "hunter2" not in str(told.value)
