"""
CheckpointSinkConnector: gives groups of a cluster the offsets that checkpoints say, from anywhere.

KIP-382 left it for later: a single group of workers, wherever it is, also moves the groups of
clusters that have no workers. The checkpoints may be those of Java's MirrorCheckpointConnector.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Final

from mm2.client.checkpoint_sink import open_sink
from mm2.config.clients import with_prefix
from mm2.config.flow_config import FlowConfig
from mm2.config.mirror_maker_config import MirrorMakerConfig
from mm2.core.filters import build_group_filter
from mm2.core.model import SourceAndTarget
from mm2.kafka.flow_clusters import FlowClusters
from mm2.supervision import run_periodically

_LEAST: Final = timedelta(seconds=1)
_CLUSTERS: Final = ("source.cluster.", "target.cluster.")


async def run_checkpoint_sink(config: FlowConfig, clusters: FlowClusters) -> None:
    """
    Looks at the flow's checkpoints at an interval, until cancelled.

    A round that fails is followed by the next one. Groups that are active on the target are left
    alone, and no group is ever moved back. With ``reverse.checkpointing.enabled``, groups that read
    copies are led to the originals as well, on the flow's source.

    Args:
        config: the flow whose checkpoints they are; its own checkpoint connector is off.
        clusters: not used; the sink has clients of its own.
    """
    del clusters
    settings = config.checkpoint
    back = [config.flow] if settings.reverse_checkpoints else []
    wanted = build_group_filter(settings.properties).should_replicate_group
    maker = MirrorMakerConfig(raw=file_of(config.flow, settings.properties))
    async with open_sink(maker, [config.flow], back, is_meant=wanted) as sink:
        interval = max(settings.sync_group_offsets or _LEAST, _LEAST)
        await run_periodically(
            interval.total_seconds(), sink.round, name="sync-group-offsets", at_once=True
        )


def file_of(flow: SourceAndTarget, properties: Mapping[str, str]) -> dict[str, str]:
    """The file of dedicated nodes that says of clusters and flow what a connector does."""
    of_clusters = {
        f"{alias}.{key}": value
        for alias, prefix in zip((flow.source, flow.target), _CLUSTERS, strict=True)
        for key, value in with_prefix(properties, prefix).items()
        if key != "alias"
    }
    of_flow = {
        f"{flow}.{key}": value
        for key, value in properties.items()
        if not key.startswith(_CLUSTERS) and key not in {"name", "connector.class"}
    }
    return {"clusters": f"{flow.source}, {flow.target}", **of_clusters, **of_flow}
