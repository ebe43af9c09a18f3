"""Clusters that were formatted with one id are found where records are told apart by ids."""

from __future__ import annotations

import pytest

from mm2.core.model import ClusterAlias
from mm2.preflight.flow_checks import shared_ids
from tests.support.configs import A_TO_B, config_of

_IDS = {ClusterAlias("A"): "one", ClusterAlias("B"): "two", ClusterAlias("C"): "one"}


@pytest.mark.parametrize("provenance", [True, False])
def test_two_of_three_have_one_id(*, provenance: bool) -> None:
    settings = {"A->B.enabled": "true", "provenance.headers.enabled": str(provenance).lower()}
    found = [*shared_ids([config_of(settings, A_TO_B)], _IDS)]
    assert [(each.subject, each.failed) for each in found] == [("A, C", True)] * provenance


def test_clusters_that_tell_no_id_are_not_one() -> None:
    flow = config_of({"A->B.enabled": "true", "provenance.headers.enabled": "true"}, A_TO_B)
    assert not [*shared_ids([flow], dict.fromkeys(_IDS, ""))]
