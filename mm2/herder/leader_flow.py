"""
A flow as its leader runs it: with what operators have altered, paused and restarted.

The file says what the flow is; the control topic says what is different
(``mm2.herder.control.flow_commands``). A change touches no more than it must:
``mm2.config.live_changes`` says what that is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import structlog

from mm2.config.flow_config import FlowConfig
from mm2.config.keys.effects import Effect
from mm2.config.live_changes import change_between
from mm2.config.overrides import AppliedOverrides, apply_valid_overrides
from mm2.core.connect.status_records import ConnectorKey
from mm2.core.model import (
    CHECKPOINT_CONNECTOR,
    CONNECTORS,
    HEARTBEAT_CONNECTOR,
    SOURCE_CONNECTOR,
)
from mm2.core.plugin import held
from mm2.core.policy import build_policy
from mm2.errors import ConfigError, Mm2Error
from mm2.herder.election.leadership_term import LeadershipTerm
from mm2.herder.flow_classes import HeldClasses, loading_problem
from mm2.herder.flow_protocols import BundleRunner, SmallFlow
from mm2.herder.source_controller import SourceController
from mm2.herder.status.failure_reporting import Hear
from mm2.herder.topics.internal_topics import create_internal_topics
from mm2.kafka.flow_clusters import FlowClusters, admin_clients, wait_until_reachable
from mm2.protocol.command_records import (
    Alterations,
    CommandRecord,
    ConnectorState,
    DesiredConnectorState,
    RestartCommand,
)
from mm2.protocol.control_records import Entry
from mm2.supervision import Restartable, keep_running, run_unless_set

log = structlog.get_logger()


class LeaderFlow:
    """
    Runs one flow for one term.

    Args:
        config: the flow, as this node's file has it.
        runner: runs bundles of the source flow.
        heartbeats: the heartbeat flow.
        checkpoints: the checkpoint flow.
        term: of this leader.
        hear: is called for connectors that cannot begin.
        classes: of the flow; goes on holding the last ones when the term is over.
    """

    def __init__(
        self,
        config: FlowConfig,
        *,
        runner: BundleRunner,
        heartbeats: SmallFlow,
        checkpoints: SmallFlow,
        term: LeadershipTerm,
        hear: Hear,
        classes: HeldClasses,
    ) -> None:
        self._hear_of = hear
        self._classes = classes
        self._base = config
        self._config = config
        self._runner = runner
        self._term = term
        self._flows = {
            HEARTBEAT_CONNECTOR: ("heartbeat", heartbeats),
            CHECKPOINT_CONNECTOR: ("checkpoint", checkpoints),
        }
        self._small: dict[str, Restartable] = {}
        self._source: SourceController | None = None
        self._ignored: Mapping[str, str] = {}
        self._is_unusable = False
        self._states: dict[str, ConnectorState] = {}
        self._is_news = asyncio.Event()
        self._is_over = asyncio.Event()

    def reconfigure(self, config: FlowConfig) -> None:
        """Goes on with another file; what is altered over REST or the command line stays so."""
        self._base = config
        self._is_news.set()

    async def run(self) -> None:
        """
        Runs until the term ends, and everything under way is committed.

        Raises:
            ConfigError: a class that the flow needs may not be had, or cannot.
        """
        with self._term.control_topic.subscribe_entries(self._hear):
            while not self._term.stopping.is_set():
                self._is_news.clear()
                self._go_on_with(await self._usable())
                self._is_over.clear()
                async with admin_clients(self._config) as clusters:
                    await self._run(clusters)

    async def _run(self, clusters: FlowClusters) -> None:
        """Runs until the term ends, or until the whole flow is to start again."""
        async with asyncio.TaskGroup() as group:
            jobs = [
                group.create_task(self._end_with_term(), name="stopping"),
                group.create_task(self._take_news(clusters), name="reconfigure"),
                # Heartbeats say that the target can be written to, whatever the source does.
                self._begin(group, HEARTBEAT_CONNECTOR, clusters),
            ]
            if await run_unless_set(self._is_over, self._reach_source(clusters)):
                jobs.append(self._begin(group, CHECKPOINT_CONNECTOR, clusters))
                log.info("flow.started")
                await self._mirror(clusters)
            for job in jobs:
                job.cancel()
        self._small.clear()
        log.info("flow.stopped")

    async def _end_with_term(self) -> None:
        await self._term.stopping.wait()
        self._is_over.set()

    async def _reach_source(self, clusters: FlowClusters) -> None:
        if self._config.source.runs or self._config.checkpoint.runs:
            await wait_until_reachable(clusters.source, tell=self._tell_of_source)
            policy = build_policy(self._config.source.properties)
            await create_internal_topics(self._config, policy, clusters, on_source=True)

    def _tell_of_source(self, reason: str | None) -> None:
        """Says why the connectors that need the source do not begin; None when they can."""
        for settings, name in (
            (self._config.source, SOURCE_CONNECTOR),
            (self._config.checkpoint, CHECKPOINT_CONNECTOR),
        ):
            if settings.runs:
                self._hear_of(ConnectorKey(name), reason)

    def _tell_of_classes(self, problem: ConfigError | None) -> None:
        """Says why nothing of the flow runs; None when it can."""
        if problem is not None or self._is_unusable:
            for name in CONNECTORS:
                self._hear_of(ConnectorKey(name), None if problem is None else str(problem))
        self._is_unusable = problem is not None

    def _begin(
        self, group: asyncio.TaskGroup, connector: str, clusters: FlowClusters
    ) -> asyncio.Task[None]:
        name, _ = self._flows[connector]
        renewed = Restartable(name, lambda: self._run_small(connector, clusters))
        self._small[connector] = renewed
        return group.create_task(renewed.run(), name=name)

    async def _run_small(self, connector: str, clusters: FlowClusters) -> None:
        """Runs a small flow, unless operators want it to rest."""
        steering = self._term.control_topic.steering
        state = self._states[connector] = steering.state_of(connector)
        if state is not ConnectorState.RUNNING:
            reason = steering.reason_of(connector)
            log.info("connector.held", connector=connector, state=state.value, reason=reason)
            return
        name, flow = self._flows[connector]

        async def work() -> None:
            # It goes on with this one, whatever comes meanwhile that does not concern it.
            config = self._config
            is_heartbeat = connector == HEARTBEAT_CONNECTOR
            with held(config.heartbeat.properties) if is_heartbeat else HeldClasses(config):
                await flow(config, clusters)

        await self._term.while_leading(lambda: keep_running(name, work))

    async def _mirror(self, clusters: FlowClusters) -> None:
        """Copies records until stopped; a flow that only sends heartbeats just waits."""
        for refusal in self._config.source.refusals:
            log.error("connector.refused", connector=SOURCE_CONNECTOR, reason=refusal)
        if not self._config.source.runs:
            await self._is_over.wait()
            return
        self._source = SourceController(
            self._config,
            clusters,
            self._runner,
            self._term,
            hear=self._hear_of,
            stopping=self._is_over,
        )
        try:
            await self._source.run()
        finally:
            self._source = None

    def _hear(self, entry: Entry | CommandRecord) -> None:
        match entry:
            case Alterations():
                self._is_news.set()
            case DesiredConnectorState(connector=name) if self._states.get(name) is not entry.state:
                if name in self._small:
                    self._small[name].restart()
            case RestartCommand(connector=name) if name in self._small:
                log.info("connector.restarted", connector=name)
                self._small[name].restart()
            case RestartCommand(connector=name) if name == SOURCE_CONNECTOR and self._source:
                log.info("connector.restarted", connector=name, task=entry.task)
                self._source.restart(None if entry.task is None else [entry.task])
            case _:
                pass

    async def _usable(self) -> FlowConfig:
        """
        The file's flow with what is altered, as far as that fits, once its classes are loaded.

        Raises:
            ConfigError: one of them may not be had, or cannot.
        """
        found = self._effective()
        problem = next(iter(found.refused), None)
        if problem is None:
            self._classes.take(self._base, self._config, found.config)
            problem = await loading_problem(found.config)
        self._tell_of_classes(problem)
        if problem is not None:
            raise problem
        return found.config

    def _effective(self) -> AppliedOverrides:
        found = apply_valid_overrides(
            self._base, self._term.control_topic.steering.alterations.changes
        )
        for key, reason in found.ignored.items():
            if self._ignored.get(key) != reason:
                log.error("alteration.ignored", key=key, reason=reason)
        self._ignored = found.ignored
        return found

    async def _take_news(self, clusters: FlowClusters) -> None:
        while True:
            await self._is_news.wait()
            self._is_news.clear()
            try:
                config = await self._usable()
            except ConfigError as error:
                # It is drained, and reported when it is to begin again.
                log.error("config.rejected", problems=[str(error)])
                self._is_over.set()
                return
            await self._change(config, clusters)

    async def _change(self, config: FlowConfig, clusters: FlowClusters) -> None:
        change = change_between(self._config, config)
        effects = change.effects
        log.info(
            "flow.reconfigured",
            keys=list(change.keys),
            effects=sorted(effect.name.lower() for effect in effects),
        )
        if Effect.FLOW in effects:
            self._is_over.set()
            return
        if effects & {Effect.BUNDLES, Effect.CHECKPOINTS}:
            await self._create_topics(config, clusters)
        try:
            if self._source is not None:
                self._source.reconfigure(config, effects)
        except ConfigError as error:
            log.error("config.rejected", problems=[str(error)])
            return
        self._go_on_with(config)
        for effect, connector in (
            (Effect.CHECKPOINTS, CHECKPOINT_CONNECTOR),
            (Effect.HEARTBEATS, HEARTBEAT_CONNECTOR),
        ):
            if effect in effects and connector in self._small:
                self._small[connector].restart()

    def _go_on_with(self, config: FlowConfig) -> None:
        self._config = config
        self._classes.take(self._base, config)

    async def _create_topics(self, config: FlowConfig, clusters: FlowClusters) -> None:
        """What new settings need; what cannot be created is said, and may exist."""
        policy = build_policy(config.source.properties)
        for on_source in (False, True):
            try:
                await create_internal_topics(config, policy, clusters, on_source=on_source)
            except Mm2Error as error:
                log.error("internal_topic.not_created", error=str(error))
