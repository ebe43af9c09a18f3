"""The description of the REST interface, for programs and for people."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

from mm2.rest.openapi import ROUTES, description, reference_page
from mm2.rest.schemas import SCHEMAS
from tests.support.fake_connectors import FakeConnectors
from tests.support.rest import interface

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "rest.md"
REFERENCE = re.compile(r'"#/components/schemas/(\w+)"')


def _operations() -> Iterator[dict[str, object]]:
    for operations in description(ROUTES)["paths"].values():  # type: ignore[attr-defined]
        yield from operations.values()


async def test_it_is_served() -> None:
    async with interface(FakeConnectors()) as client:
        assert await client.get("/openapi.json") == description(ROUTES)


def test_every_route_is_in_it_under_a_name_of_its_own() -> None:
    names = [operation["operationId"] for operation in _operations()]
    assert len(names) == len(set(names)) == len(ROUTES)


def test_every_schema_is_there_and_used() -> None:
    used = set(REFERENCE.findall(json.dumps(description(ROUTES))))
    assert used == SCHEMAS.keys()


def test_the_page_of_the_reference_is_up_to_date() -> None:
    assert PAGE.read_text() == reference_page(), "run scripts/generate-docs"
