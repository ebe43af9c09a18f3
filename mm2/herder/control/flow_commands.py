"""
Operator commands (pause, resume, restart, alter), written to the control topic.

Everything is checked first and then written; whoever leads the flow obeys, now or when it starts.
The command line and REST use nothing else.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import AsyncIterator, Callable, Collection, Iterable
from contextlib import asynccontextmanager

from mm2.config.flow_config import FlowConfig
from mm2.config.overrides import Changes
from mm2.core.model import CONNECTORS, SOURCE_CONNECTOR
from mm2.core.policy import build_policy
from mm2.errors import InvalidArgument
from mm2.herder.control.alteration_writer import AlterationWriter, known_alterations
from mm2.herder.control.config_alteration import Alteration, alteration
from mm2.herder.topics.internal_topics import create_internal_topics
from mm2.kafka.flow_clusters import FlowClusters, check_reachable
from mm2.kafka.logs.read_log import Record, records_to_end
from mm2.kafka.writer import Writer
from mm2.protocol.command_records import (
    Alterations,
    CommandRecord,
    ConnectorState,
    DesiredConnectorState,
    RestartCommand,
    encode_command,
)
from mm2.protocol.control_records import DesiredFlowState, FlowState, encode_desired_state
from mm2.protocol.desired_state import ControlBacklog, DesiredState, read_control

Request = Callable[[Changes], tuple[Changes, Collection[str]] | None]
"""Says what to change and what to reset, given what is altered; None for nothing."""


class FlowCommands:
    """
    Steers one flow.

    Without a connector, commands are about copying: heartbeats and checkpoints go on.

    Args:
        config: the flow, as its file has it.
        clusters: its admin clients; only the target is asked.
    """

    def __init__(self, config: FlowConfig, clusters: FlowClusters) -> None:
        self._config = config
        self._clusters = clusters
        self._topic = config.herder.names.control_topic

    async def desired_state(self) -> DesiredState:
        """
        What operators have said about the flow and that holds.

        Raises:
            ClusterError: the target does not answer, or refuses.
        """
        return (await self._read()).steering

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

        Args:
            connector: simple name of Java's class; the source connector if None.
            reason: is shown to others.

        Raises:
            InvalidArgument: there is no such connector.
            ClusterError: the target does not answer, or refuses.
        """
        await self._want(connector or SOURCE_CONNECTOR, ConnectorState.PAUSED, reason)

    async def stop(self, connector: str | None = None, *, reason: str = "", by: str = "") -> None:
        """
        Has the flow, or a connector, drain and stop, so that its positions may be altered.

        Does not wait for it.

        Args:
            connector: simple name of Java's class; None stops the flow.
            reason: is shown to others.
            by: what said so, if it was not a person.

        Raises:
            InvalidArgument: there is no such connector.
            ClusterError: the target does not answer, or refuses.
        """
        if connector is not None:
            await self._want(connector, ConnectorState.STOPPED, reason)
        else:
            await self._say(_flow(FlowState.STOPPED, reason, by))

    async def resume(self, connector: str | None = None, *, reason: str = "") -> None:
        """
        Has a connector work again, as soon as somebody is there to run it.

        The source connector's resumption is that of the flow.

        Args:
            connector: simple name of Java's class; the source connector if None.
            reason: is shown to others.

        Raises:
            InvalidArgument: there is no such connector.
            ClusterError: the target does not answer, or refuses.
        """
        name = _known(connector or SOURCE_CONNECTOR)
        steering = await self.desired_state()
        entries: list[DesiredFlowState | CommandRecord] = []
        if name == SOURCE_CONNECTOR and (connector is None or steering.flow.is_stopped):
            entries.append(_flow(FlowState.RUNNING, reason))
        if connector is not None or name in steering.connectors:
            entries.append(_connector(name, ConnectorState.RUNNING, reason))
        await self._say(*entries)

    async def restart(self, connector: str | None = None, task: int | None = None) -> None:
        """
        Has a connector, or one of its tasks, drain and start anew; one that rests goes on resting.

        Args:
            connector: simple name of Java's class; None restarts all three.
            task: number of the task; None restarts all of them.

        Raises:
            InvalidArgument: there is no such connector, or a task without its connector.
            ClusterError: the target does not answer, or refuses.
        """
        if task is not None and connector is None:
            raise InvalidArgument("a task is restarted by its connector: name both")
        names = CONNECTORS if connector is None else (_known(connector),)
        await self._say(
            *(
                RestartCommand(connector=name, task=task, id=uuid.uuid4().hex, time_ms=_now_ms())
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
            dry_run: only says what would come of it.

        Raises:
            ConfigErrors: everything that is wrong with it, or a newer release has altered the flow;
                nothing is changed then.
            ClusterError: the target does not answer, or refuses.
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
            ).write(altered, backlog.end)

    async def _requested(
        self, request: Request, backlog: ControlBacklog
    ) -> tuple[Alteration, Changes, Collection[str]] | None:
        earlier = known_alterations(backlog).changes
        found = request(earlier)
        if found is None:
            return None
        return await asyncio.to_thread(alteration, self._config, earlier, *found), *found

    async def alterations(self) -> Alterations:
        """
        What is altered, of which a newer release may know more.

        Raises:
            ConfigErrors: a newer release has altered it last.
            ClusterError: the target does not answer, or refuses.
        """
        return known_alterations(await self._read())

    async def reset(self, keys: Collection[str] = (), *, dry_run: bool = False) -> Alteration:
        """
        Gives settings back to the file.

        Args:
            keys: which; none means all that are altered.
            dry_run: only says what would come of it.

        Raises:
            ConfigErrors: a key is not altered, or what is left would be wrong.
            ClusterError: the target does not answer, or refuses.
        """
        done = await self.alter_by(lambda altered: ({}, keys or altered), dry_run=dry_run)
        assert done is not None  # noqa: S101 - the request is not None
        return done

    async def _want(self, connector: str, state: ConnectorState, reason: str) -> None:
        await self._say(_connector(_known(connector), state, reason))

    async def _say(self, *entries: DesiredFlowState | CommandRecord) -> None:
        async with self._writer() as writer:
            for entry in entries:
                await writer.send(self._topic, *_encoded(entry), partition=0)

    @asynccontextmanager
    async def _writer(self) -> AsyncIterator[Writer]:
        """A writer of the control topic, which is there then."""
        await check_reachable(self._clusters.target)
        policy = build_policy(self._config.source.properties)
        await create_internal_topics(self._config, policy, self._clusters, on_source=False)
        properties = self._config.herder.client("producer", "control")
        async with Writer(self._config.flow.target, properties) as writer:
            yield writer


def _encoded(entry: DesiredFlowState | CommandRecord) -> tuple[bytes, bytes]:
    return (
        encode_desired_state(entry)
        if isinstance(entry, DesiredFlowState)
        else encode_command(entry)
    )


def _known(connector: str) -> str:
    if connector not in CONNECTORS:
        raise InvalidArgument(f"there is no connector {connector}: name one of {_names()}")
    return connector


def _names(names: Iterable[str] = CONNECTORS) -> str:
    return ", ".join(names)


def _flow(state: FlowState, reason: str, by: str = "") -> DesiredFlowState:
    return DesiredFlowState(state=state, reason=reason, time_ms=_now_ms(), by=by)


def _connector(name: str, state: ConnectorState, reason: str) -> DesiredConnectorState:
    return DesiredConnectorState(connector=name, state=state, reason=reason, time_ms=_now_ms())


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
