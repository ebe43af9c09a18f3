"""Connectors whose configurations take long to read do not keep their workers from anything."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping
from typing import Any

import pytest

from mm2.connect import running_connectors, worker_connectors
from mm2.connect.connector import Connector, read_connector
from mm2.connect.worker_config import WorkerConfig
from mm2.connect.worker_rest import worker_plugins
from mm2.core.connect.config_records import ConnectorConfig
from mm2.errors import ConfigErrors
from mm2.rest.connector_protocol import TaskTarget
from tests.support.eventually import eventually_async
from tests.support.fake_connectors import FakeConnectors
from tests.support.fake_worker import CONNECTOR_CONFIG, FakeWorker
from tests.support.rest import interface

_LONG = f"t{'.' * 32 * 1024}"
_REFUSAL = "topics has 32769 characters, and at most 32768 are taken"
_CONFIG = {**CONNECTOR_CONFIG, "name": "m"}


@pytest.mark.parametrize("is_distributed", [True, False])
def test_connectors_that_are_there_may_have_long_lists(*, is_distributed: bool) -> None:
    """In a file, or stored by Kafka's own worker or an earlier release."""
    raw = {
        "bootstrap.servers": "w:1",
        "group.id": "g",
        **{f"{each}.storage.topic": each for each in ("config", "offset", "status")},
    }
    worker = WorkerConfig(raw=raw, is_distributed=is_distributed)
    connector = read_connector({**_CONFIG, "topics": _LONG}, worker)
    assert connector.flow.source.properties["topics"] == _LONG


async def test_clients_of_rest_may_give_none() -> None:
    rest = (world := FakeWorker({"file": {**_CONFIG, "name": "file", "topics": _LONG}})).rest
    with pytest.raises(ConfigErrors, match=_REFUSAL):
        await rest.create("m", {**CONNECTOR_CONFIG, "topics": _LONG}, TaskTarget.STOPPED)
    await rest.create("m", CONNECTOR_CONFIG, TaskTarget.STOPPED)
    with pytest.raises(ConfigErrors, match=_REFUSAL):
        await rest.patch_config("m", {"topics": _LONG})
    await rest.patch_config("file", {"tasks.max": "3"})
    assert world.store.contents.configs["file"]["topics"] == _LONG, "that of the file stays"
    assert world.store.contents.configs["m"] == _CONFIG


async def test_neither_may_those_who_ask_whether_a_configuration_is_valid() -> None:
    """Of a dedicated node, everybody may ask that who reaches it."""
    path = "/connector-plugins/MirrorSource/config/validate"
    config = {"connector.class": "MirrorSource", "topics": _LONG}
    async with interface(FakeConnectors()) as client:
        _, body = await client.ask("PUT", path, json=config)
    plugins = worker_plugins(FakeWorker().worker)
    answers: list[Any] = [body, plugins[0].validated(config)]
    for found in answers:
        errors = [each["value"]["errors"] for each in found["configs"] if each["value"]["errors"]]
        assert len(errors) == 1
        assert _REFUSAL in errors[0][0]


async def test_configurations_are_read_off_the_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    readers: list[threading.Thread] = []

    def read(config: Mapping[str, str], worker: WorkerConfig) -> Connector:
        readers.append(threading.current_thread())
        return read_connector(config, worker)

    async def is_known() -> bool:
        return "stored" in world.running.known

    monkeypatch.setattr(running_connectors, "read_connector", read)
    monkeypatch.setattr(worker_connectors, "read_connector", read)
    world, stopping = FakeWorker(), asyncio.Event()
    await world.rest.create("m", CONNECTOR_CONFIG, TaskTarget.STOPPED)
    await world.rest.patch_config("m", {"topics": "t"})
    assert len(readers) == 2
    async with asyncio.TaskGroup() as group:
        group.create_task(world.running.run(stopping))
        await world.store.add(ConnectorConfig("stored", {**_CONFIG, "name": "stored"}))
        await eventually_async(is_known)
        stopping.set()
    assert len(readers) == 4
    assert threading.main_thread() not in readers
