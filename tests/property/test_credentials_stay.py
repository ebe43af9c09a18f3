"""
Credentials go where the layer leads that they come from, whatever is written in other layers.

The prefixes are those of the tables of keys: one that is new is tried without being named here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mm2.config.checks.key_lint import connector_keys
from mm2.config.clients import data_producer_properties
from mm2.config.credentials import CLIENT_PREFIXES, merged
from mm2.config.flow_config import FlowConfig, flow_config
from mm2.config.keys.key_types import split_list
from mm2.config.keys.keys_clients import CLIENT_KINDS
from mm2.config.keys.keys_mm2 import SPELLINGS
from mm2.config.keys.keys_security import CLIENT_NAMES
from mm2.config.mirror_maker_config import MirrorMakerConfig
from mm2.config.overrides import alteration, apply_valid_overrides
from mm2.connect.connector import read_connector
from mm2.connect.worker_config import WorkerConfig
from mm2.core.model import ClusterAlias, SourceAndTarget
from mm2.errors import ConfigErrors

FLOW: Final = SourceAndTarget(ClusterAlias("A"), ClusterAlias("B"))
LOGIN: Final = {
    "security.protocol": "SASL_SSL",
    "sasl.mechanism": "SCRAM-SHA-512",
    "sasl.jaas.config": "of-the-file",
    "ssl.keystore.location": "of-the-file",
    "ssl.keystore.password": "of-the-file",
    "ssl.keystore.key": "of-the-file",
    "ssl.key.password": "of-the-file",
}
MARKS: Final = ("client.id", "bootstrap.servers", "sasl.jaas.config")
PREFIXES: Final = sorted(
    {
        *CLIENT_PREFIXES,
        *(
            key.removesuffix(mark)
            for mark in MARKS
            for key in connector_keys()
            if key.endswith(f".{mark}") and "sasl.oauthbearer." not in key
        ),
        *(each.name for each in SPELLINGS if each.name.endswith(".")),
        "forwarding.admin.",
    }
)
ELSEWHERE: Final = (
    {"bootstrap.servers": "evil:9092"},
    {"bootstrap.servers": "a:1,w:1,b:1,evil:9092"},
    {"security.protocol": "SASL_PLAINTEXT"},
    {"ssl.truststore.certificates": "evil"},
)
_ids = [",".join(f"{key}={value}" for key, value in each.items()) for each in ELSEWHERE]


def _clients(flow: FlowConfig) -> Iterator[Mapping[str, str]]:
    """The settings of every client that the parts of a flow make."""
    for settings in (flow.source, flow.checkpoint, flow.heartbeat):
        yield settings.source_consumer("c")
        yield settings.source_producer("p")
        yield settings.source_admin("a")
        yield settings.target_consumer("c")
        yield settings.target_producer("p")
        yield settings.target_admin("a")
        yield data_producer_properties(flow.worker, settings.properties, 0).properties
    yield flow.source.offset_syncs_producer(0)
    yield flow.source.offset_syncs_admin(0)
    yield flow.checkpoint.offset_syncs_consumer(0)
    for kind in CLIENT_KINDS:
        yield flow.herder.client(kind, "x")


def _astray(flow: FlowConfig, changes: Mapping[str, str]) -> list[Mapping[str, str]]:
    """Clients that carry credentials of the file to where somebody else has them go."""
    return [
        client
        for client in _clients(flow)
        if "of-the-file" in client.values()
        and any(client.get(name) == value for name, value in changes.items())
    ]


def _file(**extra: str) -> FlowConfig:
    login = {f"{alias}.{name}": value for alias in "AB" for name, value in LOGIN.items()}
    raw = {
        "clusters": "A, B",
        "A.bootstrap.servers": "a:1",
        "B.bootstrap.servers": "b:1",
        "A->B.enabled": "true",
        **login,
        **extra,
    }
    return flow_config(MirrorMakerConfig(raw=raw, environment={}), FLOW)


def _connector(changes: Mapping[str, str], *, name: str, near: str) -> FlowConfig | None:
    """A connector's flow beside a worker with credentials; None if it is refused."""
    login = {f"{kind}{name}": value for kind in _KINDS for name, value in LOGIN.items()}
    topics = {f"{what}.storage.topic": what for what in ("config", "offset", "status")}
    worker = {"bootstrap.servers": "w:1", "group.id": "g", **topics, **login}
    config = {
        "name": "m",
        "connector.class": name,
        "source.cluster.alias": "A",
        "target.cluster.alias": "B",
        "source.cluster.bootstrap.servers": "a:1",
        "target.cluster.bootstrap.servers": "b:1",
        f"{near}.cluster.bootstrap.servers": "w:1",
        **changes,
    }
    try:
        return read_connector(config, WorkerConfig(raw=worker, is_distributed=True)).flow
    except ConfigErrors:
        return None


_KINDS: Final = ("", *(f"{kind}." for kind in CLIENT_KINDS))


def test_the_credentials_are_used_where_nothing_leads_elsewhere() -> None:
    (*clients,) = _clients(_file())
    assert all(client["sasl.jaas.config"] == "of-the-file" for client in clients)
    source = _connector({}, name="MirrorSourceConnector", near="target")
    assert source is not None
    assert source.source.target_admin("a")["sasl.jaas.config"] == "of-the-file"
    sink = _connector({}, name="MirrorSinkConnector", near="source")
    assert sink is not None
    assert sink.source.source_consumer("c")["ssl.keystore.key"] == "of-the-file"


@pytest.mark.parametrize("changes", ELSEWHERE, ids=_ids)
@pytest.mark.parametrize("prefix", PREFIXES)
def test_no_connector_has_the_credentials_of_its_worker_go_elsewhere(
    prefix: str, changes: Mapping[str, str]
) -> None:
    written = {prefix + name: value for name, value in changes.items()}
    for name, near in (("MirrorSourceConnector", "target"), ("MirrorSinkConnector", "source")):
        flow = _connector(written, name=name, near=near)
        assert flow is None or not _astray(flow, changes)


@pytest.mark.parametrize("changes", ELSEWHERE, ids=_ids)
@pytest.mark.parametrize("prefix", PREFIXES)
def test_no_key_of_a_flow_has_the_credentials_of_a_cluster_go_elsewhere(
    prefix: str, changes: Mapping[str, str]
) -> None:
    flow = _file(**{f"A->B.{prefix}{name}": value for name, value in changes.items()})
    assert not _astray(flow, changes)


@pytest.mark.parametrize("prefix", ["", *PREFIXES])
def test_no_alteration_says_where_to_connect_or_how_to_log_in(prefix: str) -> None:
    keys = {prefix + name for name in (*CLIENT_NAMES, "bootstrap.controllers")}
    with pytest.raises(ConfigErrors) as caught:
        alteration(_file(), {}, dict.fromkeys(keys, "evil:9092"), [])
    refused = [str(each) for each in caught.value.problems if "change the file" in str(each)]
    assert len(refused) == len(keys)
    # Whoever writes to the control topic need not ask.
    found = apply_valid_overrides(_file(), dict.fromkeys(keys, "evil:9092"))
    assert found.config == _file()
    assert set(found.ignored) == keys


@pytest.mark.parametrize(
    "layer",
    [
        *ELSEWHERE,
        {"bootstrap.servers": ""},
        {"bootstrap.controllers": "evil:9092"},
        {"security.protocol": " sasl_plaintext "},
        {"security.protocol": "PLAINTEXT"},
        {"security.protocol": ""},
        {"ssl.endpoint.identification.algorithm": ""},
        {"sasl.mechanism": "PLAIN"},
        {"sasl.oauthbearer.token.endpoint.url": "https://evil"},
    ],
    ids=str,
)
def test_a_layer_that_leads_elsewhere_inherits_no_credentials(layer: Mapping[str, str]) -> None:
    below = {"bootstrap.servers": "a:1,b:1", **LOGIN, "fetch.min.bytes": "1"}
    assert "of-the-file" not in merged([below, layer]).values()
    assert merged([below, layer])["fetch.min.bytes"] == "1"
    assert merged([below, {**layer, **LOGIN}])["sasl.jaas.config"] == "of-the-file"


@pytest.mark.parametrize(
    "layer",
    [
        {"bootstrap.servers": "B:1"},
        {"bootstrap.servers": "b:1, a:1"},
        {"security.protocol": "SSL"},
        {"ssl.endpoint.identification.algorithm": "https"},
        {"sasl.mechanism": "SCRAM-SHA-512"},
        {"fetch.min.bytes": "1"},
    ],
    ids=str,
)
def test_a_layer_that_says_the_same_inherits_credentials(layer: Mapping[str, str]) -> None:
    below = {"bootstrap.servers": "a:1,b:1", **LOGIN}
    assert LOGIN.items() - layer.items() <= merged([below, layer]).items() | {
        ("security.protocol", "SASL_SSL")
    }


_VALUES = st.sampled_from(("a:1", "a:1,b:1", "b:1", ""))
_LAYERS = st.lists(
    st.fixed_dictionaries(
        {},
        optional={
            "bootstrap.servers": _VALUES,
            "security.protocol": st.sampled_from(("SSL", "SASL_SSL", "sasl_plaintext", "")),
            "sasl.jaas.config": st.sampled_from(("one", "two")),
            "ssl.keystore.key": st.sampled_from(("one", "two")),
            "fetch.min.bytes": st.just("1"),
        },
    ),
    max_size=5,
)


@given(layers=_LAYERS)
def test_layers_above_credentials_neither_add_servers_nor_take_tls_away(
    layers: list[dict[str, str]],
) -> None:
    found = merged([{"bootstrap.servers": "a:1"}, *layers])
    for name in ("sasl.jaas.config", "ssl.keystore.key"):
        if name in found:
            place = max(place for place, layer in enumerate(layers) if name in layer)
            there = merged([{"bootstrap.servers": "a:1"}, *layers[: place + 1]])
            assert not _servers(there) or _servers(found) <= _servers(there)
            assert _has_tls(found) or not _has_tls(there)
    assert found.keys() - {"sasl.jaas.config", "ssl.keystore.key"} == {
        "bootstrap.servers",
        *(name for layer in layers for name in layer),
    } - {"sasl.jaas.config", "ssl.keystore.key"}


def _servers(layer: Mapping[str, str]) -> set[str]:
    return {server for server in split_list(layer["bootstrap.servers"]) if server}


def _has_tls(layer: Mapping[str, str]) -> bool:
    return layer.get("security.protocol", "") in {"SSL", "SASL_SSL"}
