"""
Operator commands (pause, resume, restart, alter), written to the control topic.

Everything is checked first and then written; whoever leads the flow obeys, now or when it starts.
The command line and REST use nothing else.
"""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Callable, Collection, Iterable
from contextlib import asynccontextmanager

from mm2.clock import now_ms
from mm2.config.flow_config import FlowConfig
from mm2.config.overrides import Alteration, Changes
from mm2.core.model import CONNECTORS, SOURCE_CONNECTOR
from mm2.core.policy import build_policy
from mm2.errors import InvalidArgument
from mm2.herder.control.alteration_writer import (
    AlterationWriter,
    checked_alteration,
    known_alterations,
)
from mm2.herder.topics.internal_topics import create_internal_topics
from mm2.kafka.flow_clusters import FlowClusters, check_reachable
from mm2.kafka.logs.read_log import Record, records_to_end
from mm2.kafka.writer import Writer
from mm2.protocol.command_records import (
    Alterations,
    ConnectorState,
    DesiredConnectorState,
    RestartCommand,
)
from mm2.protocol.control_backlog import ControlBacklog, read_control
from mm2.protocol.control_codec import ControlRecord, encode_control
from mm2.protocol.control_records import DesiredFlowState, FlowState
from mm2.protocol.desired_state import DesiredState

Request = Callable[[Changes], tuple[Changes, Collection[str]] | None]
"""Says what to change and what to reset, given what is altered; None for nothing."""


class FlowCommands:
    """
    Steers one flow.

    Without a connector, commands are about copying: heartbeats and checkpoints go on. Connectors
    have the simple names of Java's classes, and reasons are shown to others. All calls raise
    ``ClusterError`` if the target does not answer, or refuses, and ``InvalidArgument`` if there is
    no such connector.

    Args:
        clusters: its admin clients; only the target is asked.
    """

    def __init__(self, config: FlowConfig, clusters: FlowClusters) -> None:
        self._config = config
        self._clusters = clusters
        self._topic = config.herder.names.control_topic

    async def desired_state(self) -> DesiredState:
        """The state that operators want of the flow."""
        return (await self._read()).desired

    async def _read(self) -> ControlBacklog:
        await check_reachable(self._clusters.target)
        if self._topic not in await self._clusters.target.list_topics():
            return ControlBacklog(entries=())
        consumer = self._config.herder.client("consumer", "control")
        return await read_control(self._config.flow.target, consumer, self._topic)

    def _read_after(self, offset: int) -> AsyncIterator[Record]:
        alias, consumer = (
            self._config.flow.target,
            self._config.herder.client("consumer", "control"),
        )
        return records_to_end(alias, consumer, self._topic, starts={0: offset + 1})

    async def pause(self, connector: str | None = None, *, reason: str = "") -> None:
        """
        Has a connector drain and rest; its positions stay as they are.

        A flow that is stopped stays stopped.
        """
        await self._want(connector or SOURCE_CONNECTOR, ConnectorState.PAUSED, reason)

    async def stop(self, connector: str | None = None, *, reason: str = "", by: str = "") -> None:
        """
        Has the flow, or a connector, drain and stop, so that its positions may be altered.

        Does not wait for it.

        Args:
            connector: None stops the flow.
            by: the program that stops it, if it is not a person.
        """
        if connector is not None:
            await self._want(connector, ConnectorState.STOPPED, reason)
        else:
            await self._write(_flow(FlowState.STOPPED, reason, by))

    async def resume(self, connector: str | None = None, *, reason: str = "") -> None:
        """
        Has a connector work again, as soon as somebody is there to run it.

        The source connector's resumption is that of the flow.
        """
        name = _known(connector or SOURCE_CONNECTOR)
        desired = await self.desired_state()
        entries: list[ControlRecord] = []
        if name == SOURCE_CONNECTOR and (connector is None or desired.flow.is_stopped):
            entries.append(_flow(FlowState.RUNNING, reason))
        if connector is not None or name in desired.connectors:
            entries.append(_connector(name, ConnectorState.RUNNING, reason))
        await self._write(*entries)

    async def restart(self, connector: str | None = None, task: int | None = None) -> None:
        """
        Has a connector, or one of its tasks, drain and start anew; one that rests goes on resting.

        Args:
            connector: None restarts all three.
            task: None restarts all of them.

        Raises:
            InvalidArgument: a task without its connector, too.
        """
        if task is not None and connector is None:
            raise InvalidArgument("a task is restarted by its connector: name both")
        names = CONNECTORS if connector is None else (_known(connector),)
        await self._write(
            *(
                RestartCommand(connector=name, task=task, id=uuid.uuid4().hex, time_ms=now_ms())
                for name in names
            )
        )

    async def alter(
        self, changes: Changes, *, reset: Collection[str] = (), dry_run: bool = False
    ) -> Alteration:
        """
        Lays settings over those of the file; they hold over restarts until they are reset.

        Args:
            changes: new values by key, without ``A->B.``; None counts as if the file had not got
                the key.
            reset: keys that are to be as in the file again.
            dry_run: only returns what would come of it.

        Raises:
            ConfigErrors: everything that is wrong with it, or a newer release has altered the flow;
                nothing is changed then.
        """
        done = await self.alter_by(lambda _: (changes, reset), dry_run=dry_run)
        assert done is not None  # noqa: S101 - the request is not None
        return done

    async def alter_by(self, request: Request, *, dry_run: bool = False) -> Alteration | None:
        """
        As ``alter``, by what depends on what is altered; returns None if nothing is to be.

        The control topic is read when all is ready to be written, and after that only if somebody
        else has written to it in between.
        """
        target = self._clusters.target
        await check_reachable(target)
        if dry_run or self._topic not in await target.list_topics():
            # What is wrong creates no topics.
            done = await self._requested(request, await self._read())
            if dry_run or done is None:
                return done and done[0]
        async with self._writer() as writer:
            backlog = await self._read()
            done = await self._requested(request, backlog)
            if done is None:
                return None
            altered, changes, reset = done
            return await AlterationWriter(
                self._config, writer, self._read_after, changes, reset
            ).write(altered, backlog)

    async def _requested(
        self, request: Request, backlog: ControlBacklog
    ) -> tuple[Alteration, Changes, Collection[str]] | None:
        earlier = known_alterations(backlog.altered).changes
        found = request(earlier)
        if found is None:
            return None
        return await checked_alteration(self._config, earlier, *found), *found

    async def alterations(self) -> Alterations:
        """
        What is altered, of which a newer release may know more.

        Raises:
            ConfigErrors: a newer release has altered it last.
        """
        return known_alterations((await self._read()).altered)

    async def reset(self, keys: Collection[str] = (), *, dry_run: bool = False) -> Alteration:
        """
        Gives settings back to the file.

        Args:
            keys: which; none means all that are altered.

        Raises:
            ConfigErrors: a key is not altered, or what is left would be wrong.
        """
        done = await self.alter_by(lambda altered: ({}, keys or altered), dry_run=dry_run)
        assert done is not None  # noqa: S101 - the request is not None
        return done

    async def _want(self, connector: str, state: ConnectorState, reason: str) -> None:
        await self._write(_connector(_known(connector), state, reason))

    async def _write(self, *entries: ControlRecord) -> None:
        async with self._writer() as writer:
            for entry in entries:
                await writer.send(self._topic, *encode_control(entry), partition=0)

    @asynccontextmanager
    async def _writer(self) -> AsyncIterator[Writer]:
        await check_reachable(self._clusters.target)
        policy = build_policy(self._config.source.properties)
        await create_internal_topics(self._config, policy, self._clusters, on_source=False)
        properties = self._config.herder.client("producer", "control")
        async with Writer(self._config.flow.target, properties) as writer:
            yield writer


def _known(connector: str) -> str:
    if connector not in CONNECTORS:
        raise InvalidArgument(f"there is no connector {connector}: name one of {_names()}")
    return connector


def _names(names: Iterable[str] = CONNECTORS) -> str:
    return ", ".join(names)


def _flow(state: FlowState, reason: str, by: str = "") -> DesiredFlowState:
    return DesiredFlowState(state=state, reason=reason, time_ms=now_ms(), by=by)


def _connector(name: str, state: ConnectorState, reason: str) -> DesiredConnectorState:
    return DesiredConnectorState(connector=name, state=state, reason=reason, time_ms=now_ms())
