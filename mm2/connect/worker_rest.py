"""The REST interface of a worker, as one thing to run."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping

from mm2.connect.connector import read_connector
from mm2.connect.connector_classes import CLASSES, ConnectorClass
from mm2.connect.connector_store import ConnectorStore
from mm2.connect.running_connectors import RunningConnectors
from mm2.connect.worker_config import WorkerConfig
from mm2.connect.worker_connectors import WorkerConnectors, check_providers
from mm2.connect.worker_page import worker_page
from mm2.connect.worker_status_topic import WorkerStatusTopic
from mm2.errors import ConfigError, ConfigErrors
from mm2.herder.view.followed_flows import FollowedFlows
from mm2.rest.connector_plugins import MIRROR_PLUGINS, ConnectorPlugin, Plugins
from mm2.rest.connector_protocol import ConnectorType
from mm2.rest.listeners import ServerSetup
from mm2.rest.requests import Api
from mm2.rest.server import metrics_of, serve
from mm2.supervision import keep_running
from mm2.telemetry.levels import CHOSEN, LogLevels


async def serve_worker(
    worker: WorkerConfig,
    store: ConnectorStore,
    running: RunningConnectors,
    statuses: WorkerStatusTopic,
    setup: ServerSetup,
) -> None:
    """
    Serves the connectors of a worker until cancelled.

    Until they are known, it says that the worker starts, and why that takes so long.
    """
    async with asyncio.TaskGroup() as tasks:
        views = FollowedFlows(tasks)
        connectors = WorkerConnectors(worker, store, running, views, statuses)
        page = worker_page(worker, store, running, views)
        tasks.create_task(keep_running("status-page", page.run), name="status-page")
        api = Api(
            connectors=connectors,
            plugins=Plugins(worker_plugins(worker, store), resolves=True),
            levels=LogLevels(CHOSEN),
            starting=lambda: store.awaited,
            page=page,
            metrics=metrics_of(running.led, setup.settings.metrics),
        )
        await serve(api, setup)


def worker_plugins(
    worker: WorkerConfig, store: ConnectorStore | None = None
) -> list[ConnectorPlugin]:
    """The classes that a worker runs; configurations are checked as when they are created."""
    known = {plugin.class_name.rpartition(".")[2]: plugin for plugin in MIRROR_PLUGINS}
    return [
        ConnectorPlugin(
            class_name=kind.full_name,
            type=ConnectorType.SINK if kind.is_sink else ConnectorType.SOURCE,
            keys=known[kind.part].keys,
            check=_check(kind, worker, store),
        )
        for kind in CLASSES
    ]


def _check(
    kind: ConnectorClass, worker: WorkerConfig, store: ConnectorStore | None
) -> Callable[[Mapping[str, str]], Iterable[ConfigError]]:
    def check(config: Mapping[str, str]) -> Iterable[ConfigError]:
        configs = store.contents.configs if store is not None else {}
        try:
            check_providers(worker, configs.get(config.get("name", ""), {}), config)
            read_connector({**config, "connector.class": kind.name}, worker)
        except ConfigErrors as errors:
            return errors.problems
        return ()

    return check
