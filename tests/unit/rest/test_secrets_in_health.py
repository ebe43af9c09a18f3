"""What /health and /health/ready say hides what config providers have read."""

from __future__ import annotations

import pytest

from mm2.config.text.expressions import RESOLVED
from mm2.rest.connector_protocol import Readiness
from tests.support.fake_connectors import FakeConnectors
from tests.support.rest import interface

_SECRET = "pas"


class _NotReady(FakeConnectors):
    """Neither its flow nor its cluster is ready, for reasons that quote a secret."""

    async def readiness(self, only: str | None) -> Readiness:
        """Whatever is asked for."""
        del only
        flow, cluster = f"no login: password='{_SECRET}'", f"cluster B: {_SECRET}@b is away"
        return Readiness(flows={"A->B": flow}, clusters={("B", f"{_SECRET}@b:9092"): cluster})


@pytest.fixture(autouse=True)
def _resolved() -> None:
    RESOLVED.remember(_SECRET, "${env:PW}")


async def test_reasons_and_addresses_of_what_is_not_ready_show_expressions() -> None:
    async with interface(_NotReady()) as client:
        status, body = await client.ask("GET", "/health/ready")
    flow, cluster = "no login: password='${env:PW}'", "cluster B: ${env:PW}@b is away"
    assert status == 503
    assert body["message"] == f"{cluster}; {flow}"
    assert [each["reason"] for each in body["flows"]] == [flow]
    assert [(each["servers"], each["reason"]) for each in body["clusters"]] == [
        ("${env:PW}@b:9092", cluster)
    ]


@pytest.mark.parametrize("path", ["/health", "/health/ready"])
async def test_why_a_worker_is_still_starting_shows_expressions(path: str) -> None:
    async with interface(_NotReady(), starting=f"no login with {_SECRET}") as client:
        status, body = await client.ask("GET", path)
    assert status == 503
    assert body["message"] == "Worker is still starting up: no login with ${env:PW}."
