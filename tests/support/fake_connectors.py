"""
Connectors in memory: a model of what a dedicated node has.

``tests/integration/test_rest_of_a_mirror.py`` asks the same questions of it and of real flows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from mm2.core.connect.status_records import RunState, Status
from mm2.errors import Unavailable
from mm2.rest.config_diff import patch_diff, replace_diff
from mm2.rest.connector_protocol import (
    ConnectorInfo,
    ConnectorStatus,
    ConnectorType,
    JsonObject,
    Position,
    Readiness,
    TaskTarget,
)
from mm2.rest.rest_errors import RestError, bad_request, not_found, unknown_connector

SOURCE = "A->B.MirrorSourceConnector"
HEARTBEAT = "A->B.MirrorHeartbeatConnector"
_STATES = {each: RunState[each.name] for each in TaskTarget}


@dataclass
class FakeConnector:
    """One connector, as it is now."""

    config: dict[str, str]
    altered: dict[str, str | None] = field(default_factory=dict)
    target: TaskTarget = TaskTarget.RUNNING
    failed: dict[int, str] = field(default_factory=dict)
    offsets: list[Position] = field(default_factory=list)
    topics: list[str] = field(default_factory=list)
    restarts: list[int | None] = field(default_factory=list)


class FakeConnectors:
    """Implements ``Connectors``; what it has may be changed by tests at any time."""

    def __init__(self) -> None:
        self.found = {
            SOURCE: _connector("MirrorSourceConnector", topics=["A.t"]),
            HEARTBEAT: _connector("MirrorHeartbeatConnector", topics=["heartbeats"]),
        }
        self.found[SOURCE].offsets = [
            Position(
                partition={"cluster": "A", "partition": 0, "topic": "t"}, offset={"offset": 41}
            )
        ]
        self.is_reachable = True

    def _check(self) -> None:
        if not self.is_reachable:
            raise Unavailable("B", "no answer")

    async def readiness(self, only: str | None) -> Readiness:
        """Of one flow, which is ready if its target is reachable."""
        if only not in {None, "A->B"}:
            raise not_found(f"Flow {only} not found")
        reason = None if self.is_reachable else "cluster B: no answer"
        return Readiness(flows={"A->B": reason}, clusters={("B", "b:9092"): reason})

    async def cluster_id(self) -> str:
        """A fixed id."""
        self._check()
        return "abcdefghijklmnopqrstuv"

    async def names(self) -> Sequence[str]:
        """Those there are."""
        self._check()
        return list(self.found)

    async def info(self, name: str) -> ConnectorInfo:
        """Its configuration with alterations."""
        found = self._named(name)
        config = {**found.config, **found.altered}
        return ConnectorInfo(
            name=name,
            type=ConnectorType.SOURCE,
            config={key: value for key, value in config.items() if value is not None},
            tasks=list((await self.status(name)).tasks),
        )

    async def info_quickly(self, name: str) -> ConnectorInfo:
        """Its info."""
        return await self.info(name)

    async def config(self, name: str) -> Mapping[str, str]:
        """That of its info."""
        return (await self.info(name)).config

    async def status(self, name: str) -> ConnectorStatus:
        """As it is wanted, at once."""
        found = self._named(name)
        state = _STATES[found.target]
        tasks = {number: _status(RunState.FAILED, trace) for number, trace in found.failed.items()}
        if found.target is not TaskTarget.STOPPED:
            tasks = {0: _status(state), **tasks}
        return ConnectorStatus(
            name=name,
            type=ConnectorType.SOURCE,
            connector=_status(state),
            tasks=tasks,
        )

    async def task_configs(self, name: str) -> Mapping[int, Mapping[str, str]]:
        """That of the connector."""
        info = await self.info(name)
        return dict.fromkeys(info.tasks, info.config)

    async def topics(self, name: str) -> Sequence[str]:
        """Those there are."""
        return self._named(name).topics

    async def reset_topics(self, name: str) -> None:
        """Not possible."""
        self._named(name)
        raise RestError(HTTPStatus.FORBIDDEN, "Topic tracking reset is disabled.")

    async def create(
        self, name: str, config: Mapping[str, str], target: TaskTarget
    ) -> ConnectorInfo:
        """Not possible."""
        raise bad_request(f"{name} cannot be made as {target} with {len(config)} keys")

    async def delete(self, name: str) -> None:
        """Not possible."""
        self._named(name)
        raise bad_request(f"{name} cannot be deleted")

    async def put_config(self, name: str, config: Mapping[str, str]) -> tuple[ConnectorInfo, bool]:
        """Alters what differs."""
        found = self._named(name)
        present = (await self.info(name)).config
        asked = replace_diff(present, config, found.altered)
        found.altered.update(asked.changes)
        for key in asked.resets:
            del found.altered[key]
        return await self.info(name), False

    async def patch_config(self, name: str, changes: Mapping[str, str | None]) -> ConnectorInfo:
        """Alters what differs."""
        found = self._named(name)
        found.altered.update(patch_diff((await self.info(name)).config, changes).changes)
        return await self.info(name)

    async def set_target_state(self, name: str, target: TaskTarget) -> None:
        """It is so at once."""
        self._named(name).target = target

    async def restart(
        self, name: str, *, include_tasks: bool, only_failed: bool
    ) -> ConnectorStatus:
        """Remembers it."""
        found = self._named(name)
        if not only_failed:
            found.restarts.append(None)
        if include_tasks:
            found.restarts += list(found.failed)
            found.failed.clear()
        return await self.status(name)

    async def restart_task(self, name: str, task: int) -> None:
        """Remembers it."""
        found = self._named(name)
        if task not in (await self.status(name)).tasks:
            raise not_found(f"Unknown task: {name}-{task}")
        found.restarts.append(task)

    async def offsets(self, name: str) -> Sequence[Position]:
        """Those there are."""
        return self._named(name).offsets

    async def alter_offsets(self, name: str, document: JsonObject) -> str:
        """Takes entries that look like positions."""
        found = self._stopped(name)
        entries: Any = document["offsets"]
        if not isinstance(entries, list) or not all(map(_is_entry, entries)):
            raise bad_request("offsets are no list of positions")
        found.offsets = [Position(**each) for each in entries if each["offset"]]
        return "The offsets for this connector have been altered successfully"

    async def reset_offsets(self, name: str) -> str:
        """Forgets all."""
        self._stopped(name).offsets = []
        return "The offsets for this connector have been reset successfully"

    def _stopped(self, name: str) -> FakeConnector:
        found = self._named(name)
        if found.target is not TaskTarget.STOPPED:
            raise bad_request(
                "Connectors must be in the STOPPED state before their offsets can be modified."
            )
        return found

    def _named(self, name: str) -> FakeConnector:
        if name not in self.found:
            raise unknown_connector(name)
        return self.found[name]


def _connector(simple: str, topics: list[str]) -> FakeConnector:
    config = {
        "name": f"A->B.{simple}",
        "connector.class": f"org.apache.kafka.connect.mirror.{simple}",
        "source.cluster.alias": "A",
        "target.cluster.alias": "B",
        "source.cluster.sasl.jaas.config": "[hidden]",
        "topics": "t",
    }
    return FakeConnector(config=config, topics=topics)


def _is_entry(entry: Any) -> bool:
    match entry:
        case {"partition": dict(), "offset": None | dict()}:
            return len(entry) == 2
        case _:
            return False


def _status(state: RunState, trace: str | None = None) -> Status:
    return Status(state=state, worker_id="w", generation=1, trace=trace)
