"""Requests made up from the description of the REST interface are answered as it says."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis import checks
from schemathesis.specs.openapi import checks as openapi_checks

from mm2.rest.openapi import ROUTES, description
from tests.support.fake_connectors import FakeConnectors
from tests.support.rest import interface

EXAMPLES = 5
CHECKS = [
    checks.not_a_server_error,
    openapi_checks.status_code_conformance,
    openapi_checks.content_type_conformance,
    openapi_checks.response_schema_conformance,
]

schema = schemathesis.openapi.from_dict(description(ROUTES))


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """Where the interface is served, in a thread of its own."""
    urls: list[str] = []
    is_up, is_over = threading.Event(), threading.Event()

    async def serve() -> None:
        async with interface(FakeConnectors()) as client:
            urls.append(client.url)
            is_up.set()
            await asyncio.to_thread(is_over.wait)

    thread = threading.Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    try:
        assert is_up.wait(30)
        yield urls[0]
    finally:
        is_over.set()
        thread.join()


@schema.parametrize()
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
def test_answers_are_as_described(case: schemathesis.Case[Any], url: str) -> None:
    case.call_and_validate(base_url=url, checks=CHECKS, timeout=30)
