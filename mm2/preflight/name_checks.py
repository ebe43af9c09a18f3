"""What the names of topics on all clusters say together of what flows would do."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType
from typing import Final

from mm2.config.connector_settings import TransformSettings
from mm2.config.copying import chain_of_flow, copying_of
from mm2.config.flow_config import FlowConfig
from mm2.config.keys.keys_mm2 import SQL
from mm2.core.checks import Check, Verdict, first_few
from mm2.core.filters import build_topic_filter
from mm2.core.model import ClusterAlias, TopicName
from mm2.core.policy import POLICY_KEY, build_policy
from mm2.core.preflight.endless_copies import endless_copies, is_on_circle
from mm2.core.preflight.mirrored_names import seeming_copies
from mm2.core.preflight.origin_ways import wrong_ways
from mm2.core.preflight.routed_names import goes_by_headers

_WOULD: Final = "would be copied without end"


async def name_checks(
    flows: Sequence[FlowConfig],
    topics: Mapping[ClusterAlias, frozenset[TopicName]],
    ids: Mapping[ClusterAlias, str] = MappingProxyType({}),
) -> list[Check]:
    """
    What the names of all clusters' topics say together, of flows that are enabled.

    Args:
        ids: of the clusters, as far as they are known.
    """
    return await asyncio.to_thread(
        lambda: [
            *_loops(flows, topics),
            *_not_followed(flows),
            *_origins(flows, topics, ids),
            *_seeming(flows, topics),
        ]
    )


def _loops(
    flows: Sequence[FlowConfig], topics: Mapping[ClusterAlias, frozenset[TopicName]]
) -> Iterator[Check]:
    chains = {each.flow: chain_of_flow(each) for each in flows}
    by_way: dict[tuple[ClusterAlias, ...], list[str]] = {}
    for way in endless_copies(topics, [copying_of(each) for each in flows]):
        clusters = tuple(alias for alias, _ in way)
        by_way.setdefault(clusters, []).append(" -> ".join(f"{a}:{t}" for a, t in way))
    for clusters, ways in by_way.items():
        passed = set(pairwise(clusters))
        may_end = any(
            goes_by_headers(chain)
            for flow, chain in chains.items()
            if (flow.source, flow.target) in passed
        )
        would = "may be copied without end, unless headers end that" if may_end else _WOULD
        yield Check(
            name="endless-copies",
            subject="->".join(dict.fromkeys(clusters)),
            verdict=Verdict.CAUTION if may_end else Verdict.NO_GO,
            sentence=f"{len(ways)} topics {would}, as in {ways[0]}",
            remedy=_remedy(flows),
            cost="" if may_end else None,
        )


def _remedy(flows: Sequence[FlowConfig]) -> str:
    kinds = {
        f"{each.flow}: {type(build_policy(each.source.properties)).__name__}" for each in flows
    }
    routers = [
        f"{each.flow}.transforms.{step.name}"
        for each in flows
        if (chain := chain_of_flow(each)) is not None
        for step in chain.steps
        if step.router is not None
    ]
    without = f", and no router that takes names back ({', '.join(routers)})" if routers else ""
    return (
        f"Give the flows the same {POLICY_KEY} (now {', '.join(sorted(kinds))}), other than"
        f" IdentityReplicationPolicy{without}; or topics that the way back excludes; or write"
        " provenance.headers.enabled = true, for all of them."
    )


def _origins(
    flows: Sequence[FlowConfig],
    topics: Mapping[ClusterAlias, frozenset[TopicName]],
    ids: Mapping[ClusterAlias, str],
) -> Iterator[Check]:
    """Records that headers of provenance let come more than once, or not at all."""
    targets = {each.flow.target for each in flows}
    for ways, names in wrong_ways(topics, [copying_of(each, ids) for each in flows]).items():
        no_way = Verdict.NOTE if ways.origin in targets else Verdict.CAUTION
        yield Check(
            name="repeated-copies" if ways.are_several else "missing-origins",
            subject=f"{ways.origin}->{ways.target}",
            verdict=Verdict.NO_GO if ways.are_several else no_way,
            sentence=f"{ways.sentence}, in {first_few(names)}",
            remedy=ways.remedy,
            cost=None if ways.are_several else "",
        )


def _not_followed(flows: Sequence[FlowConfig]) -> Iterator[Check]:
    """Transforms that may lead records in a circle, without saying so before they run."""
    without_headers = [each.flow for each in flows if not each.source.transforms.provenance]
    for config in flows:
        key, is_routing = _unread_router(config.source.transforms)
        if not key or not is_on_circle(config.flow, without_headers):
            continue
        yield Check(
            name="unfollowed-topics",
            subject=str(config.flow),
            verdict=Verdict.CAUTION if is_routing else Verdict.NOTE,
            sentence=f"{key} may send records to other topics, and is not followed: whether they"
            " would be copied without end is not known",
            remedy=(
                f"See that the way back to {config.flow.source} excludes the topics that it names,"
                " or write provenance.headers.enabled = true for all flows of the circle."
            ),
        )


def _unread_router(transforms: TransformSettings) -> tuple[str, bool]:
    """The key of what may name topics, if there is any, and whether it surely does."""
    if transforms.sql_topic is not None:
        return f"{SQL}topic", True
    if transforms.handler is not None:
        return "message.handler", False
    return ("arrow.function", False) if transforms.function is not None else ("", False)


def _seeming(
    flows: Iterable[FlowConfig], topics: Mapping[ClusterAlias, frozenset[TopicName]]
) -> Iterator[Check]:
    for config in flows:
        source = config.flow.source
        if source not in topics:
            continue
        policy = build_policy(config.source.properties)
        wanted = build_topic_filter(config.source.properties).should_replicate_topic
        local = [
            topic
            for topic in topics[source]
            if policy.format_remote_topic(source, topic) != topic and wanted(topic)
        ]
        for each in seeming_copies(local, policy, topics):
            is_left_out = each.origin == config.flow.target
            yield Check(
                name="seeming-copies",
                subject=str(config.flow),
                verdict=Verdict.CAUTION if is_left_out else Verdict.NOTE,
                sentence=(
                    f"{each.topic} on {source} looks like a copy from {each.origin}, which has no"
                    f" {each.upstream}: it is {'not mirrored' if is_left_out else 'taken for one'}"
                ),
                remedy=(
                    "If it is a topic of the cluster's own, rename it, or choose another alias or"
                    " replication.policy.separator."
                ),
            )
