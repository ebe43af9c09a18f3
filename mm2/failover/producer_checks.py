"""What producers will find when they move too: topics, rights, quotas."""

from __future__ import annotations

from collections.abc import Iterable

from mm2.client.group_survey import ClusterClients
from mm2.core.checks import Check
from mm2.core.failover.move_checks import ProducerFacts, producer_checks, quota_checks
from mm2.core.model import TopicName
from mm2.core.topics.acls import AclBinding, writers
from mm2.errors import ClusterError
from mm2.failover.move_route import MoveRoute
from mm2.kafka.client_errors import NotSupported, SecurityDisabled


async def check_producers(route: MoveRoute, topics: Iterable[TopicName]) -> list[Check]:
    """
    Compares both clusters for the producers of some topics of the origin, whose names they keep.

    Raises:
        ClusterError: a cluster does not answer.
    """
    here, there = route.origin, route.destination
    names = set(topics)
    counts = await here.admin.describe_topics(names)
    counts_there = await there.admin.describe_topics(names)
    unknown: list[Check] = []
    rules, rules_there = await _rules(here, unknown), await _rules(there, unknown)
    facts = (
        ProducerFacts(
            topic=name,
            partitions=each.partitions,
            there=counts_there[name].partitions if name in counts_there else None,
            writers=None if rules is None else writers(rules, name),
            writers_there=None if rules_there is None else writers(rules_there, name),
        )
        for name, each in sorted(counts.items())
    )
    return [*producer_checks(facts), *unknown, *await _quotas(here, there)]


async def _rules(side: ClusterClients, unknown: list[Check]) -> list[AclBinding] | None:
    """All rules; None where none are needed, or where we may not see them, which adds a check."""
    try:
        return await side.admin.describe_topic_acls()
    except SecurityDisabled:
        return None
    except ClusterError as error:
        sentence = f"who may write is not known: {error}"
        unknown.append(Check.caution("producers", side.alias, sentence))
        return None


async def _quotas(here: ClusterClients, there: ClusterClients) -> list[Check]:
    try:
        quotas = await here.admin.describe_client_quotas()
        return list(quota_checks(quotas, await there.admin.describe_client_quotas()))
    except NotSupported:
        return []
    except ClusterError as error:
        return [Check.caution("quotas", here.alias, f"quotas are not known: {error}")]
