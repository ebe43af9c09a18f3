"""Names: what a policy makes of them it takes apart again, and no topology mirrors in a circle."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from mm2.core.filters import build_topic_filter
from mm2.core.model import ClusterAlias, SourceAndTarget, TopicName
from mm2.core.policy import build_policy
from mm2.core.topics.cycle_detection import is_cycle, should_replicate_topic

ALIASES = st.text("abc-", min_size=1, max_size=4).map(ClusterAlias)
TOPICS = st.text("abcxyz_-", min_size=1, max_size=8).map(TopicName)
SEPARATORS = st.sampled_from([".", "..", "!", "~"])


@given(separator=SEPARATORS, chain=st.lists(ALIASES, min_size=1, max_size=5), topic=TOPICS)
def test_remote_names_are_taken_apart_again(
    separator: str, chain: list[ClusterAlias], topic: TopicName
) -> None:
    """C113, C117-C119, C158."""
    policy = build_policy({"replication.policy.separator": separator})
    remote = topic
    for alias in chain:
        upstream, remote = remote, policy.format_remote_topic(alias, remote)
        assert policy.topic_source(remote) == alias
        assert policy.upstream_topic(remote) == upstream
    assert policy.original_topic(remote) == topic
    assert all(is_cycle(policy, remote, alias) for alias in chain)
    assert not is_cycle(policy, remote, ClusterAlias("elsewhere"))


FLOWS = st.sets(
    st.builds(SourceAndTarget, *[st.sampled_from("ABCD").map(ClusterAlias)] * 2), max_size=12
).map(lambda flows: {flow for flow in flows if flow.source != flow.target})


@given(flows=FLOWS, topics=st.sets(TOPICS | st.just(TopicName("heartbeats")), max_size=3))
def test_any_topology_settles_and_no_cluster_comes_twice(
    flows: set[SourceAndTarget], topics: set[TopicName]
) -> None:
    """C157, C158."""
    policy = build_policy({})
    everything = build_topic_filter({"topics.exclude": ""})
    clusters = {ClusterAlias(alias): set(topics) for alias in "ABCD"}
    settle(
        flows,
        clusters,
        lambda flow, topic: (
            policy.format_remote_topic(flow.source, topic)
            if should_replicate_topic(
                topic,
                flow=flow,
                policy=policy,
                topic_filter=everything,
                heartbeats_replication=True,
            )
            else None
        ),
    )
    for alias, names in clusters.items():
        for name in names:
            passed = [*name.split(".")[:-1], alias]
            assert len(passed) == len(set(passed))


def settle(
    flows: set[SourceAndTarget],
    clusters: dict[ClusterAlias, set[TopicName]],
    mirror: Callable[[SourceAndTarget, TopicName], TopicName | None],
) -> None:
    """Mirrors until nothing is new; a topology of four clusters needs at most four rounds."""
    for _ in range(5):
        before = {alias: set(names) for alias, names in clusters.items()}
        for flow in flows:
            copies = {mirror(flow, topic) for topic in before[flow.source]}
            clusters[flow.target].update(copy for copy in copies if copy is not None)
        if clusters == before:
            return
    raise AssertionError("the topology does not settle")
