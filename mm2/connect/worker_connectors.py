"""
The connectors of a worker for the REST interface; implements ``Connectors``.

Requests are written to the store, which in a group is a topic that all workers read, and answers
come from Kafka, so that any worker answers for any connector. Errors are those of ``Connectors``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from http import HTTPStatus
from typing import Final
from unicodedata import category

from mm2.config.checks.long_values import READ_FROM_FILE, too_long
from mm2.config.clients import worker_client_properties
from mm2.config.credentials import check_kept
from mm2.config.keys.key_types import java_trim
from mm2.config.text.expressions import expressions
from mm2.config.text.redact import HIDDEN, redacted, with_secrets
from mm2.connect.connector import Connector, read_connector
from mm2.connect.connector_states import ConnectorStates
from mm2.connect.connector_store import ConnectorStore
from mm2.connect.running_connectors import RunningConnectors
from mm2.connect.worker_config import WorkerConfig
from mm2.connect.worker_status_topic import WorkerStatusTopic
from mm2.core.connect.config_records import ConnectorConfig, ConnectorTarget, Restart, TargetState
from mm2.core.connect.status_records import RunState, Status
from mm2.core.model import SOURCE_CONNECTOR
from mm2.errors import ConfigErrors
from mm2.herder.offsets.offset_changes import OffsetChanges
from mm2.herder.view.followed_flows import FollowedFlows
from mm2.kafka.admin import Admin
from mm2.rest import connector_offsets
from mm2.rest.config_diff import check_expressions
from mm2.rest.connector_protocol import (
    ConnectorInfo,
    ConnectorStatus,
    JsonObject,
    Position,
    Readiness,
    TaskTarget,
)
from mm2.rest.readiness import readiness_of, unreachable
from mm2.rest.rest_errors import RestError, bad_request, conflict, not_found

_CONTROL: Final = "Cc"
"""Characters that Connect refuses in names (``ConnectorNameValidator``)."""

_ANSWERED_WITHIN_S: Final = 4.0

_STATES: Final = {
    TaskTarget.RUNNING: TargetState.STARTED,
    TaskTarget.PAUSED: TargetState.PAUSED,
    TaskTarget.STOPPED: TargetState.STOPPED,
}


class WorkerConnectors:
    """The connectors of a worker."""

    def __init__(
        self,
        worker: WorkerConfig,
        store: ConnectorStore,
        running: RunningConnectors,
        views: FollowedFlows,
        statuses: WorkerStatusTopic | None = None,
    ) -> None:
        self._worker = worker
        self._store = store
        self._statuses = statuses
        self._running = running
        self._views = views
        self._states = ConnectorStates(worker, store, running, views, statuses)

    async def cluster_id(self) -> str:
        """The id of the worker's cluster."""
        admin = self._admin()
        try:
            return await admin.cluster_id(within_s=_ANSWERED_WITHIN_S)
        finally:
            await admin.close()

    async def readiness(self, only: str | None) -> Readiness:
        """Which connectors that are to run can, and which clusters answer, the worker's too."""
        running, admin = self._running, self._admin()
        flows = {
            n: running.known[n].flow for n in sorted(running.should_run & running.known.keys())
        }
        found, reason = await asyncio.gather(
            readiness_of(flows, self._views, only), unreachable(admin)
        )
        rejected = () if only is not None else sorted(running.rejected)
        return Readiness(
            flows={
                **{name: running.failure(name) or why for name, why in found.flows.items()},
                **{name: running.failure(name) for name in rejected},
            },
            clusters={(admin.alias, admin.servers): reason, **found.clusters},
        )

    def _admin(self) -> Admin:
        properties = {"client.id": self._worker.group_id, **self._worker.properties}
        return Admin("of the worker", worker_client_properties(properties, "admin", "rest"))

    async def names(self) -> Sequence[str]:
        """The names of all connectors, whether they run or not."""
        return sorted(self._store.contents.configs)

    async def info(self, name: str) -> ConnectorInfo:
        """A connector's configuration and tasks."""
        return ConnectorInfo(
            name=name,
            type=self._states.type(name),
            config=await self.config(name),
            tasks=sorted((await self.status(name)).tasks),
        )

    async def info_quickly(self, name: str) -> ConnectorInfo:
        """As ``info``."""
        return await self.info(name)

    async def config(self, name: str) -> Mapping[str, str]:
        """A connector's configuration, which no other cluster need answer for."""
        return redacted(self._states.config(name))

    async def status(self, name: str) -> ConnectorStatus:
        """A connector's status."""
        return await self._states.status(name)

    async def task_configs(self, name: str) -> Mapping[int, Mapping[str, str]]:
        """The configurations of a connector's tasks, which are its own."""
        info = await self.info(name)
        return dict.fromkeys(info.tasks, info.config)

    async def topics(self, name: str) -> Sequence[str]:
        """The topics that a connector writes to."""
        self._states.config(name)
        return await self._states.topics(name)

    async def reset_topics(self, name: str) -> None:
        """Cannot be done: topics are those of the assignment, and not collected."""
        self._states.config(name)
        raise RestError(HTTPStatus.FORBIDDEN, "Topic tracking reset is disabled.")

    async def create(
        self, name: str, config: Mapping[str, str], target: TaskTarget
    ) -> ConnectorInfo:
        """Creates a connector."""
        if not name or name != java_trim(name) or _CONTROL in map(category, name):
            raise bad_request(
                f"{name!r} is no name for a connector: blanks around it, or control characters"
            )
        check_providers(self._worker, {}, config)
        written = {**with_secrets(config, {}), "name": name}
        connector = await _read(written, {}, self._worker)
        # In Connect's order: no reader may see the connector without its target state.
        state = ConnectorTarget(name, _STATES[target])
        if not await self._store.replace(None, ConnectorConfig(name, connector.config), state):
            raise conflict(f"Connector {name} already exists")
        return ConnectorInfo(
            name=name, type=self._states.type(name), config=redacted(connector.config)
        )

    async def put_config(self, name: str, config: Mapping[str, str]) -> tuple[ConnectorInfo, bool]:
        """Sets a connector's configuration; returns the connector, and whether it is new."""
        before = self._store.contents.configs.get(name)
        if before is None:
            return await self.create(name, config, TaskTarget.RUNNING), True
        await self._replace(name, before, with_secrets(config, before), given=config)
        return await self.info(name), False

    async def patch_config(self, name: str, changes: Mapping[str, str | None]) -> ConnectorInfo:
        """Changes some keys of a connector's configuration, None for no value (KIP-477)."""
        before = self._states.config(name)
        values = {key: value for key, value in changes.items() if value is not None}
        kept = {key: value for key, value in before.items() if key not in changes}
        await self._replace(name, before, kept | with_secrets(values, before), given=values)
        return await self.info(name)

    async def delete(self, name: str) -> None:
        """Deletes a connector; its positions stay, as Connect's do."""
        self._states.config(name)
        await self._store.add(ConnectorConfig(name, None), ConnectorTarget(name, None))
        if self._statuses is not None:
            await self._statuses.forget(name)

    async def set_target_state(self, name: str, target: TaskTarget) -> None:
        """Sets a connector's target state."""
        self._states.config(name)
        await self._store.add(ConnectorTarget(name, _STATES[target]))

    async def restart(
        self, name: str, *, include_tasks: bool, only_failed: bool
    ) -> ConnectorStatus:
        """Restarts a connector with its tasks; returns its status meanwhile."""
        before = await self.status(name)
        tasks = before.tasks.values() if include_tasks else ()
        states = {each.state for each in (before.connector, *tasks)}
        if only_failed and RunState.FAILED not in states:
            return before
        await self._store.add(Restart(name, include_tasks, only_failed))
        return replace(
            before, connector=Status(state=RunState.RESTARTING, worker_id="", generation=0)
        )

    async def restart_task(self, name: str, task: int) -> None:
        """Restarts the connector of a task."""
        if task not in (await self.status(name)).tasks:
            raise not_found(f"Unknown task: {name}-{task}")
        await self._store.add(Restart(name, include_tasks=True, only_failed=False))

    async def offsets(self, name: str) -> Sequence[Position]:
        """Positions of copying; connectors of other classes have none."""
        connector = self._states.known(name)
        if connector.kind.part != SOURCE_CONNECTOR:
            return []
        async with OffsetChanges.of(connector.flow) as repositioning:
            return await connector_offsets.positions(repositioning, connector.flow.flow.source)

    async def alter_offsets(self, name: str, document: JsonObject) -> str:
        """Alters the offsets of a stopped connector."""
        async with OffsetChanges.of(self._stopped(name).flow) as repositioning:
            return await connector_offsets.alter(repositioning, document)

    async def reset_offsets(self, name: str) -> str:
        """Resets the offsets of a stopped connector."""
        async with OffsetChanges.of(self._stopped(name).flow) as repositioning:
            return await connector_offsets.reset(repositioning)

    async def _replace(
        self,
        name: str,
        before: Mapping[str, str],
        config: Mapping[str, str],
        *,
        given: Mapping[str, str],
    ) -> None:
        check_providers(self._worker, before, config)
        known = {key for key, value in given.items() if self._is_known(value)}
        check_kept(before, config, known, self._worker.properties)
        connector = await _read({**config, "name": name}, before, self._worker)
        if not await self._store.replace(before, ConnectorConfig(name, connector.config)):
            raise conflict(
                f"The configuration of connector {name} was changed by somebody else at the same"
                " time; look at it, and ask again"
            )

    def _is_known(self, value: str) -> bool:
        """Whether a client of REST knows what a value of its request stands for."""
        rest = self._worker.rest
        may_ask = rest is None or rest.providers is not False
        return HIDDEN not in value and (may_ask or next(expressions(value), None) is None)

    def _stopped(self, name: str) -> Connector:
        """A connector that has positions and is to be stopped."""
        connector = self._states.known(name)
        if connector.kind.part != SOURCE_CONNECTOR:
            raise bad_request(f"Connector {name} has no offsets: it copies no records")
        if self._store.contents.state(name) is not TargetState.STOPPED:
            raise connector_offsets.not_stopped(name)
        return connector


async def _read(
    config: Mapping[str, str], before: Mapping[str, str], worker: WorkerConfig
) -> Connector:
    """
    Reads what a client of REST has given; what a connector has already may be long.

    Raises:
        ConfigErrors: everything that is wrong with it.
    """
    new = {key: value for key, value in config.items() if before.get(key) != value}
    if long := too_long(new, READ_FROM_FILE):
        raise ConfigErrors(list(long.values()))
    return await asyncio.to_thread(read_connector, config, worker)


def check_providers(
    worker: WorkerConfig, before: Mapping[str, str], config: Mapping[str, str]
) -> None:
    """
    Takes from clients of REST what the worker's file lets them ask of config providers.

    Unless it says otherwise, connectors use the worker's providers, as in Connect, and bring none
    of their own, which could read what ``allowed.paths`` of the worker's keep from them.

    Raises:
        ConfigErrors: what is not taken.
    """
    providers = worker.rest.providers if worker.rest is not None else None
    if providers is not True:
        check_expressions(before, config, providers_only=providers is None)
