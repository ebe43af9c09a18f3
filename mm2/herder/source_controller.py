"""The source flow's control side: keeps the plan of a flow current, and runs its bundles."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial

import structlog

from mm2.config.flow_config import FlowConfig
from mm2.config.keys.effects import SHARES, TASKS, Effect, Effects
from mm2.config.offset_topics import offset_syncs_topic
from mm2.core.balancing.rebalancing import Balance, Strategy
from mm2.core.connect.status_records import TaskKey
from mm2.core.model import SOURCE_CONNECTOR, TopicPartition
from mm2.herder.bundles.bundle_assignments import Bundles
from mm2.herder.bundles.make_bundle_spec import bundle_spec
from mm2.herder.bundles.progress_watcher import ProgressWatcher
from mm2.herder.bundles.rate_shares import RateShares
from mm2.herder.bundles.silent_tasks import SilentTasks
from mm2.herder.bundles.task_count import TaskCount
from mm2.herder.bundles.task_fencing import end_earlier_tasks
from mm2.herder.election.leadership_term import LeadershipTerm
from mm2.herder.flow_classes import HeldClasses
from mm2.herder.flow_protocols import BundleRunner
from mm2.herder.status.failure_reporting import OnFailure
from mm2.herder.topics.discovery import Assigned
from mm2.herder.topics.topic_sync import TopicSync
from mm2.kafka.flow_clusters import FlowClusters
from mm2.protocol.bundle_spec import BundleSpec
from mm2.protocol.command_records import (
    ConnectorState,
    DesiredConnectorState,
    LiveSettings,
    RateDivision,
)
from mm2.protocol.control_codec import ControlRecord, encode_control
from mm2.protocol.control_records import (
    Assignment,
    DesiredFlowState,
    MissingTopic,
    earlier_bundles,
)
from mm2.slot_allocation import FlowSlots
from mm2.supervision import EventLike, Supervised, keep_running, run_unless_set
from mm2.telemetry.levels import CHOSEN

log = structlog.get_logger()


class SourceController:
    """
    Runs the source side of one flow on the node that leads it.

    Args:
        on_failure: is called for tasks that cannot begin.
        stopping: set when everything is to be committed and to end; the term's if not given.
    """

    def __init__(
        self,
        config: FlowConfig,
        clusters: FlowClusters,
        runner: BundleRunner,
        term: LeadershipTerm,
        *,
        on_failure: OnFailure,
        stopping: EventLike | None = None,
    ) -> None:
        self._config = config
        self._runner = runner
        self._term = term
        self._on_failure = on_failure
        self._part = Supervised("source", self._attempt, stopping=stopping or term.stopping)
        self._topics = TopicSync(config, clusters)
        self._classes_of_topics = HeldClasses(config)
        self._state = ConnectorState.RUNNING
        self._epoch = 0
        self._number = 0
        self._partitions = 0
        self._bundles: Bundles | None = None
        self._watch: ProgressWatcher | None = None
        self._tasks = TaskCount(0)
        self._changes: asyncio.Queue[Effects] = asyncio.Queue()
        self._restarts: asyncio.Queue[Collection[int] | None] = asyncio.Queue()

    def reconfigure(self, config: FlowConfig, effects: Effects) -> None:
        """
        Goes on with other settings.

        Raises:
            ConfigError: a filter cannot be made; everything stays as it is.
        """
        if Effect.TOPICS in effects:
            self._topics.reconfigure(config)
            self._classes_of_topics.take(config)
        self._config = config
        self._changes.put_nowait(effects)

    def restart(self, tasks: Collection[int] | None = None) -> None:
        """
        Has tasks drain and start again, one after the other.

        Args:
            tasks: their numbers; None: all.
        """
        self._restarts.put_nowait(tasks)

    async def run(self) -> None:
        """
        Mirrors until it is to stop, whenever operators want the connector to run.

        Returns when everything under way is committed.
        """
        subscription = self._term.control_topic.subscribe_entries(self._control_record)
        levels = CHOSEN.listen(lambda: self._changes.put_nowait(TASKS))
        with self._classes_of_topics, subscription, levels:
            await self._part.run()

    async def _attempt(self) -> None:
        desired = self._term.control_topic.desired
        self._state = desired.state_of(SOURCE_CONNECTOR)
        if self._state is ConnectorState.RUNNING:
            await self._mirror()
        else:
            reason = desired.reason_of(SOURCE_CONNECTOR)
            log.info("flow.held", state=self._state.value, reason=reason)

    def _control_record(self, entry: ControlRecord) -> None:
        match entry:
            case MissingTopic() if entry.epoch == self._epoch:
                self._topics.refresh()
            case Assignment() if entry.epoch <= self._epoch and self._bundles is not None:
                self._bundles.assignment_read(entry)
            case DesiredFlowState() | DesiredConnectorState():
                if self._term.control_topic.desired.state_of(SOURCE_CONNECTOR) is not self._state:
                    self._part.restart()
            case _:
                pass

    async def _mirror(self) -> None:
        """Runs the bundles until interrupted, and then lets them drain and commit."""
        self._bundles, self._partitions = None, 0
        # Who is to stop meanwhile is not given another epoch.
        if not await run_unless_set(self._part.ending, self._take_epoch()):
            return
        entries = self._term.control_topic.entries
        assignments = [entry for entry in entries if isinstance(entry, Assignment)]
        writable: dict[int, set[TopicPartition]] = {}

        async def end_earlier() -> None:
            writer = self._term.writer
            writable.update(await end_earlier_tasks(self._config, assignments, writer))

        # Nor does a stop wait for a target that does not answer: the next leader fences them.
        if not await run_unless_set(self._part.ending, end_earlier()):
            return
        # What was to be changed or restarted before begins now, as it is to be.
        self._changes, self._restarts = asyncio.Queue(), asyncio.Queue()
        with self._share_of_slots() as slots:
            await self._run(slots, earlier_bundles(assignments), writable)

    async def _run(
        self,
        slots: FlowSlots,
        earlier: Sequence[Collection[TopicPartition]],
        writable: Mapping[int, Collection[TopicPartition]],
    ) -> None:
        self._tasks = TaskCount(sum(map(bool, earlier)))
        async with asyncio.TaskGroup() as group:
            bundles = self._bundles = self._new_bundles(slots, earlier, writable, group)
            silent = SilentTasks(bundles, self._term.writer, lambda: self._config)
            watching = Supervised("watch", lambda: self._follow(bundles, silent), is_cut=True)
            watch = group.create_task(watching.run(), name="watch")
            jobs = [
                group.create_task(self._follow_topics(bundles, slots), name="topic-sync"),
                group.create_task(silent.run(), name="silent-tasks"),
                group.create_task(self._take_changes(bundles, slots, watching), name="reconfigure"),
                group.create_task(self._take_restarts(bundles), name="restart-tasks"),
            ]
            await self._part.ending.wait()
            for job in jobs:
                job.cancel()
            await bundles.stop()
            watch.cancel()  # until then it relays what tasks log

    async def _follow_topics(self, bundles: Bundles, slots: FlowSlots) -> None:
        async def assign(found: Assigned) -> None:
            self._partitions = len(found)
            self._tasks.keep(found)
            await bundles.assign(found, self._most(slots))

        await self._term.while_leading(lambda: self._topics.run(assign))

    async def _take_epoch(self) -> None:
        self._epoch = await self._term.next_epoch()

    @contextmanager
    def _share_of_slots(self) -> Iterator[FlowSlots]:
        """The flow's slots in Spark; whenever it may have more or fewer, it divides again."""
        slots = self._runner.slots.join(
            changed=self._divide_again,
            refused=lambda task, why: self._on_failure(TaskKey(SOURCE_CONNECTOR, task), why),
        )
        try:
            yield slots
        finally:
            slots.leave()

    def _new_bundles(
        self,
        slots: FlowSlots,
        earlier: Sequence[Collection[TopicPartition]],
        writable: Mapping[int, Collection[TopicPartition]],
        group: asyncio.TaskGroup,
    ) -> Bundles:
        source = self._config.source
        return Bundles(
            self._runner,
            self._term.writer,
            slots=slots,
            spec_of=self._spec,
            control_topic=self._config.herder.names.control_topic,
            epoch=self._epoch,
            balance=Balance(Strategy(source.assignment_strategy), source.tasks_max or 1, earlier),
            writable=writable,
            group=group,
        )

    def _most(self, slots: FlowSlots) -> int:
        return self._tasks.most(self._config, slots, self._partitions)

    def _divide_again(self) -> None:
        self._changes.put_nowait(SHARES)

    def _spec(self, index: int) -> BundleSpec:
        syncs_topic = offset_syncs_topic(self._config, self._topics.policy)
        return bundle_spec(self._config, index, self._epoch, syncs_topic)

    async def _follow(self, bundles: Bundles, silent: SilentTasks) -> None:
        self._watch = ProgressWatcher(
            bundles,
            target=self._config.flow.target,
            consumer=self._config.herder.client("consumer", "progress"),
            topic=self._config.herder.names.progress_topic,
            epoch=self._epoch,
            silent=silent,
            balance_every=self._config.source.assignment_balance,
            shares=RateShares(bundles.holders, self._publish_shares),
            tasks=None if self._config.source.tasks_max else self._tasks,
            changed=self._divide_again,
        )
        await self._watch.run()

    async def _publish_shares(self, portions: Mapping[int, float]) -> None:
        self._number += 1
        division = RateDivision(epoch=self._epoch, portions=portions, number=self._number)
        topic = self._config.herder.names.control_topic
        await self._term.writer.send(topic, *encode_control(division), partition=0)

    async def _take_changes(self, bundles: Bundles, slots: FlowSlots, watching: Supervised) -> None:
        while True:
            effects = await self._changes.get()
            if Effect.SHARES in effects:
                rates = {} if self._watch is None else self._watch.rates()
                await keep_running("reconfigure", partial(self._reshape, bundles, slots, rates))
                watching.restart()
            if Effect.TASKS in effects:
                await keep_running("reconfigure", self._publish_settings)
            if Effect.BUNDLES in effects:
                self.restart()

    async def _take_restarts(self, bundles: Bundles) -> None:
        while True:
            chosen = await self._restarts.get()
            await keep_running("restart-tasks", partial(bundles.restart, chosen))

    async def _reshape(
        self, bundles: Bundles, slots: FlowSlots, rates: Mapping[TopicPartition, float]
    ) -> None:
        strategy = Strategy(self._config.source.assignment_strategy)
        await bundles.reshape(strategy, self._most(slots), rates)

    async def _publish_settings(self) -> None:
        """For tasks that run: what those that start find in their specification."""
        self._number += 1
        spec = self._spec(0)
        settings = LiveSettings(
            epoch=self._epoch,
            byte_rate_limit=spec.byte_rate_limit,
            flush_interval_s=spec.flush_interval_s,
            transaction_s=None if spec.exactly_once is None else spec.exactly_once.boundary.most_s,
            log_levels=spec.log_levels,
            number=self._number,
        )
        key, value = encode_control(settings)
        await self._term.writer.send(spec.control_topic, key, value, partition=0)
