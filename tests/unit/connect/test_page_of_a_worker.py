"""The status page of a Connect worker: each connector is a flow of its own."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import cast

from mm2.config.flow_config import FlowConfig
from mm2.connect.connector import read_connector
from mm2.connect.memory_store import MemoryStore
from mm2.connect.running_connectors import RunningConnectors, RunningFlow
from mm2.connect.worker_config import WorkerConfig
from mm2.connect.worker_page import worker_page
from mm2.core.connect.config_records import ConnectorConfig, ConnectorTarget, TargetState
from mm2.core.connect.status_records import RunState
from mm2.herder.view.flow_snapshot import FlowSnapshot
from mm2.herder.view.flow_views import ConnectorView, FlowView, LeaderView, TaskView
from mm2.herder.view.view_builder import build_view
from mm2.status_page.flow_cards import Health, flow_card
from mm2.status_page.status_page import StatusPage

CONFIG = {
    "source.cluster.alias": "A",
    "target.cluster.alias": "B",
    "source.cluster.bootstrap.servers": "a:1",
    "source.cluster.sasl.jaas.config": "s3cret",
}
_CLASSES = {
    "copies": "MirrorSourceConnector",
    "groups": "MirrorCheckpointConnector",
    "beats": "MirrorHeartbeatConnector",
    "rests": "MirrorSourceConnector",
}


class _Views:
    """Connectors that all run, but for ``rests``."""

    async def of(self, config: FlowConfig) -> FlowView:
        (part,) = config.parts
        task = TaskView(task=0, state=RunState.RUNNING, worker_id="w", generation=1)
        connector = ConnectorView(
            name=part,
            target_state=RunState.RUNNING,
            state=RunState.RUNNING,
            worker_id="w",
            generation=1,
            tasks=(task,),
        )
        name = config.herder.names.label
        leader = LeaderView(epoch=1, worker_id="w", age_ms=0, is_alive=name != "rests")
        return FlowView(
            flow=config.flow, time_ms=0, name=name, leader=leader, connectors=(connector,)
        )


async def _page(configs: Mapping[str, Mapping[str, str]]) -> StatusPage:
    worker = WorkerConfig(raw={"bootstrap.servers": "b:1"}, is_distributed=False)
    store = MemoryStore(ConnectorConfig(name, config) for name, config in configs.items())
    await store.add(ConnectorTarget("rests", TargetState.PAUSED))
    running = RunningConnectors(worker, store, lambda _: cast("RunningFlow", None), "w")
    await running._read_configs()
    return worker_page(worker, store, running, _Views())


def _connectors() -> dict[str, dict[str, str]]:
    return {name: {**CONFIG, "name": name, "connector.class": c} for name, c in _CLASSES.items()}


async def test_each_connector_is_shown_by_its_name() -> None:
    page = await _page(_connectors())
    html = await page.html()
    assert [each.name for each in page._cards] == ["beats", "copies", "groups", "rests"]
    assert {each.name: each.state for each in page._cards} == {
        "beats": "running",
        "copies": "running",
        "groups": "running",
        "rests": "paused",
    }
    healths = [each.health for each in page._cards]
    assert healths == [Health.GOOD, Health.GOOD, Health.GOOD, Health.RESTING]
    assert all(f'<span class="name">{name}</span>: ' in html for name in _CLASSES)
    assert "heartbeats only" not in html
    assert html.count("No topic is copied yet.") == 1
    assert html.count('class="arrow good"') == 2, "one for wide and one for narrow screens"
    assert ("s3cret" in html, "[hidden]" in html) == (False, True)
    assert json.loads(await anext(page.updates()))["history"]["flows"] == [
        each.name for each in page._cards
    ]


async def test_a_connector_that_cannot_run_says_why() -> None:
    broken = {**_connectors()["copies"], "name": "broken", "tasks.max": "many"}
    page = await _page({**_connectors(), "broken": broken, "odd": {"connector.class": "None"}})
    html = await page.html()
    cards = {each.name: each for each in page._cards}
    assert (cards["broken"].health, cards["broken"].state) == (Health.BAD, "cannot run")
    assert "tasks.max" in cards["broken"].problems[0]
    assert str(cards["odd"].flow) == "?->?"
    assert 'class="arrow bad"' in html


def test_a_view_knows_whether_it_is_of_a_connector() -> None:
    worker = WorkerConfig(raw={"bootstrap.servers": "b:1"}, is_distributed=False)
    config = read_connector(_connectors()["groups"], worker).flow
    view = build_view(config, FlowSnapshot(), 0)
    assert (view.name, view.is_of_connector) == ("groups", True)
    card = flow_card(view.flow, "groups", 0, view)
    assert card.state == "unassigned"
