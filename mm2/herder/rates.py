"""Changes the byte rate of a flow while it runs, whoever runs it."""

from __future__ import annotations

from mm2.config.flow import FlowConfig
from mm2.core.model import TopicName
from mm2.herder.clusters import FlowClusters
from mm2.herder.control import Limit, encode_limit
from mm2.kafka.errors import UnknownTopic
from mm2.kafka.writer import Writer


async def change_rate(
    config: FlowConfig, clusters: FlowClusters, bytes_per_second: int | None
) -> None:
    """
    Tells all tasks of a flow, those of later starts too, how fast they may copy.

    Args:
        config: the flow.
        clusters: its admin clients.
        bytes_per_second: of all its tasks together; negative is no limit; None gives it back to
            ``flow.byte.rate.limit``.

    Raises:
        UnknownTopic: the flow has never run.
        ClusterError: the target does not answer, or refuses.
    """
    target, topic = config.flow.target, config.herder.names.control_topic
    if TopicName(topic) not in await clusters.target.list_topics():
        raise UnknownTopic(target, f"there is no {topic}: the flow {config.flow} has never run")
    key, value = encode_limit(Limit(bytes_per_second=bytes_per_second))
    async with Writer(target, config.herder.client("producer", "control")) as writer:
        wanted = None if bytes_per_second is None else value
        await writer.send(topic, key, wanted, partition=0)
