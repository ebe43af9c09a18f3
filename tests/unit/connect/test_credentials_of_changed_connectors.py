"""Credentials of a connector, which clients are not shown, go nowhere else when it is changed."""

from __future__ import annotations

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
        check_kept(login, after, {f"{prefix}{name}"}, "w:1")
    check_kept(login, after, after, "w:1")
    check_kept(login, {**login, "tasks.max": "2"}, {"tasks.max"}, "w:1")
