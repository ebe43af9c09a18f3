"""
What producers will find when they move too: topics, rights, quotas.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from mm2.core.failover.move_checks import ProducerFacts, producer_verdicts, quota_verdicts
from mm2.core.failover.verdicts import Outcome, Verdict
from mm2.core.model import TopicName
from mm2.core.topics.acls import AclBinding
from mm2.core.topics.topic_writers import writers
from mm2.errors import ClusterError
from mm2.failover.move_route import ClusterClients, MoveRoute
from mm2.kafka.client_errors import NotSupported, SecurityDisabled

_UNKNOWN_RIGHTS: Final = "who may write is not known"


async def check_producers(route: MoveRoute, topics: Iterable[TopicName]) -> list[Verdict]:
    """
    Compares both sides for the producers of some topics.

    Args:
        route: from where to where.
        topics: by their names on the origin, which producers keep.

    Raises:
        ClusterError: a cluster does not answer.
    """
    here, there = route.origin, route.destination
    names = set(topics)
    counts = await here.admin.describe_topics(names)
    counts_there = await there.admin.describe_topics(names)
    verdicts: list[Verdict] = []
    rules, rules_there = await _rules(here, verdicts), await _rules(there, verdicts)
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
    return [*producer_verdicts(facts), *verdicts, *await _quotas(here, there)]


async def _rules(side: ClusterClients, verdicts: list[Verdict]) -> list[AclBinding] | None:
    """All rules; None where nobody needs any, or where we may not know, which is then said."""
    try:
        return await side.admin.describe_topic_acls()
    except SecurityDisabled:
        return None
    except ClusterError as error:
        verdicts.append(_unknown("producers", side, f"{_UNKNOWN_RIGHTS}: {error}"))
        return None


async def _quotas(here: ClusterClients, there: ClusterClients) -> list[Verdict]:
    try:
        return list(
            quota_verdicts(
                await here.admin.describe_client_quotas(),
                await there.admin.describe_client_quotas(),
            )
        )
    except NotSupported:
        return []
    except ClusterError as error:
        return [_unknown("quotas", here, f"quotas are not known: {error}")]


def _unknown(check: str, side: ClusterClients, reason: str) -> Verdict:
    return Verdict(check=check, subject=side.alias, outcome=Outcome.CAUTION, reason=reason)
