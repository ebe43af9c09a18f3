"""What is wrong, or was hardly meant, with what a flow would do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from mm2.config.flow_config import FlowConfig
from mm2.core.checks import Check, Verdict, first_few
from mm2.core.filters import TOPICS_DEFAULT, DefaultTopicFilter, build_topic_filter
from mm2.core.model import ClusterAlias, TopicName
from mm2.core.policy import POLICY_KEY
from mm2.core.preflight.acl_commands import shell
from mm2.core.preflight.copy_time import copy_ms, short_retention
from mm2.core.preflight.mirrored_names import idle_patterns, service_topics
from mm2.core.times import age_text
from mm2.preflight.flow_plan import FlowPlan


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowFacts:
    """
    What is known of a flow's clusters beside its plan.

    Attributes:
        source_settings: settings of each topic that is mirrored, as they are in force.
        target_bytes: the same of the copy, once it is there.
        rate: bytes per second at which copying is expected to go on.
        source_principal: who we are on the source.
    """

    source_settings: Mapping[TopicName, Mapping[str, str | None]]
    target_bytes: Mapping[TopicName, int]
    rate: float
    source_principal: str


def flow_checks(config: FlowConfig, plan: FlowPlan, facts: FlowFacts) -> list[Check]:
    """All of them; they take as long as patterns of users do."""
    return [
        *_patterns(config, plan, facts),
        *_service_topics(plan),
        *_message_sizes(config, plan, facts),
        *_retention(plan, facts),
        *_used_copies(config, plan),
    ]


def _patterns(config: FlowConfig, plan: FlowPlan, facts: FlowFacts) -> Iterator[Check]:
    topic_filter = build_topic_filter(config.source.properties)
    if not isinstance(topic_filter, DefaultTopicFilter):
        return
    topics = {each.topic for each in plan.copies}.union(plan.skipped)
    for pattern, near in idle_patterns(topic_filter.included, topics).items():
        flow = config.flow
        hint = f" Did you mean {', '.join(near)}?" if near else ""
        yield Check(
            name="topic-patterns",
            subject=str(flow),
            verdict=Verdict.NOTE if not topics and pattern in TOPICS_DEFAULT else Verdict.CAUTION,
            sentence=f"topics: {pattern} matches no topic of {flow.source}.{hint}",
            remedy=(
                f"Correct {flow}.topics: patterns are Java's and match whole names. If there are"
                f" such topics, {facts.source_principal} may not describe them."
            ),
        )


def _service_topics(plan: FlowPlan) -> Iterator[Check]:
    for topic, service in service_topics(each.topic for each in plan.copies).items():
        yield Check.caution(
            "service-topics",
            str(plan.flow),
            f"{topic} is mirrored, in which {service} keeps its state",
            remedy=(
                f"Add it to {plan.flow}.topics.exclude, which replaces the default: for example"
                f" mm2.*\\.internal, .*\\.replica, __.*, {topic}"
            ),
        )


def _message_sizes(config: FlowConfig, plan: FlowPlan, facts: FlowFacts) -> Iterator[Check]:
    for each in plan.copies:
        most = int(facts.source_settings.get(each.topic, {}).get("max.message.bytes") or 0)
        least = facts.target_bytes.get(each.remote)
        if least is None or most <= least:
            continue
        target = config.flow.target
        servers = config.source.target_admin(None).get("bootstrap.servers", "")
        words = ["kafka-configs.sh", "--bootstrap-server", servers, "--alter"]
        words += ["--entity-type", "topics", "--entity-name", each.remote]
        yield Check.caution(
            "message-size",
            str(plan.flow),
            (
                f"{each.topic} takes batches of up to {most} bytes, but {each.remote} on {target}"
                f" only of {least}: larger ones are refused"
            ),
            remedy=shell(*words, "--add-config", f"max.message.bytes={most}")
            + f"\nor raise message.max.bytes of the brokers of {target}, before the topic is there",
        )


def _retention(plan: FlowPlan, facts: FlowFacts) -> Iterator[Check]:
    if plan.pending_bytes is None:
        return
    takes_ms = copy_ms(plan.pending_bytes, facts.rate)
    for each in plan.copies:
        short = short_retention(facts.source_settings.get(each.topic, {}), takes_ms)
        if short is None or not each.records:
            continue
        yield Check.caution(
            "retention",
            str(plan.flow),
            (
                f"{each.topic} has {short.key} = {short.kept_ms} ({age_text(short.kept_ms)}), but"
                f" copying takes about {age_text(takes_ms)} at {facts.rate:.0f} bytes/s: records"
                " may go before they are copied"
            ),
            remedy=(
                f"Raise {short.key} of {each.topic} on {plan.flow.source} until the flow has caught"
                " up, or copy faster: more tasks.max, no flow.byte.rate.limit, no quotas."
            ),
        )


def _used_copies(config: FlowConfig, plan: FlowPlan) -> Iterator[Check]:
    if plan.has_run or not plan.existing or not config.source.runs:
        return
    yield Check.caution(
        "existing-copies",
        str(plan.flow),
        (
            f"{first_few(plan.existing)} on {plan.flow.target} is there already, and this flow has"
            " no positions: records are written behind what is in it"
        ),
        remedy=(
            f"If another mirror has written it, see its {POLICY_KEY} and its clusters' aliases. If"
            f" it is a topic of {plan.flow.target}'s own, exclude it, or let copies be renamed."
        ),
    )


def shared_ids(flows: Iterable[FlowConfig], ids: Mapping[ClusterAlias, str]) -> Iterator[Check]:
    """Clusters of one id, whose records headers of provenance do not tell apart."""
    if not any(each.source.transforms.provenance for each in flows):
        return
    aliases: dict[str, list[str]] = {}
    for alias, cluster_id in ids.items():
        aliases.setdefault(cluster_id, []).append(alias)
    for cluster_id, names in aliases.items():
        if cluster_id and len(names) > 1:
            yield Check.no_go(
                "same-cluster",
                ", ".join(names),
                f"{' and '.join(names)} have one cluster id, {cluster_id}: with"
                " provenance.headers.enabled, records of one are taken for those of the other",
                remedy="Format each cluster with an id of its own.",
            )
