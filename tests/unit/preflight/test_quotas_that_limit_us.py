"""Only quotas of our own clients count, and each broker keeps them for itself."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, Final

import pytest

from mm2.core.checks import Check, Verdict
from mm2.core.preflight.client_quotas import Clients, allowed_rate, quotas_of, raising_command
from mm2.errors import NotAuthorized, Unavailable
from mm2.kafka.flow_clusters import FlowClusters
from mm2.preflight.quotas import client_ids_on, quota_check, quota_rates
from tests.support.configs import flow_of

_READ: Final = "consumer_byte_rate"
_WRITE: Final = "producer_byte_rate"
_ONE: Final = "A->B|MirrorSourceConnector-0|replication-consumer"
_TWO: Final = "A->B|MirrorSourceConnector-1|replication-consumer"
_US: Final = Clients("mirror", (_ONE, _TWO))


@pytest.mark.parametrize(
    ("who", "rate"),
    [
        ("client-id=somebody", None),
        ("user=somebody", None),
        ("client-id=somebody, user=mirror", None),
        (f"client-id={_ONE}, user=somebody", None),
        ("ip=<default>", None),
        (f"client-id={_ONE}", None),
        ("user=mirror", 300.0),
        ("user=<default>", 300.0),
        ("client-id=<default>", 600.0),
        ("client-id=<default>, user=mirror", 600.0),
        ("client-id=<default>, user=<default>", 600.0),
    ],
)
def test_each_broker_allows_what_a_quota_says_to_whom_it_is_for(
    who: str, rate: float | None
) -> None:
    """Of two clients, with three brokers."""
    assert allowed_rate({who: {_READ: 100.0}}, _READ, _US, 3) == rate
    assert allowed_rate({who: {_WRITE: 100.0}}, _READ, _US, 3) is None


def test_the_most_specific_quota_holds_for_each_client() -> None:
    quotas = {
        "client-id=<default>": {_READ: 1.0},
        "user=<default>": {_READ: 2.0},
        "user=mirror": {_READ: 10.0, _WRITE: 5.0},
        f"client-id={_TWO}, user=mirror": {_READ: 100.0},
    }
    assert allowed_rate(quotas, _READ, _US, 1) == 110
    assert quotas_of(quotas, _US) == {
        "user=mirror": {_READ: 10.0, _WRITE: 5.0},
        f"client-id={_TWO}, user=mirror": {_READ: 100.0},
    }
    assert allowed_rate(quotas, _READ, Clients(None, [_ONE]), 1) == 2


@pytest.mark.parametrize(
    ("who", "words"),
    [
        ("user=mirror", "--entity-type users --entity-name mirror"),
        ("user=<default>", "--entity-type users --entity-default"),
        (f"client-id={_ONE}", f"--entity-type clients --entity-name '{_ONE}'"),
        (
            "client-id=<default>, user=CN=m,O=x",
            "--entity-type users --entity-name CN=m,O=x --entity-type clients --entity-default",
        ),
    ],
)
def test_the_command_that_raises_quotas_is_complete(who: str, words: str) -> None:
    limits = {_READ: 50_000_000.0, "controller_mutation_rate": 0.25}
    assert raising_command(who, limits, servers="a:9092", is_secured=True) == (
        "kafka-configs.sh --bootstrap-server a:9092 --command-config admin.properties --alter"
        f" --add-config {_READ}=100000000,controller_mutation_rate=0.5 {words}"
    )


class _Cluster:
    """A cluster of three brokers that tells its quotas."""

    alias = "A"
    servers = "a:9092"

    def __init__(self, quotas: dict[str, dict[str, float]] | Exception) -> None:
        self._quotas = quotas
        self.survey = SimpleNamespace(brokers=self._brokers)

    async def _brokers(self) -> list[int]:
        return [1, 2, 3]

    async def describe_client_quotas(self) -> dict[str, dict[str, float]]:
        if isinstance(self._quotas, Exception):
            raise self._quotas
        return self._quotas


async def _check(quotas: dict[str, dict[str, float]] | Exception, **properties: str) -> Check:
    cluster: Any = _Cluster(quotas)
    config = flow_of(tasks_max="2")
    ids = client_ids_on(config.flow.source, [config])
    return await quota_check(cluster, properties, ids)


async def test_quotas_of_others_are_not_told() -> None:
    check = await _check({"client-id=somebody": {_READ: 1.0}})
    assert (check.verdict, check.sentence) == (Verdict.GO, "none that limit us")


async def test_quotas_of_ours_are_told_with_what_raises_them() -> None:
    check = await _check({"user=ANONYMOUS": {_READ: 1.0}, f"client-id={_ONE}": {_WRITE: 7.0}})
    assert check.sentence == (
        f"quotas that limit us, on each broker: user=ANONYMOUS: {_READ} = 1;"
        f" client-id={_ONE}: {_WRITE} = 7"
    )
    assert [line.split()[0] for line in check.remedy.splitlines()[1:]] == ["kafka-configs.sh"] * 2
    assert "--command-config" not in check.remedy


async def test_quotas_that_are_not_told_are_not_known() -> None:
    assert (await _check(NotAuthorized("A", "no"))).verdict is Verdict.NOTE
    with pytest.raises(Unavailable):
        await _check(Unavailable("A", "no broker answers"))


async def test_a_flow_is_as_fast_as_both_its_clusters_let_it() -> None:
    source: Any = _Cluster({"client-id=<default>": {_READ: 100.0}})
    target: Any = _Cluster({"user=<default>": {_WRITE: 100.0}})
    config = flow_of(tasks_max="2")
    assert await quota_rates(config, FlowClusters(source, target)) == [600, 300]
    silent: Any = _Cluster(NotAuthorized("A", "no"))
    assert await quota_rates(config, FlowClusters(silent, silent)) == []
