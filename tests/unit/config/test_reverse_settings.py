"""When the flow back leads groups back."""

from __future__ import annotations

import pickle

import pytest

from mm2.config.flow_config import FlowConfig, FlowReader, flow_config
from mm2.core.model import ClusterAlias, SourceAndTarget
from tests.support.configs import A_TO_B, B_TO_A, config_of, maker_of

ENABLED = {"A->B.enabled": "true"}


def _back(**extra: str) -> FlowConfig:
    return config_of(extra, B_TO_A)


def test_groups_are_led_back_from_a_passive_cluster_by_default() -> None:
    config = _back(**ENABLED)
    assert config.reverse is not None
    assert config.reverse.flow == A_TO_B
    assert config.reverse.reverse is None
    assert config.emits_checkpoints
    assert not config.checkpoint.runs
    assert pickle.loads(pickle.dumps(config)) == config


def test_flows_both_ways_lead_groups_back_each() -> None:
    maker = maker_of({**ENABLED, "B->A.enabled": "true"})
    there, back = flow_config(maker, A_TO_B), flow_config(maker, B_TO_A)
    assert there.reverse is not None
    assert there.reverse.flow == B_TO_A
    assert back.reverse is not None
    assert back.reverse.flow == A_TO_B


def test_flows_that_are_read_together_are_the_same_as_one_by_one() -> None:
    maker = maker_of({**ENABLED, "B->A.enabled": "true"})
    reader = FlowReader(maker)
    for flow in (A_TO_B, B_TO_A, A_TO_B):
        assert reader.read(flow) == flow_config(maker, flow)


@pytest.mark.parametrize(
    "extra",
    [
        {},
        {**ENABLED, "reverse.checkpointing.enabled": "false"},
        {**ENABLED, "B->A.reverse.checkpointing.enabled": "false"},
        {**ENABLED, "emit.offset-syncs.enabled": "false"},
        # Its mistakes are told when it is itself asked for.
        {**ENABLED, "A->B.tasks.max": "many"},
    ],
)
def test_without_what_the_flow_there_has_written_down_nobody_is_led_back(
    extra: dict[str, str],
) -> None:
    config = _back(**extra)
    assert config.reverse is None
    assert not config.emits_checkpoints


@pytest.mark.parametrize(
    "extra",
    [{"emit.checkpoints.interval.seconds": "-1"}, {"B->A.emit.checkpoints.enabled": "false"}],
)
def test_no_checkpoints_at_all_are_none_for_the_way_back_either(extra: dict[str, str]) -> None:
    assert not _back(**ENABLED, **extra).emits_checkpoints


def test_a_flow_between_other_clusters_is_none_back() -> None:
    assert not maker_of(ENABLED).is_enabled(SourceAndTarget(ClusterAlias("A"), ClusterAlias("C")))
    assert _back(**{"B->A.enabled": "true"}).reverse is None
