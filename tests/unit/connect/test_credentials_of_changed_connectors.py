"""Credentials of a connector, which clients are not shown, go nowhere else when it is changed."""

from __future__ import annotations

from contextlib import suppress
from typing import cast

import pytest

from mm2.config.credentials import check_kept
from mm2.connect.memory_store import MemoryStore
from mm2.connect.running_connectors import RunningConnectors
from mm2.connect.worker_config import WorkerConfig
from mm2.connect.worker_connectors import WorkerConnectors
from mm2.core.connect.config_records import ConnectorConfig
from mm2.errors import ConfigErrors
from mm2.herder.view.followed_flows import FollowedFlows

_PASSWORD = "source.cluster.sasl.jaas.config"
_BEFORE = {
    "name": "m",
    "connector.class": "MirrorSourceConnector",
    "source.cluster.alias": "A",
    "target.cluster.alias": "B",
    "source.cluster.bootstrap.servers": "a:1",
    "source.cluster.security.protocol": "SASL_SSL",
    _PASSWORD: "secret",
}
_EVIL = {"source.cluster.bootstrap.servers": "evil:1"}


async def test_a_request_that_leads_elsewhere_writes_the_password_again() -> None:
    worker = WorkerConfig(raw={}, is_distributed=False)
    store = MemoryStore([ConnectorConfig("m", _BEFORE)])
    running = RunningConnectors(worker, store, lambda _: pytest.fail("nothing runs"), "w")
    connectors = WorkerConnectors(worker, store, running, cast("FollowedFlows", None))
    with pytest.raises(ConfigErrors, match=_PASSWORD):
        await connectors.patch_config("m", _EVIL)
    with pytest.raises(ConfigErrors, match=_PASSWORD):
        await connectors.put_config("m", {**await connectors.config("m"), **_EVIL})
    assert store.contents.configs["m"] == _BEFORE


@pytest.mark.parametrize(
    "prefix",
    ["source.cluster.", "consumer.", "source.consumer.", "consumer.override.", "target.producer."],
)
@pytest.mark.parametrize(
    ("name", "value"), [("bootstrap.servers", "evil:1"), ("security.protocol", "SASL_PLAINTEXT")]
)
def test_what_is_kept_is_written_again_behind_each_prefix(
    prefix: str, name: str, value: str
) -> None:
    login = {f"{prefix}security.protocol": "SASL_SSL", f"{prefix}sasl.jaas.config": "secret"}
    after = {**login, f"{prefix}{name}": value}
    with pytest.raises(ConfigErrors, match="jaas"):
        check_kept(login, after, {f"{prefix}{name}"}, {"bootstrap.servers": "w:1"})
    check_kept(login, after, after, {"bootstrap.servers": "w:1"})
    check_kept(login, {**login, "tasks.max": "2"}, {"tasks.max"}, {"bootstrap.servers": "w:1"})


@pytest.mark.parametrize(
    ("before", "change"),
    [
        ({"source.cluster.security.protocol": "SASL_SSL"}, "source.cluster.security.protocol"),
        ({"source.cluster.sasl.mechanism": "SCRAM-SHA-512"}, "source.cluster.sasl.mechanism"),
        (
            {"source.cluster.ssl.truststore.location": "/t"},
            "source.cluster.ssl.truststore.location",
        ),
        ({"consumer.override.security.protocol": "SSL"}, "consumer.override.security.protocol"),
        ({"source.cluster.bootstrap.servers": "a:1"}, "source.cluster.bootstrap.servers"),
    ],
)
def test_what_protects_a_password_that_is_kept_cannot_be_taken_away(
    before: dict[str, str], change: str
) -> None:
    kept = {_PASSWORD: "secret", "consumer.override.ssl.keystore.password": "secret", **before}
    after = {key: value for key, value in kept.items() if key != change}
    with pytest.raises(ConfigErrors, match="write it again"):
        check_kept(kept, after, set(), {"bootstrap.servers": "w:1"})


def test_a_connector_s_own_password_keeps_the_security_that_it_has_from_the_worker() -> None:
    worker = {"bootstrap.servers": "w:1", "security.protocol": "SASL_SSL", "topics": "x"}
    kept = {"producer.override.sasl.jaas.config": "secret"}
    plain = {"producer.override.security.protocol": "SASL_PLAINTEXT"}
    with pytest.raises(ConfigErrors, match="jaas"):
        check_kept(kept, kept | plain, plain, worker)
    check_kept(kept, kept | {"producer.override.security.protocol": "SSL"}, set(), worker)


@pytest.mark.parametrize(("may_ask", "is_taken"), [("false", False), ("true", True)])
async def test_an_expression_that_is_sent_back_counts_only_for_who_may_write_it(
    may_ask: str, *, is_taken: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PW", "secret")
    provider = "org.apache.kafka.common.config.provider.EnvVarConfigProvider"
    worker = WorkerConfig(
        raw={
            "bootstrap.servers": "w:1",
            "config.providers": "env",
            "config.providers.env.class": provider,
            "rest.config.providers.enabled": may_ask,
        },
        is_distributed=False,
    )
    before = {**_BEFORE, _PASSWORD: "${env:PW}"}
    store = MemoryStore([ConnectorConfig("m", before)])
    running = RunningConnectors(worker, store, lambda _: pytest.fail("nothing runs"), "w")
    connectors = WorkerConnectors(worker, store, running, cast("FollowedFlows", None))
    asked = connectors.patch_config("m", {**_EVIL, _PASSWORD: "${env:PW}"})
    if not is_taken:
        with pytest.raises(ConfigErrors, match=_PASSWORD):
            await asked
    else:
        with suppress(AttributeError):  # nobody is there to show the connector
            await asked
    servers = store.contents.configs["m"]["source.cluster.bootstrap.servers"]
    assert (servers == "evil:1") is is_taken
