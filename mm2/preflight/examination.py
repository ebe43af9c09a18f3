"""Asks the clusters of a file all that ``mm2 plan`` and ``mm2 doctor`` tell."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Final

from mm2.config.flow_config import FlowConfig
from mm2.config.offset_topics import accepted, accepted_topics
from mm2.core.checks import Check
from mm2.core.model import ClusterAlias, TopicName
from mm2.core.policy import build_policy
from mm2.core.topics.remote_configs import ConfigOperation
from mm2.errors import ClusterError, Mm2Error
from mm2.kafka.admin import Admin
from mm2.kafka.flow_clusters import FlowClusters, admin_clients
from mm2.kafka.security.principal import principal
from mm2.preflight.cluster_checks import cluster_checks, connection
from mm2.preflight.flow_checks import FlowFacts, flow_checks, shared_ids
from mm2.preflight.flow_plan import FlowPlan, plan_flow
from mm2.preflight.name_checks import name_checks
from mm2.preflight.permission_checks import check_permissions
from mm2.preflight.permissions import source_needs, target_needs
from mm2.preflight.quotas import client_ids_on, quota_rates
from mm2.preflight.target_refusals import target_refusals

DEFAULT_RATE: Final = 50_000_000
"""Bytes per second; what a few tasks copy on common machines."""

_MAX_BYTES: Final = "max.message.bytes"
_BROKER_MAX_BYTES: Final = "message.max.bytes"


@dataclass(frozen=True, slots=True, kw_only=True)
class Examination:
    """
    What was found.

    Attributes:
        plans: of the flows whose clusters answer.
        rates: bytes per second at which each of them is expected to copy.
    """

    plans: Sequence[FlowPlan]
    rates: Mapping[str, float]
    checks: Sequence[Check]


async def examine(flows: Sequence[FlowConfig], *, rate: float = DEFAULT_RATE) -> Examination:
    """
    Plans flows and checks their clusters; changes nothing.

    A cluster that does not answer is a result, and flows between others are still planned.

    Args:
        flows: that are enabled.
        rate: bytes per second that a flow is expected to copy, unless something limits it.
    """
    async with AsyncExitStack() as stack:
        clusters = {
            str(each.flow): await stack.enter_async_context(admin_clients(each)) for each in flows
        }
        return await _Examiner(flows, clusters, rate).run()


class _Examiner:
    def __init__(
        self, flows: Sequence[FlowConfig], clusters: Mapping[str, FlowClusters], rate: float
    ) -> None:
        self._flows = flows
        self._clusters = clusters
        self._rate = rate
        self._checks: list[Check] = []
        self._plans: list[FlowPlan] = []
        self._rates: dict[str, float] = {}
        self._ids: dict[ClusterAlias, str] = {}

    async def run(self) -> Examination:
        reached = await self._reached()
        topics: dict[ClusterAlias, frozenset[TopicName]] = {}
        for config in self._flows:
            if {config.flow.source, config.flow.target} <= reached:
                try:
                    await self._flow(config, topics)
                except Mm2Error as error:
                    self._checks.append(_failed(config, error))
        self._checks += await name_checks(self._flows, topics, self._ids)
        return Examination(plans=self._plans, rates=self._rates, checks=self._checks)

    async def _reached(self) -> set[ClusterAlias]:
        """Checks each cluster once, and returns those that answer."""
        sides: dict[ClusterAlias, tuple[Admin, Mapping[str, str]]] = {}
        for config in self._flows:
            clusters = self._clusters[str(config.flow)]
            sides.setdefault(
                config.flow.source, (clusters.source, config.source.source_admin(None))
            )
            sides.setdefault(
                config.flow.target, (clusters.target, config.source.target_admin(None))
            )
        found = await asyncio.gather(*(connection(*each) for each in sides.values()))
        reached = set()
        for alias, result in zip(sides, found, strict=True):
            self._checks.append(result)
            if not result.failed:
                reached.add(alias)
                clients = client_ids_on(alias, self._flows)
                self._checks += await cluster_checks(*sides[alias], clients)
        self._ids = {
            alias: await sides[alias][0].cluster_id() for alias in sides if alias in reached
        }
        self._checks += shared_ids(self._flows, self._ids)
        return reached

    async def _flow(
        self, config: FlowConfig, topics: dict[ClusterAlias, frozenset[TopicName]]
    ) -> None:
        clusters = self._clusters[str(config.flow)]
        topics[config.flow.source] = frozenset(await clusters.source.list_topics())
        topics[config.flow.target] = frozenset(await clusters.target.list_topics())
        await self._same_cluster(config, clusters)
        await self._permissions(config, clusters)
        plan = await plan_flow(config, clusters)
        self._plans.append(plan)
        self._checks += plan.checks
        self._checks += await target_refusals(config, clusters, plan)
        facts = await self._facts(config, clusters, plan)
        self._rates[str(config.flow)] = facts.rate
        self._checks += await asyncio.to_thread(flow_checks, config, plan, facts)

    async def _same_cluster(self, config: FlowConfig, clusters: FlowClusters) -> None:
        if await clusters.source.cluster_id() == await clusters.target.cluster_id():
            flow = config.flow
            self._checks.append(
                Check.no_go(
                    "same-cluster",
                    str(flow),
                    f"{flow.source} and {flow.target} are the same cluster",
                    remedy=(
                        f"Correct {flow.source}.bootstrap.servers or"
                        f" {flow.target}.bootstrap.servers."
                    ),
                )
            )

    async def _permissions(self, config: FlowConfig, clusters: FlowClusters) -> None:
        policy, about = build_policy(config.source.properties), str(config.flow)
        listed = await clusters.source.list_topics()
        mirrored = await accepted(accepted_topics(config), listed)
        remotes = [policy.format_remote_topic(config.flow.source, each) for each in mirrored]
        for admin, needs, properties in (
            (
                clusters.source,
                source_needs(config, policy, mirrored),
                config.source.source_admin(None),
            ),
            (
                clusters.target,
                target_needs(config, policy, remotes),
                config.source.target_admin(None),
            ),
        ):
            self._checks += await check_permissions(admin, needs, properties, about)

    async def _facts(self, config: FlowConfig, clusters: FlowClusters, plan: FlowPlan) -> FlowFacts:
        described = await clusters.source.describe_configs([each.topic for each in plan.copies])
        return FlowFacts(
            source_settings={
                topic: {entry.name: entry.value for entry in entries}
                for topic, entries in described.items()
            },
            target_bytes=await _target_bytes(clusters, plan),
            rate=await self._expected_rate(config, clusters),
            source_principal=principal(config.source.source_admin(None)) or "we",
        )

    async def _expected_rate(self, config: FlowConfig, clusters: FlowClusters) -> float:
        limits = [self._rate]
        if config.source.byte_rate_limit > 0:
            limits.append(config.source.byte_rate_limit)
        return min([*limits, *await quota_rates(config, clusters)])


async def _target_bytes(clusters: FlowClusters, plan: FlowPlan) -> dict[TopicName, int]:
    """The largest batch that each copy will take, where that is known."""
    limits_of = await clusters.target.survey.broker_settings([_BROKER_MAX_BYTES]) or {}
    of_brokers = [
        int(each[_BROKER_MAX_BYTES]) for each in limits_of.values() if _BROKER_MAX_BYTES in each
    ]
    found: dict[TopicName, int] = {}
    if of_brokers:
        found = {topic.name: min(of_brokers) for topic in plan.create}
    found |= {
        topic.name: int(topic.configs[_MAX_BYTES])
        for topic in plan.create
        if _MAX_BYTES in topic.configs
    }
    for topic, entries in (await clusters.target.describe_configs(plan.existing)).items():
        settings = {entry.name: entry.value for entry in entries}
        if most := settings.get(_MAX_BYTES):
            found[topic] = int(most)
    for change in plan.config_changes:
        if change.name == _MAX_BYTES and change.operation is ConfigOperation.SET and change.value:
            found[change.topic] = int(change.value)
    return found


def _failed(config: FlowConfig, error: Mm2Error) -> Check:
    about = error.alias if isinstance(error, ClusterError) else str(config.flow)
    return Check.no_go(
        "plan",
        about,
        f"{config.flow} cannot be planned: {error}",
        remedy="Mend what the other results say, and ask again.",
        is_unreachable=isinstance(error, ClusterError) and error.retriable,
    )
