"""What the brokers of a flow would refuse; nothing is changed by asking (``validate_only``)."""

from __future__ import annotations

from collections.abc import Sequence

from mm2.config.flow_config import FlowConfig
from mm2.core.checks import Check, first_few
from mm2.core.model import TopicName
from mm2.core.topics.topic_plan import CreateTopic
from mm2.errors import NotAuthorized
from mm2.herder.topics.config_sync import alter_configs
from mm2.herder.topics.topic_creation import refused_settings
from mm2.kafka.client_errors import TopicExists, needs_more_brokers
from mm2.kafka.flow_clusters import FlowClusters
from mm2.preflight.flow_plan import FlowPlan


async def target_refusals(
    config: FlowConfig, clusters: FlowClusters, plan: FlowPlan
) -> list[Check]:
    """
    What brokers answer that they would refuse, of all that a flow would create and change.

    What only permissions forbid is left out.

    Raises:
        ClusterError: a cluster does not answer.
    """
    about, found = str(config.flow), list[Check]()
    failures = await clusters.target.create_topics(plan.create, validate_only=True)
    wanted = {topic.name: topic for topic in plan.create}
    few: list[TopicName] = []
    for name, error in failures.items():
        if needs_more_brokers(error):
            few.append(name)
        elif not isinstance(error, NotAuthorized | TopicExists):
            refused = await refused_settings(clusters.target, wanted[name])
            found += [_setting(about, name, key, str(why)) for key, why in refused.items()]
            if not refused:
                found.append(_topic(about, name, str(error)))
    if few:
        found.append(_too_few(about, config.flow.target, few, ["replication.factor"]))
    found += await _internal_refusals(clusters, plan, about)
    for change, error in (
        await alter_configs(clusters.target, plan.config_changes, validate_only=True)
    ).items():
        if not isinstance(error, NotAuthorized):
            found.append(_setting(about, change.topic, change.name, str(error)))
    for name, error in (
        await clusters.target.create_partitions(plan.grow, validate_only=True)
    ).items():
        if not isinstance(error, NotAuthorized):
            found.append(_topic(about, name, str(error)))
    return found


async def _internal_refusals(clusters: FlowClusters, plan: FlowPlan, about: str) -> list[Check]:
    found: list[Check] = []
    for admin, is_on_source in ((clusters.source, True), (clusters.target, False)):
        topics = {each.name: each for each in plan.internal if each.is_on_source == is_on_source}
        failures = await admin.create_topics(
            [
                CreateTopic(
                    name=TopicName(each.name),
                    partitions=each.partitions,
                    replication_factor=each.replication_factor,
                    configs=each.configs,
                )
                for each in topics.values()
            ],
            validate_only=True,
        )
        few = [name for name, error in failures.items() if needs_more_brokers(error)]
        if few:
            keys = list(dict.fromkeys(topics[name].replication_key for name in few))
            found.append(_too_few(about, admin.alias, few, keys))
        found += [
            _topic(about, name, str(error))
            for name, error in failures.items()
            if name not in few and not isinstance(error, NotAuthorized | TopicExists)
        ]
    return found


def _too_few(about: str, alias: str, topics: Sequence[str], keys: Sequence[str]) -> Check:
    return Check.no_go(
        "replication-factor",
        about,
        f"{alias} has fewer brokers than there are to be replicas of {first_few(sorted(topics))}",
        remedy=f"Set {', '.join(keys)} to the number of brokers of {alias} at most.",
    )


def _setting(about: str, topic: str, key: str, error: str) -> Check:
    return Check.caution(
        "topic-settings",
        about,
        f"{key} of {topic} is refused, and the topic goes without: {error}",
        remedy=f"Add {key} to config.properties.exclude, or have the target allow it.",
    )


def _topic(about: str, topic: str, error: str) -> Check:
    return Check.no_go(
        "remote-topics",
        about,
        f"{topic} would be refused: {error}",
        remedy="See the message; the other topics are mirrored.",
    )
