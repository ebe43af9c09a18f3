"""From which cluster to which a group moves, and which flows connect them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

from mm2.client.group_survey import ClusterClients
from mm2.config.flow_config import FlowConfig, flow_config
from mm2.config.mirror_maker_config import MirrorMakerConfig
from mm2.core.model import SourceAndTarget, TopicPartition
from mm2.failover.directions import AgainstFlow, FlowDirection, Ids, WithFlow
from mm2.kafka.flow_clusters import FlowClusters, admin_clients


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """
    The flow that the command names, and the one in the other direction.

    ``opposite`` is None if nothing is mirrored that way.
    """

    flow: FlowConfig
    opposite: FlowConfig | None

    @property
    def has_other_flows(self) -> bool:
        """
        Whether other flows may bring records to topics that have the same name on both sides.

        Headers of provenance are for flows that would else go in circles, or meet. These two are
        all there is if there is one each way, and neither leaves origins to others.
        """
        if not self.flow.source.transforms.provenance:
            return False
        flows = (self.flow, self.opposite)
        return any(each is None or each.source.transforms.origins for each in flows)


def pair_of(maker: MirrorMakerConfig, flow: FlowConfig) -> Pair:
    """
    Finds the opposite of a flow in its file.

    Raises:
        ConfigErrors: its settings are wrong.
    """
    reverse = SourceAndTarget(flow.flow.target, flow.flow.source)
    if reverse not in maker.cluster_pairs():
        return Pair(flow=flow, opposite=None)
    opposite = flow_config(maker, reverse)
    return Pair(flow=flow, opposite=opposite if opposite.source.runs else None)


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveRoute:
    """
    A direction in which groups move.

    Attributes:
        is_back: against the flow that the command names.
        directions: of their offsets, the usual one first.
    """

    pair: Pair
    is_back: bool
    origin: ClusterClients
    destination: ClusterClients
    directions: tuple[FlowDirection, ...]

    @property
    def name(self) -> str:
        """For people."""
        return str(SourceAndTarget(self.origin.alias, self.destination.alias))

    @property
    def forward_flow(self) -> FlowConfig | None:
        """The flow that copies from the origin to the destination; None if there is none."""
        return self.pair.opposite if self.is_back else self.pair.flow

    async def ids(
        self, destinations: Mapping[TopicPartition, TopicPartition]
    ) -> dict[TopicPartition, Ids]:
        """
        The ids that the topics of partitions have on both sides now.

        Args:
            destinations: partitions of the origin, and what they are on the destination.

        Raises:
            ClusterError: a cluster does not answer, or refuses.
        """
        here = await self.origin.admin.topic_ids({where.topic for where in destinations})
        there = await self.destination.admin.topic_ids({to.topic for to in destinations.values()})
        return {
            where: Ids(here.get(where.topic), there.get(to.topic))
            for where, to in destinations.items()
        }


@asynccontextmanager
async def route(pair: Pair, *, is_back: bool) -> AsyncIterator[MoveRoute]:
    """
    Opens clients for both clusters; whether these answer is another question.

    With ``is_back`` groups leave the target of the flow, and not its source.
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
                directions=(AgainstFlow(flow), *_with(pair.opposite, target, source)),
            )
        else:
            against = () if pair.opposite is None else (AgainstFlow(pair.opposite),)
            yield MoveRoute(
                pair=pair,
                is_back=False,
                origin=source,
                destination=target,
                directions=(*_with(flow, source, target), *against),
            )


def _with(
    flow: FlowConfig | None, source: ClusterClients, target: ClusterClients
) -> tuple[FlowDirection, ...]:
    if flow is None:
        return ()
    return (WithFlow(flow, FlowClusters(source.admin, target.admin)),)
