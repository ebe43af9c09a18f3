"""
Decides what of a flow's copies is compared: topics, offsets on both sides, what may be missing.

Positions are read first, then the ends of the copies, then those of the source. So each record
before a position has its copy before the end that is read, and each copy its source record.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Final

from flows.verify.comparison_spec import ComparedPart, ComparisonSpec
from mm2.checkpoints.live_topic_ids import LiveTopicIds
from mm2.client.load_translation import load_translation
from mm2.config.flow_config import FlowConfig
from mm2.config.offset_topics import accepted, accepted_topics
from mm2.core.model import TopicName, TopicPartition
from mm2.core.policy import build_policy
from mm2.core.positions.start_rules import Begin, parse_reset, start_of
from mm2.core.topics.remote_configs import ConfigEntry
from mm2.core.translation.offset_translation import MappedOffset, OffsetTranslation
from mm2.core.verification.whole_partition import (
    PartitionBounds,
    all_added,
    parts_of,
    without_source,
)
from mm2.herder.offsets.position_store import FlowPositions
from mm2.kafka.admin import Admin
from mm2.kafka.flow_clusters import FlowClusters, admin_clients, check_reachable
from mm2.kafka.groups.offset_calls import OffsetAt

_POLICY: Final = "cleanup.policy"
_KEY_BITS: Final = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class VerificationPlan:
    """
    What is to be compared.

    Attributes:
        topics: of the source, with their partitions and the names of their copies.
        without_copy: partitions of the source that have records and no remote partition.
    """

    spec: ComparisonSpec
    parts: list[ComparedPart]
    topics: dict[TopicName, TopicName]
    without_copy: list[TopicPartition]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seen:
    positions: Mapping[TopicPartition, int]
    remote_starts: Mapping[TopicPartition, int]
    remote_ends: Mapping[TopicPartition, int]
    source_starts: Mapping[TopicPartition, int]
    source_ends: Mapping[TopicPartition, int]
    later_sources: Collection[TopicPartition]
    policies: Mapping[TopicName, frozenset[str]]
    translation: OffsetTranslation


async def plan_verification(
    config: FlowConfig,
    *,
    wanted: Callable[[str], bool],
    sample: int | None,
    most: int,
) -> VerificationPlan:
    """
    Asks both clusters of a flow what they have.

    Args:
        sample: what random parts are drawn with, if a sample is enough; None: all is compared.

    Raises:
        ClusterError: a cluster does not answer, or refuses.
        ConfigError: the replication policy or a filter cannot be had.
    """
    async with admin_clients(config) as clusters:
        await check_reachable(clusters.source)
        await check_reachable(clusters.target)
        return await _plan(config, clusters, wanted=wanted, sample=sample, most=most)


async def _plan(
    config: FlowConfig,
    clusters: FlowClusters,
    *,
    wanted: Callable[[str], bool],
    sample: int | None,
    most: int,
) -> VerificationPlan:
    policy, alias = build_policy(config.source.properties), config.flow.source
    names = await accepted(accepted_topics(config), await clusters.source.list_topics())
    topics = {
        name: policy.format_remote_topic(alias, name) for name in sorted(names) if wanted(name)
    }
    sources = await _partitions(clusters.source, topics)
    seen = await _look(config, clusters, topics, sources)
    parts, without_copy = list[ComparedPart](), list[TopicPartition]()
    for where in sources:
        if where not in seen.source_ends:
            continue
        remote = TopicPartition(topics[where.topic], where.partition)
        if remote in seen.remote_ends:
            parts += _parts(config, seen, where, remote, sample)
        elif seen.source_ends[where] > seen.source_starts[where]:
            without_copy.append(where)
    parts += _foreign_parts(seen, topics)
    return VerificationPlan(
        spec=_spec(config, most), parts=parts, topics=topics, without_copy=without_copy
    )


async def _partitions(admin: Admin, topics: Iterable[TopicName]) -> list[TopicPartition]:
    described = await admin.describe_topics(topics)
    return [
        TopicPartition(name, number)
        for name, topic in sorted(described.items())
        for number in range(topic.partitions)
    ]


async def _look(
    config: FlowConfig,
    clusters: FlowClusters,
    topics: Mapping[TopicName, TopicName],
    sources: list[TopicPartition],
) -> _Seen:
    source, target = clusters.source, clusters.target
    committed = config.data.read_committed
    live = LiveTopicIds(config, source, target)
    positions = await _positions(config, clusters)
    remotes = await _partitions(target, topics.values())
    remote_ends = await target.list_offsets(remotes, OffsetAt.LATEST, read_committed=True)
    remote_starts = await target.list_offsets(remotes, OffsetAt.EARLIEST)
    policies = await _policies(clusters, topics)
    return _Seen(
        positions=positions,
        remote_starts=remote_starts,
        remote_ends=remote_ends,
        source_ends=await source.list_offsets(sources, OffsetAt.LATEST, read_committed=committed),
        source_starts=await source.list_offsets(sources, OffsetAt.EARLIEST),
        later_sources=await _partitions(source, topics),
        policies=policies,
        translation=await load_translation(config, live),
    )


async def _positions(config: FlowConfig, clusters: FlowClusters) -> dict[TopicPartition, int]:
    """The source offsets behind the last copies; none of a flow that has never run."""
    if config.herder.offsets_topic not in await clusters.target.list_topics():
        return {}
    last = await FlowPositions(config, clusters).load()
    return {where: offset + 1 for where, offset in last.items()}


async def _policies(
    clusters: FlowClusters, topics: Mapping[TopicName, TopicName]
) -> dict[TopicName, frozenset[str]]:
    """The cleanup policies of each topic and its copy together."""
    here = await clusters.source.describe_configs(topics)
    remote_names = await clusters.target.list_topics() & set(topics.values())
    there = await clusters.target.describe_configs(remote_names)
    return {
        topic: _policy(here.get(topic, [])) | _policy(there.get(remote, []))
        for topic, remote in topics.items()
    }


def _policy(entries: Iterable[ConfigEntry]) -> frozenset[str]:
    values = (entry.value or "" for entry in entries if entry.name == _POLICY)
    return frozenset(part.strip() for value in values for part in value.split(","))


def _parts(
    config: FlowConfig,
    seen: _Seen,
    where: TopicPartition,
    remote: TopicPartition,
    sample: int | None,
) -> list[ComparedPart]:
    def translate(offset: int) -> int | None:
        return _exact(seen.translation.explain(where, offset))

    def reverse(offset: int) -> int | None:
        return _exact(seen.translation.reverse(where, offset))

    start = start_of(where, config.source.starts, parse_reset(config.data.reset))
    partition = PartitionBounds(
        source=(seen.source_starts[where], seen.source_ends[where]),
        remote=(seen.remote_starts[remote], seen.remote_ends[remote]),
        position=seen.positions.get(where),
        begins_late=start.begin is not Begin.EARLIEST,
        is_compacted="compact" in seen.policies[where.topic],
    )
    # To be drawn again, not secret.
    draw = None if sample is None else Random(f"{sample} {where}").randrange  # noqa: S311
    return [
        ComparedPart(where=where, remote_topic=remote.topic, range=each, last_values=rules)
        for each, rules in parts_of(partition, translate, reverse, draw)
    ]


def _foreign_parts(seen: _Seen, topics: Mapping[TopicName, TopicName]) -> list[ComparedPart]:
    """Partitions that only the target has, if there are records."""
    spans = {remote: (seen.remote_starts[remote], end) for remote, end in seen.remote_ends.items()}
    return [
        ComparedPart(where=where, remote_topic=remote.topic, range=all_added(spans[remote]))
        for where, remote in without_source(topics, seen.later_sources, spans)
        if spans[remote][0] < spans[remote][1]
    ]


def _exact(found: MappedOffset | None) -> int | None:
    return found.offset if found is not None and found.exact else None


def _spec(config: FlowConfig, most: int) -> ComparisonSpec:
    return ComparisonSpec(
        flow=config.flow,
        source=config.source.source_consumer("verify"),
        target=config.source.target_consumer("verify"),
        source_committed=config.data.read_committed,
        most_plain=config.source.most_plain,
        digest_key=(secrets.randbits(_KEY_BITS), secrets.randbits(_KEY_BITS)),
        most=most,
    )
