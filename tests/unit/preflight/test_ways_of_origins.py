"""Records that come to a cluster by two ways, or by none, where headers say whose they are."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from itertools import permutations

import pytest

from mm2.config.checks.findings import Severity, findings
from mm2.config.flow_config import flow_config
from mm2.config.mirror_maker_config import MirrorMakerConfig
from mm2.config.text.properties import parse
from mm2.core.checks import Verdict
from mm2.core.model import ClusterAlias, TopicName
from mm2.preflight.name_checks import name_checks

_DIAMOND = ("E->X", "E->Y", "X->L", "Y->L")
_MESH = tuple(f"{one}->{other}" for one, other in permutations("ABC", 2))
_TOGETHER = {
    "topics": "orders.*",
    "replication.policy.class": "IdentityReplicationPolicy",
    "provenance.headers.enabled": "true",
}


def _file(flows: tuple[str, ...], more: Mapping[str, str]) -> MirrorMakerConfig:
    aliases = dict.fromkeys(alias for flow in flows for alias in flow.split("->"))
    raw = {
        "clusters": ", ".join(aliases),
        **{f"{alias}.bootstrap.servers": f"{alias.lower()}:1" for alias in aliases},
        **{f"{flow}.enabled": "true" for flow in flows},
        **_TOGETHER,
        **more,
    }
    return MirrorMakerConfig.of(parse("".join(f"{k} = {v}\n" for k, v in raw.items()).encode()))


def _planned(
    flows: tuple[str, ...],
    more: Mapping[str, str] | None = None,
    ids: Mapping[str, str] | None = None,
) -> list[tuple[str, str, Verdict, str]]:
    maker = _file(flows, more or {})
    topics = dict.fromkeys(maker.clusters, frozenset({TopicName("orders"), TopicName("other")}))
    configs = [flow_config(maker, each) for each in maker.cluster_pairs() if maker.is_enabled(each)]
    known = {ClusterAlias(alias): cluster for alias, cluster in (ids or {}).items()}
    found = asyncio.run(name_checks(configs, topics, known))
    return [(each.name, each.subject, each.verdict, each.remedy) for each in found]


def _validated(flows: tuple[str, ...], more: Mapping[str, str] | None = None) -> list[str]:
    raw = _file(flows, more or {}).raw
    text = "".join(f"{key} = {value}\n" for key, value in raw.items())
    found = findings(parse(text.encode()))
    assert all(each.severity is Severity.WARNING for each in found)
    return [each.problem.message for each in found]


def test_a_diamond_copies_twice_and_is_told_what_to_write() -> None:
    remedy = "To leave these to X->L, write Y->L.provenance.origins = Y."
    assert _planned(_DIAMOND) == [("repeated-copies", "E->L", Verdict.NO_GO, remedy)]
    said = "records of E come 2 times to L, by X->L, Y->L, as of topic orders. "
    assert _validated(_DIAMOND) == [said + remedy]
    cured = {"Y->L.provenance.origins": "Y"}
    assert _planned(_DIAMOND, cured) == []
    assert _validated(_DIAMOND, cured) == []


def test_of_a_direct_way_and_a_detour_the_direct_one_stays() -> None:
    ((_, about, _, remedy),) = _planned(("E->X", "X->L", "E->L"))
    assert about == "E->L"
    assert remedy == "To leave these to E->L, write X->L.provenance.origins = X."


def test_what_is_to_be_written_for_a_mesh_cures_it() -> None:
    found = _planned(_MESH)
    assert {name for name, *_ in found} == {"repeated-copies"}
    lines = {remedy.partition("write ")[2].rstrip(".") for *_, remedy in found}
    cured = dict(line.split(" = ") for line in lines)
    assert cured == {f"{flow}.provenance.origins": flow[0] for flow in _MESH}
    assert _planned(_MESH, cured) == []
    assert _validated(_MESH, cured) == []


def test_a_flow_without_headers_that_leads_out_of_a_mesh_makes_no_circle() -> None:
    apart = {f"{flow}.provenance.origins": flow[0] for flow in _MESH}
    out = {**apart, "A->S.provenance.headers.enabled": "false"}
    assert _planned((*_MESH, "A->S"), out) == []
    assert {name for name, *_ in _planned((*_MESH, "A->S"))} == {"repeated-copies"}


def test_two_hubs_of_two_origins_are_told_apart_as_the_documentation_has_it() -> None:
    flows = ("E->X", "W->X", "E->Y", "W->Y", "X->L", "Y->L")
    apart = {"X->L.provenance.origins": "E, X", "Y->L.provenance.origins": "W, Y"}
    assert _planned(flows, apart) == []
    assert _validated(flows, apart) == []


def test_records_that_no_flow_takes_are_told() -> None:
    none = {"X->L.provenance.origins": "X", "Y->L.provenance.origins": "Y"}
    remedy = "Add E to X->L.provenance.origins, if they are to come."
    assert _planned(_DIAMOND, none) == [("missing-origins", "E->L", Verdict.CAUTION, remedy)]
    (message,) = _validated(_DIAMOND, none)
    assert message.startswith("records of E do not come to L: X->L, Y->L takes none")


def test_of_a_cluster_that_may_be_a_hub_only_that_is_a_note() -> None:
    own = {"X->L.provenance.origins": "E"}
    ((name, about, verdict, _),) = _planned(("E->X", "X->L"), own)
    assert (name, about, verdict) == ("missing-origins", "X->L", Verdict.NOTE)
    assert _validated(("E->X", "X->L"), own) == []


def test_clusters_may_be_named_by_their_ids() -> None:
    by_id = "abcdefghijklmnopqrstuv"
    origins = {"X->L.provenance.origins": f"{by_id}, X", "Y->L.provenance.origins": "Y"}
    assert _planned(_DIAMOND, origins, {"E": by_id}) == []
    assert _validated(_DIAMOND, origins) == []


@pytest.mark.parametrize(
    "more",
    [
        {"provenance.headers.enabled": "false"},
        {"replication.policy.class": "DefaultReplicationPolicy"},
        {"Y->L.topics": "other"},
    ],
    ids=["no headers", "names tell", "other topics"],
)
def test_elsewhere_there_is_nothing_to_say(more: dict[str, str]) -> None:
    assert _planned(_DIAMOND, more) == []
    assert _validated(_DIAMOND, more) == []


_SYNC = {"A->B.sync.group.offsets.enabled": "true"}
_MAY_SKIP = "A->B: groups may skip records of other clusters"


@pytest.mark.parametrize(
    ("flows", "more", "is_told"),
    [
        (("A->B",), _SYNC, True),
        (("A->B", "B->A"), _SYNC, False),
        (("A->B",), {}, False),
        (("A->B", "B->A"), {**_SYNC, "reverse.checkpointing.enabled": "false"}, True),
        (("A->B", "B->A"), {**_SYNC, "B->A.provenance.origins": "B"}, True),
        (("A->B",), {**_SYNC, "replication.policy.class": "DefaultReplicationPolicy"}, False),
        (("A->B",), {**_SYNC, "provenance.headers.enabled": "false"}, False),
    ],
)
def test_syncs_of_groups_that_know_of_one_way_only_are_told(
    flows: tuple[str, ...], more: Mapping[str, str], *, is_told: bool
) -> None:
    """Records of the other cluster that a group has not read lie before its place there."""
    messages = _validated(flows, more)
    assert any(each.startswith(_MAY_SKIP) for each in messages) == is_told
