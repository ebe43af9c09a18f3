"""
Leads groups back: reads the opposite flow's offset syncs and runs (KIP-1098's purpose).

The checkpoint flow B->A reads groups of B. Those that read copies of A's topics are translated
by what the flow A->B has written down: its runs and syncs, read the other way round, and its
checkpoints, which distinguish the groups that moved from those that were only synced. Java has
none of this: it names the original (C286) and finds no translation.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from functools import partial
from typing import Final

import structlog

from flows.checkpoint.emission import UntilCaughtUp
from flows.checkpoint.recreated_topics import TrackedFlow
from flows.checkpoint.translation_followers import Job, translation_followers
from mm2.checkpoints.live_topic_ids import LiveTopicIds
from mm2.checkpoints.synced_offsets import copies_of, note
from mm2.config.flow_config import FlowConfig
from mm2.core.filters import TopicFilter, build_topic_filter
from mm2.core.model import TopicPartition
from mm2.core.policy import ReplicationPolicy, build_policy
from mm2.core.translation.checkpoint_rules import Renaming, Translator, upstream_partition
from mm2.core.translation.offset_sync_store import OffsetSyncStore
from mm2.core.translation.offset_translation import OffsetTranslation, RunStore
from mm2.core.translation.returned_groups import ReturningGroups, SyncedOffsets
from mm2.core.translation.reverse_translation import (
    BidirectionalRenaming,
    BidirectionalTranslator,
    TopicOrCopyFilter,
)
from mm2.errors import ClusterError
from mm2.kafka.client_errors import UnknownTopic
from mm2.kafka.flow_clusters import FlowClusters
from mm2.kafka.groups.offset_calls import OffsetAt
from mm2.kafka.logs.log_tail import LogTail
from mm2.supervision import keep_running

log = structlog.get_logger()

_LOOK_AGAIN_S: Final = 5.0
_TOLD_SOON_S: Final = 0.05
_LOOKS: Final = 200
"""Ten seconds: the cluster has just answered, so it will answer a follower of its topic."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TranslationDirections:
    """
    Which offsets a checkpoint flow translates, and how.

    Attributes:
        topic_filter: groups with an offset for a topic that it accepts are translated.
        renaming: decides which partitions count, and names them on the target.
        returning: recognises offsets that mm2 itself set; None if no groups are led back.
        until_caught_up: waits for all that the opposite flow has written up to now.
        recreated: the flows whose topics may be re-created.
    """

    topic_filter: TopicFilter
    renaming: Renaming
    translator: Translator
    returning: ReturningGroups | None = None
    until_caught_up: UntilCaughtUp | None = None
    recreated: tuple[TrackedFlow, ...] = ()
    jobs: dict[str, Job] = field(default_factory=dict)


def build_directions(
    config: FlowConfig,
    clusters: FlowClusters,
    policy: ReplicationPolicy,
    onward: OffsetTranslation,
    live: LiveTopicIds,
) -> TranslationDirections:
    """
    Returns both directions if the flow has an opposite to lead groups back from, else one.

    A flow that is not enabled leads back only.

    ``onward`` translates what the flow itself copies, and compares with the topics in ``live``.
    """
    mirrored = build_topic_filter(config.checkpoint.properties)
    upstream = partial(upstream_partition, policy, config.flow)
    flows = (TrackedFlow(onward, live, upstream),)
    if config.reverse is None:
        renaming = Renaming(config.flow, policy, mirrored)
        return TranslationDirections(
            topic_filter=mirrored, renaming=renaming, translator=onward, recreated=flows
        )
    opposite = FlowClusters(source=clusters.target, target=clusters.source)
    reverse_flow = ReverseFlow(config.reverse, opposite)
    either = TopicOrCopyFilter(mirrored if config.checkpoint.enabled else None, reverse_flow.copies)
    return TranslationDirections(
        topic_filter=either,
        renaming=BidirectionalRenaming(config.flow, policy, either, reverse_flow.copies),
        translator=BidirectionalTranslator(
            onward,
            reverse_flow.translation,
            reverse_flow.copies,
            tells_all=config.reverse.source.emit_offset_runs,
        ),
        returning=ReturningGroups(reverse_flow.copies, reverse_flow.synced),
        until_caught_up=reverse_flow.until_caught_up,
        recreated=(
            *flows,
            TrackedFlow(reverse_flow.translation, reverse_flow.live, _itself, is_back=True),
        ),
        jobs=reverse_flow.jobs(),
    )


class ReverseFlow:
    """
    The copies of a flow, and the translation of offsets in them back to the source.

    Args:
        config: the flow that makes them; its target is where the groups to be led back are.

    Attributes:
        synced: how far the flow has synced groups.
    """

    def __init__(self, config: FlowConfig, clusters: FlowClusters) -> None:
        self._config = config
        self._clusters = clusters
        self._syncs = OffsetSyncStore(must_read_to_end=False)
        self._runs = RunStore()
        self.copies = copies_of(config)
        self.live = LiveTopicIds(config, clusters.source, clusters.target)
        self.translation = OffsetTranslation(self._syncs, self._runs, self.live.ids)
        self.synced = SyncedOffsets()
        policy = build_policy(config.source.properties)
        topic = policy.checkpoints_topic(config.flow.source)
        self._checkpoints = TopicPartition(topic, 0)
        properties = config.checkpoint.target_consumer("checkpoints-target-consumer", 0)
        self._tail = LogTail(config.flow.target, properties, topic, partitions=[0])
        self._follows_checkpoints = config.emits_checkpoints

    def jobs(self) -> dict[str, Job]:
        """
        The jobs that keep the stores current.

        What fails here is logged and tried again: the flow's other checkpoints go on without.
        """
        followers = translation_followers(self._config, self._clusters, self._syncs, self._runs)
        followers["checkpoints"] = self._follow_checkpoints
        return {
            f"opposite-{name}": partial(keep_running, f"opposite-{name}", job)
            for name, job in followers.items()
        }

    async def _follow_checkpoints(self) -> None:
        """Follows the checkpoints of the flow; without any, no group was synced."""
        if not self._config.emits_checkpoints:
            self.synced.backlog_read()
            return
        async with asyncio.TaskGroup() as group:
            group.create_task(self._note_end_of_backlog(), name="opposite-checkpoints-backlog")
            await self._follow()

    async def until_caught_up(self) -> bool:
        """
        Waits until all checkpoints are known that the flow has written up to now.

        So what it gave groups up to now is not taken for their own. Where its checkpoints may not
        be read, nothing keeps the others back. Returns False if they do not come in time.

        Raises:
            ClusterError: the end of the checkpoints topic cannot be read.
        """
        if not self._follows_checkpoints:
            return True
        ends = await self._clusters.target.known_offsets([self._checkpoints], OffsetAt.LATEST)
        end = ends.get(self._checkpoints, 0)
        for _ in range(_LOOKS):
            if self._knows(end):
                return True
            await asyncio.sleep(_TOLD_SOON_S)
        log.warning("checkpoints.not_followed", topic=self._checkpoints.topic)
        return False

    def _knows(self, end: int) -> bool:
        return not self._follows_checkpoints or self._tail.passed.get(0, 0) >= end

    async def _follow(self) -> None:
        while True:
            try:
                async for record in self._tail:
                    note(self.synced, record)
            except UnknownTopic:
                # The opposite flow creates it when it starts.
                await asyncio.sleep(_LOOK_AGAIN_S)
            except ClusterError as error:
                self._follows_checkpoints = error.retriable
                raise

    async def _note_end_of_backlog(self) -> None:
        await self._tail.caught_up.wait()
        self.synced.backlog_read()


def _itself(partition: TopicPartition) -> TopicPartition:
    """Checkpoints of groups that are led back name the originals."""
    return partition
