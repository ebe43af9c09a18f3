"""The nouns."""

from __future__ import annotations

from mm2.core.model import ClusterAlias, SourceAndTarget, TopicName, TopicPartition


def test_flows_and_partitions_print_as_in_java() -> None:
    """C020."""
    assert str(SourceAndTarget(ClusterAlias("A"), ClusterAlias("B"))) == "A->B"
    assert str(TopicPartition(TopicName("t"), 3)) == "t-3"
