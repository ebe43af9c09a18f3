"""What a worker's providers can read is not told to those who may only write connectors."""

from __future__ import annotations

import pytest

from mm2.connect.connector import read_connector
from mm2.connect.expressions import Expressions
from mm2.connect.service import worker_plugins
from mm2.connect.worker import WorkerConfig
from mm2.errors import ConfigErrors

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
