"""What the file of a worker says, and what is wrong with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from mm2.config.text.properties import load
from mm2.connect.connector import read_connector
from mm2.connect.worker_config import WorkerConfig
from mm2.errors import ConfigErrors

_SAMPLES = Path(__file__).resolve().parents[3] / "config"
_JSON = "org.apache.kafka.connect.json.JsonConverter"
_WORKER = {
    "bootstrap.servers": "w:1",
    "group.id": "g",
    "config.storage.topic": "configs",
    "offset.storage.topic": "offsets",
    "status.storage.topic": "states",
}
_SOURCE = {
    "name": "m",
    "connector.class": "MirrorSourceConnector",
    "source.cluster.alias": "A",
    "target.cluster.alias": "B",
    "source.cluster.bootstrap.servers": "a:1",
}


def test_a_worker_s_file_is_read_with_all_its_mistakes() -> None:
    raw = {"bootstrap.servers": "", "offset.flush.interval.ms": "soon", "group.id": "g"}
    with pytest.raises(ConfigErrors) as raised:
        WorkerConfig(raw=raw, is_distributed=True, lines={"bootstrap.servers": 4})
    assert {problem.key: problem.line for problem in raised.value.problems} == {
        "config.storage.topic": None,
        "offset.storage.topic": None,
        "status.storage.topic": None,
        "offset.flush.interval.ms": None,
        "bootstrap.servers": 4,
    }


def test_a_standalone_worker_need_not_say_anything() -> None:
    worker = WorkerConfig(raw={}, is_distributed=False)
    assert (worker.group_id, worker.properties["bootstrap.servers"]) == (
        "connect-standalone",
        "localhost:9092",
    )


def test_keys_of_workers_that_nobody_reads_are_told() -> None:
    raw = {**_WORKER, "plugin.path": "/x", "topics": "a", "grup.id": "g", "listeners": "http://:1"}
    worker = WorkerConfig(raw=raw, is_distributed=True)
    told = worker.warnings()
    assert [sentence.partition(":")[0] for sentence in told] == [
        "topics",
        "grup.id",
        "plugin.path = /x",
    ]
    assert "Did you mean 'group.id'" in told[1]


def test_a_worker_s_converters_count_unless_a_connector_says_otherwise() -> None:
    """Connect wants them in every worker's file, and connectors of MirrorMaker write others."""
    worker = WorkerConfig(raw={**_WORKER, "value.converter": _JSON}, is_distributed=True)
    own = {"value.converter": "org.apache.kafka.connect.converters.ByteArrayConverter"}
    assert read_connector({**_SOURCE, **own}, worker).flow.warnings == ()
    with pytest.raises(ConfigErrors, match=f"value.converter = {_JSON}: records are copied"):
        read_connector(_SOURCE, worker)


def test_a_worker_that_asks_for_what_would_change_records_does_not_start() -> None:
    with pytest.raises(ConfigErrors, match="without interceptors"):
        WorkerConfig(
            raw={**_WORKER, "producer.interceptor.classes": "com.acme.Mask"}, is_distributed=True
        )


@pytest.mark.parametrize(
    ("worker", "is_distributed"),
    [("connect-standalone.properties", False), ("connect-distributed.properties", True)],
)
def test_the_sample_files_have_neither_mistakes_nor_keys_without_effect(
    worker: str, *, is_distributed: bool
) -> None:
    config = WorkerConfig.of(load(_SAMPLES / worker), is_distributed=is_distributed)
    assert config.warnings() == []
    workers = {"connect-standalone.properties", "connect-distributed.properties"}
    for path in sorted(_SAMPLES.glob("connect-*.properties")):
        if path.name in workers:
            continue
        file = load(path)
        assert read_connector(file.values, config, file.lines).flow.warnings == (), path.name
