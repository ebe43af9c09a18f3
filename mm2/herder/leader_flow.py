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
from mm2.herder.status.failure_reporting import OnFailure
from mm2.herder.topics.internal_topics import create_internal_topics
from mm2.kafka.flow_clusters import FlowClusters, admin_clients, wait_until_reachable
from mm2.protocol.command_records import (
    Alterations,
    ConnectorState,
    DesiredConnectorState,
    RestartCommand,
)
from mm2.protocol.control_codec import ControlRecord
from mm2.supervision import Supervised, run_unless_set

log = structlog.get_logger()


class LeaderFlow:
    """
    Runs one flow for one term.

    Args:
        on_failure: is called for connectors that cannot begin.
        classes: of the flow; goes on holding the last ones when the term is over.
    """

    def __init__(
        self,
        *,
        runner: BundleRunner,
        heartbeats: SmallFlow,
        checkpoints: SmallFlow,
        term: LeadershipTerm,
        on_failure: OnFailure,
        classes: HeldClasses,
    ) -> None:
        self._on_failure = on_failure
        self._classes = classes
        self._config = term.config
        self._runner = runner
        self._term = term
        self._flows = {
            HEARTBEAT_CONNECTOR: ("heartbeat", heartbeats),
            CHECKPOINT_CONNECTOR: ("checkpoint", checkpoints),
        }
        self._small: dict[str, Supervised] = {}
        self._source: SourceController | None = None
        self._ignored: Mapping[str, str] = {}
        self._is_unusable = False
        self._states: dict[str, ConnectorState] = {}
        self._part = Supervised("leader", self._attempt, stopping=term.stopping)

    async def run(self) -> None:
        """Runs until the term ends, and everything under way is committed."""
        with self._term.control_topic.subscribe_entries(self._control_record):
            await self._part.run()

    async def _attempt(self) -> None:
        self._term.is_changed.clear()
        # Spark may be starting, or a class may take long: a stop waits for neither.
        if not await run_unless_set(self._part.ending, self._load()):
            return
        async with admin_clients(self._config) as clusters:
            await self._run(clusters)

    async def _load(self) -> None:
        self._go_on_with(await self._usable())

    async def _run(self, clusters: FlowClusters) -> None:
        async with asyncio.TaskGroup() as group:
            jobs = [
                group.create_task(self._take_changes(clusters), name="reconfigure"),
                # Heartbeats show that the target can be written to, whatever the source does.
                self._begin(group, HEARTBEAT_CONNECTOR, clusters),
            ]
            if await run_unless_set(self._part.ending, self._reach_source(clusters)):
                jobs.append(self._begin(group, CHECKPOINT_CONNECTOR, clusters))
                log.info("flow.started")
                await self._mirror(clusters)
            for job in jobs:
                job.cancel()
        self._small.clear()
        log.info("flow.stopped")

    async def _reach_source(self, clusters: FlowClusters) -> None:
        if self._config.source.runs or self._config.checkpoint.runs:
            await wait_until_reachable(clusters.source, tell=self._report_source)
            policy = build_policy(self._config.source.properties)
            await create_internal_topics(self._config, policy, clusters, on_source=True)

    def _report_source(self, reason: str | None) -> None:
        """Reports why the connectors that need the source do not begin; None when they can."""
        for settings, name in (
            (self._config.source, SOURCE_CONNECTOR),
            (self._config.checkpoint, CHECKPOINT_CONNECTOR),
        ):
            if settings.runs:
                self._on_failure(ConnectorKey(name), reason)

    def _report_classes(self, problem: ConfigError | None) -> None:
        """Reports why nothing of the flow runs; None when it can."""
        if problem is not None or self._is_unusable:
            for name in CONNECTORS:
                self._on_failure(ConnectorKey(name), None if problem is None else str(problem))
        self._is_unusable = problem is not None

    def _begin(
        self, group: asyncio.TaskGroup, connector: str, clusters: FlowClusters
    ) -> asyncio.Task[None]:
        name, _ = self._flows[connector]
        part = Supervised(name, lambda: self._run_small(connector, clusters), is_cut=True)
        self._small[connector] = part
        return group.create_task(part.run(), name=name)

    async def _run_small(self, connector: str, clusters: FlowClusters) -> None:
        """Runs a small flow, unless operators have paused or stopped it."""
        desired = self._term.control_topic.desired
        state = self._states[connector] = desired.state_of(connector)
        if state is not ConnectorState.RUNNING:
            reason = desired.reason_of(connector)
            log.info("connector.held", connector=connector, state=state.value, reason=reason)
            return
        _, flow = self._flows[connector]

        async def work() -> None:
            # It goes on with this one, whatever comes meanwhile that does not concern it.
            config = self._config
            is_heartbeat = connector == HEARTBEAT_CONNECTOR
            with held(config.heartbeat.properties) if is_heartbeat else HeldClasses(config):
                await flow(config, clusters)

        await self._term.while_leading(work)

    async def _mirror(self, clusters: FlowClusters) -> None:
        """Copies records until stopped; a flow that only sends heartbeats just waits."""
        for refusal in self._config.source.refusals:
            log.error("connector.refused", connector=SOURCE_CONNECTOR, reason=refusal)
        if not self._config.source.runs:
            await self._part.ending.wait()
            return
        self._source = SourceController(
            self._config,
            clusters,
            self._runner,
            self._term,
            on_failure=self._on_failure,
            stopping=self._part.ending,
        )
        try:
            await self._source.run()
        finally:
            self._source = None

    def _control_record(self, entry: ControlRecord) -> None:
        match entry:
            case Alterations():
                self._term.is_changed.set()
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
            self._classes.take(self._term.config, self._config, found.config)
            problem = await loading_problem(found.config)
        if problem is None:
            problem = await self._runner.problem(found.config)
        self._report_classes(problem)
        if problem is not None:
            raise problem
        return found.config

    def _effective(self) -> AppliedOverrides:
        found = apply_valid_overrides(
            self._term.config, self._term.control_topic.desired.alterations.changes
        )
        for key, reason in found.ignored.items():
            if self._ignored.get(key) != reason:
                log.error("alteration.ignored", key=key, reason=reason)
        self._ignored = found.ignored
        return found

    async def _take_changes(self, clusters: FlowClusters) -> None:
        while True:
            await self._term.is_changed.wait()
            self._term.is_changed.clear()
            try:
                config = await self._usable()
            except ConfigError as error:
                # It is drained, and reported when it is to begin again.
                log.error("config.rejected", problems=[str(error)])
                self._part.restart()
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
            self._part.restart()
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
        self._classes.take(self._term.config, config)

    async def _create_topics(self, config: FlowConfig, clusters: FlowClusters) -> None:
        """What new settings need; what cannot be created is logged, and may exist."""
        policy = build_policy(config.source.properties)
        for on_source in (False, True):
            try:
                await create_internal_topics(config, policy, clusters, on_source=on_source)
            except Mm2Error as error:
                log.error("internal_topic.not_created", error=str(error))
