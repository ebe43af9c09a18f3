"""
From which cluster to which a group moves, and by which ways.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

from mm2.config.flow_config import FlowConfig, flow_config
from mm2.config.mirror_maker_config import MirrorMakerConfig
from mm2.core.model import ClusterAlias, SourceAndTarget, TopicPartition
from mm2.failover.directions import AgainstFlow, FlowDirection, Ids, WithFlow
from mm2.kafka.admin import Admin
from mm2.kafka.flow_clusters import FlowClusters, admin_clients


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterClients:
    """
    One of the two clusters.

    Attributes:
        alias: the cluster's.
        admin: an admin client.
        consumer: Java client keys of a consumer.
    """

    alias: ClusterAlias
    admin: Admin
    consumer: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """
    The flow that is spoken of, and the one in the other direction.

    Attributes:
        flow: the former.
        opposite: the latter; None if nothing is mirrored that way.
    """

    flow: FlowConfig
    opposite: FlowConfig | None


def pair_of(maker: MirrorMakerConfig, flow: FlowConfig) -> Pair:
    """
    Looks for the opposite of a flow in its file.

    Raises:
        ConfigErrors: its settings are wrong.
    """
    wanted = SourceAndTarget(flow.flow.target, flow.flow.source)
    if wanted not in maker.cluster_pairs():
        return Pair(flow=flow, opposite=None)
    opposite = flow_config(maker, wanted)
    return Pair(flow=flow, opposite=opposite if opposite.source.runs else None)


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveRoute:
    """
    A direction in which groups move.

    Attributes:
        pair: the flows between the clusters.
        is_back: against the flow that is spoken of, as when everything goes home.
        origin: where groups come from.
        destination: where they go.
        passages: the ways of their offsets, the usual one first.
    """

    pair: Pair
    is_back: bool
    origin: ClusterClients
    destination: ClusterClients
    passages: tuple[FlowDirection, ...]

    @property
    def name(self) -> str:
        """For people."""
        return str(SourceAndTarget(self.origin.alias, self.destination.alias))

    @property
    def forward_flow(self) -> FlowConfig | None:
        """The flow that copies from the origin to the destination; None if there is none."""
        return self.pair.opposite if self.is_back else self.pair.flow

    async def ids(self, ways: Mapping[TopicPartition, TopicPartition]) -> dict[TopicPartition, Ids]:
        """
        The ids that the topics of partitions have on both sides now.

        Args:
            ways: partitions of the origin, and what they are on the destination.

        Raises:
            ClusterError: a cluster does not answer, or refuses.
        """
        here = await self.origin.admin.topic_ids({where.topic for where in ways})
        there = await self.destination.admin.topic_ids({to.topic for to in ways.values()})
        return {
            where: Ids(here.get(where.topic), there.get(to.topic)) for where, to in ways.items()
        }


@asynccontextmanager
async def route(pair: Pair, *, is_back: bool) -> AsyncIterator[MoveRoute]:
    """
    Opens clients for both clusters; whether these answer is another question.

    Args:
        pair: the flows between them.
        is_back: whether groups leave the target of the flow, and not its source.
    """
    flow = pair.flow
    async with admin_clients(flow) as clusters:
        source = ClusterClients(
            alias=flow.flow.source,
            admin=clusters.source,
            consumer=flow.source.source_consumer("failover-consumer"),
        )
        target = ClusterClients(
            alias=flow.flow.target,
            admin=clusters.target,
            consumer=flow.source.target_consumer("failover-consumer"),
        )
        if is_back:
            yield MoveRoute(
                pair=pair,
                is_back=True,
                origin=target,
                destination=source,
                passages=(AgainstFlow(flow), *_with(pair.opposite, target, source)),
            )
        else:
            against = () if pair.opposite is None else (AgainstFlow(pair.opposite),)
            yield MoveRoute(
                pair=pair,
                is_back=False,
                origin=source,
                destination=target,
                passages=(*_with(flow, source, target), *against),
            )


def _with(
    flow: FlowConfig | None, source: ClusterClients, target: ClusterClients
) -> tuple[FlowDirection, ...]:
    if flow is None:
        return ()
    return (WithFlow(flow, FlowClusters(source.admin, target.admin)),)
