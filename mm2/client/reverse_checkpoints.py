"""
Leads groups back that have read on in copies: upstream, and without a worker at the source.

The flow B->A does so with its checkpoints where a node runs it (``flows.checkpoint.reverse_flow``).
This is for the others: all workers stand beside B, and none emits checkpoints into A.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import structlog

from mm2.checkpoints.live_topic_ids import LiveTopicIds
from mm2.checkpoints.synced_offsets import copies_of, read_synced_offsets
from mm2.client.group_survey import followed_by
from mm2.client.load_translation import load_translation
from mm2.config.flow_settings import FlowConfig
from mm2.core.internal_records import Checkpoint
from mm2.core.model import GroupId, SourceAndTarget, TopicPartition
from mm2.core.translation.checkpoint_rules import CommittedOffset
from mm2.core.translation.returned_groups import ReturningGroups
from mm2.core.translation.reverse_translation import Copies, Reverser
from mm2.core.translation.runs import Logs
from mm2.errors import ClusterError
from mm2.kafka.admin import Admin
from mm2.kafka.flow_clusters import check_reachable

log = structlog.get_logger()


class ReverseCheckpoints:
    """
    What groups of a flow's target have committed in copies, as checkpoints for the source.

    Groups that were only given their offsets there, and have not read on, are left out.

    Args:
        config: the flow that made the copies.
        admin: of its target.
    """

    def __init__(self, config: FlowConfig, admin: Admin) -> None:
        self.flow = SourceAndTarget(config.flow.target, config.flow.source)
        self._config = config
        self._admin = admin
        self._copies = copies_of(config)
        self._follows = followed_by(config)

    async def checkpoints(self) -> Mapping[GroupId, list[Checkpoint]]:
        """
        All groups of the target that the flow's filter takes.

        Raises:
            ClusterError: a cluster does not answer, or refuses.
        """
        await check_reachable(self._admin)
        groups = [GroupId(each.group_id) for each in await self._admin.list_groups()]
        followed = [*filter(self._follows, groups)]
        committed = await self._admin.list_offsets_of_groups(followed)
        back = ReturningGroups(self._copies, await read_synced_offsets(self._config, self._admin))
        live = LiveTopicIds(self._config, None, self._admin)
        translation = await load_translation(self._config, live)
        found: dict[GroupId, list[Checkpoint]] = {}
        for group in followed:
            offsets = committed[group]
            if isinstance(offsets, ClusterError):
                log.warning("group_offsets.not_listed", group=group, error=str(offsets))
            elif checkpoints := [
                each
                for each in reverse_checkpoints(
                    group,
                    back.own_commits(group, offsets, lambda _: None),
                    self._copies,
                    translation,
                )
                if back.may_be_given(each)
            ]:
                found[group] = checkpoints
        return found


def reverse_checkpoints(
    group: GroupId,
    committed: Mapping[TopicPartition, CommittedOffset],
    copies: Copies,
    reverser: Reverser,
) -> Iterator[Checkpoint]:
    """
    What a group has committed in copies, as checkpoints that name the originals and their ids.

    Args:
        committed: its offsets on the cluster of the copies.
        reverser: finds the offsets in the originals; where it has none, there is no checkpoint.
    """
    for copy, commit in committed.items():
        original = copies.original_partition(copy)
        if original is None:
            continue
        found = reverser.reverse(original, commit.offset)
        if found is not None and found.offset >= 0:
            here, there = reverser.logs(original)
            yield Checkpoint(
                group,
                original,
                commit.offset,
                found.offset,
                commit.metadata,
                found.exact,
                Logs(source=there, remote=here),
            )
