"""
Syncs groups from one place: checkpoints of any number of flows become offsets of groups.

What MirrorCheckpointTask does for its own flow only (``sync.group.offsets``), and what KIP-382 left
for later under the name CheckpointSink: no worker has to run near the cluster that is written to,
and it works upstream as well as downstream. Checkpoints may be those of Java's MirrorMaker.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TypeAlias

import structlog

from mm2.checkpoints.group_offset_writer import GroupOffsets, WriteOutcome
from mm2.checkpoints.synced_offsets import copies_of, read_synced_offsets
from mm2.client.client_config import ClientConfig
from mm2.client.group_survey import known_checkpoints
from mm2.client.pending_returns import Origin, PendingReturns
from mm2.client.reverse_checkpoints import ReverseCheckpoints
from mm2.config.flow_config import FlowConfig, flow_config
from mm2.config.mirror_maker_config import MirrorMakerConfig
from mm2.core.internal_records import Checkpoint
from mm2.core.model import ClusterAlias, GroupId, SourceAndTarget, TopicPartition
from mm2.core.policy import build_policy
from mm2.core.translation.returned_groups import SyncedOffsets
from mm2.errors import ClusterError
from mm2.kafka.admin import Admin
from mm2.kafka.flow_clusters import check_reachable
from mm2.kafka.groups.offset_calls import OffsetAt

log = structlog.get_logger()

Found: TypeAlias = Mapping[GroupId, Collection[Checkpoint]]


class WrittenCheckpoints:
    """The checkpoints that stand on a flow's target. Not read again while nothing was added."""

    def __init__(self, config: FlowConfig, target: Admin) -> None:
        self.flow = config.flow
        self._config = config
        self._target = target
        topic = build_policy(config.checkpoint.properties).checkpoints_topic(config.flow.source)
        self._where = TopicPartition(topic, 0)
        self._end = -1
        self._found: Found = {}

    async def checkpoints(self) -> Found:
        """
        The last checkpoints of groups; empty if the flow writes none.

        Raises:
            ClusterError: the target does not answer, or refuses.
        """
        ends = await self._target.list_offsets([self._where], OffsetAt.LATEST, read_committed=True)
        if (end := ends.get(self._where, 0)) != self._end:
            known = await known_checkpoints(self._config, self._target)
            self._found = {
                group: [last.checkpoint for last in partitions.values()]
                for group, partitions in known.items()
            }
            self._end = end
        return self._found


@dataclass(frozen=True, slots=True)
class Round:
    """
    What one round came to.

    Attributes:
        failures: flows whose checkpoints, or clusters whose groups, could not be read.
    """

    outcomes: dict[ClusterAlias, WriteOutcome] = field(default_factory=dict)
    failures: dict[str, ClusterError] = field(default_factory=dict)


class CheckpointSink:
    """
    Moves idle groups forward, as ``GroupOffsets`` does, to their checkpoints.

    Args:
        reach: makes sure that a cluster answers soon; raises ``ClusterError``.
    """

    def __init__(
        self,
        origins: Collection[Origin],
        targets: Mapping[ClusterAlias, GroupOffsets],
        is_meant: Callable[[GroupId], bool],
        reach: Callable[[ClusterAlias], Awaitable[None]],
    ) -> None:
        self._reach = reach
        self._origins = origins
        self._targets = targets
        self._is_selected = is_meant

    async def round(self) -> Round:
        """Syncs all clusters at the same time; one that fails does not hold up the others."""
        done = Round()
        async with asyncio.TaskGroup() as tasks:
            for alias in self._targets:
                tasks.create_task(self._sync(alias, done), name=f"groups of {alias}")
        for about, error in done.failures.items():
            log.warning("groups.not_synced", about=about, error=str(error))
        return done

    async def _sync(self, alias: ClusterAlias, done: Round) -> None:
        try:
            await self._reach(alias)
            origins = [each for each in self._origins if each.flow.target == alias]
            found = await asyncio.gather(*(_checkpoints(each, done) for each in origins))
            done.outcomes[alias] = await self._targets[alias].sync(
                {group: each for group, each in merged(found).items() if self._is_selected(group)}
            )
        except ClusterError as error:
            done.failures[alias] = error


async def _checkpoints(origin: Origin, done: Round) -> Found:
    try:
        return await origin.checkpoints()
    except ClusterError as error:
        done.failures[str(origin.flow)] = error
        return {}


def merged(found: Iterable[Found]) -> dict[GroupId, list[Checkpoint]]:
    """
    Brings the checkpoints of several origins together.

    Of two for the same group and partition, which happens where topics keep their names, the lower
    one counts: a group reads some records again rather than miss some.
    """
    lowest: dict[GroupId, dict[TopicPartition, Checkpoint]] = {}
    for groups in found:
        for group, checkpoints in groups.items():
            partitions = lowest.setdefault(group, {})
            for each in checkpoints:
                other = partitions.get(each.partition, each)
                partitions[each.partition] = min(each, other, key=_downstream)
    return {group: list(partitions.values()) for group, partitions in lowest.items()}


def _downstream(checkpoint: Checkpoint) -> int:
    return checkpoint.downstream_offset


@asynccontextmanager
async def open_sink(
    maker: MirrorMakerConfig,
    flows: Collection[SourceAndTarget],
    back: Collection[SourceAndTarget] = (),
    *,
    is_meant: Callable[[GroupId], bool] = lambda _: True,
    execute: bool = True,
) -> AsyncIterator[CheckpointSink]:
    """
    Makes a sink for the clusters of a file for mirroring.

    Args:
        flows: whose checkpoints are used, whether or not these flows run from this file.
        back: flows from whose copies groups are led back to the originals.
        execute: whether to write, or only to return what would be written.

    Raises:
        ConfigErrors: the file has mistakes about a cluster.
    """
    async with AsyncExitStack() as stack:
        opened = _Clusters(maker, stack)
        origins: list[Origin] = [opened.written(flow) for flow in flows]
        origins += [
            ReverseCheckpoints(flow_config(maker, flow), opened.admin(flow.target)) for flow in back
        ]
        targets = {
            alias: GroupOffsets(opened.admin(alias), execute=execute)
            for alias in dict.fromkeys(origin.flow.target for origin in origins)
        }
        yield CheckpointSink(origins, targets, is_meant, opened.reach)


class _Clusters:
    """Admin clients of the clusters of a file, one for each; closed with the stack."""

    def __init__(self, maker: MirrorMakerConfig, stack: AsyncExitStack) -> None:
        self._maker = maker
        self._stack = stack
        self._admins: dict[ClusterAlias, Admin] = {}

    def written(self, flow: SourceAndTarget) -> Origin:
        opposite = flow_config(self._maker, SourceAndTarget(flow.target, flow.source))
        written = WrittenCheckpoints(flow_config(self._maker, flow), self.admin(flow.target))
        return PendingReturns(written, copies_of(opposite), partial(self._synced, opposite))

    async def _synced(self, opposite: FlowConfig) -> SyncedOffsets:
        await self.reach(opposite.flow.target)
        return await read_synced_offsets(opposite, self.admin(opposite.flow.target))

    async def reach(self, alias: ClusterAlias) -> None:
        await check_reachable(self.admin(alias))

    def admin(self, alias: ClusterAlias) -> Admin:
        if alias not in self._admins:
            admin = Admin(alias, ClientConfig.of_cluster(self._maker, alias).client("admin"))
            self._stack.push_async_callback(admin.close)
            self._admins[alias] = admin
        return self._admins[alias]
