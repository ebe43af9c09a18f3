"""
Which topics there are now under the names that a flow mirrors, on both sides.

A topic that was deleted and made anew has another id. What was written down of the former one, and
what was copied from it or to it, says nothing of the one that there is now.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from uuid import UUID

import structlog

from mm2.config.flow_settings import FlowConfig
from mm2.core.model import TopicName
from mm2.core.policy import build_policy
from mm2.core.translation.runs import UNKNOWN_LOGS, Logs
from mm2.errors import ClusterError
from mm2.kafka.admin import Admin

log = structlog.get_logger()


class LiveTopicIds:
    """
    The ids of topics, as last read.

    Args:
        config: the flow; names the copies.
        source: an admin client of its source; None if nobody there is to be asked.
        target: the same of its target.

    Attributes:
        ids: by the names that topics have on the source; shared with who translates. An id stays
            known while a cluster, or the topic, is away.
    """

    def __init__(self, config: FlowConfig, source: Admin | None, target: Admin | None) -> None:
        self._source, self._target = source, target
        self._flow = config.flow
        self._policy = build_policy(config.source.properties)
        self.ids: dict[TopicName, Logs] = {}

    async def look(self, topics: Collection[TopicName]) -> set[TopicName]:
        """
        Looks once at topics of the source; returns those that are others by now, on either side.

        Ids on a cluster that does not answer stay as they were.
        """
        copies = {topic: self._copy(topic) for topic in topics}
        here = await known_ids(self._source, copies)
        there = await known_ids(self._target, copies.values())
        changed = set()
        for topic, copy in copies.items():
            before, now = self.ids.get(topic, UNKNOWN_LOGS), Logs(here.get(topic), there.get(copy))
            if now.conflicts_with(before):
                changed.add(topic)
            self.ids[topic] = now.fill_from(before)
        return changed

    def _copy(self, topic: TopicName) -> TopicName:
        return self._policy.format_remote_topic(self._flow.source, topic)


async def known_ids(
    admin: Admin | None, names: Iterable[TopicName]
) -> dict[TopicName, UUID | None]:
    """The ids of topics, as far as a cluster tells; None if nobody there is to be asked."""
    if admin is None:
        return {}
    try:
        return await admin.topic_ids(names)
    except ClusterError as error:
        log.warning("topic_ids.unknown", cluster=admin.alias, error=str(error))
        return {}
