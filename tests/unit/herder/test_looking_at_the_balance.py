"""When a node has its groups look whether flows are spread evenly."""

from __future__ import annotations

from mm2.config.flow import flow_config
from mm2.config.maker import MirrorMakerConfig
from mm2.core.model import ClusterAlias, SourceAndTarget
from mm2.herder.election import Election, NodeShare
from mm2.herder.membership import Decision, encode_decision

_RAW = {"clusters": "A, B", "A.bootstrap.servers": "a:1", "B.bootstrap.servers": "b:1"}


def test_a_node_looks_again_when_another_one_has_got_a_flow() -> None:
    """It may have become the one with the most."""
    maker = MirrorMakerConfig(raw=_RAW, lines=dict.fromkeys(_RAW, 1), environment={})
    share = NodeShare(could=frozenset({"A->B"}))
    election = Election(
        flow_config(maker, SourceAndTarget(ClusterAlias("A"), ClusterAlias("B"))),
        "topic",
        node="n1",
        share=share,
        may_lead=lambda: True,
        decided=lambda decided: None,
    )
    looks = []
    for leader in ("n2", "n2", "n3"):
        changed = share.changed
        election._voter.decided(encode_decision(Decision(leader=leader)))
        looks.append(changed.is_set())
    assert looks == [True, False, True]
