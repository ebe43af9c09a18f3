"""The classes of connectors, their definitions, and validation."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from mm2.config.keys.definition import Definition
from mm2.config.keys.key_table import keys_of
from tests.support.fake_connectors import FakeConnectors
from tests.support.rest import Client, interface

CLASS = "org.apache.kafka.connect.mirror.MirrorSourceConnector"
GOOD = {"name": "n", "connector.class": CLASS, "source.cluster.alias": "A"}


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    async with interface(FakeConnectors()) as client:
        yield client


async def _validated(client: Client, config: dict[str, str], plugin: str = CLASS) -> Any:
    path = f"/connector-plugins/{plugin}/config/validate"
    status, body = await client.ask("PUT", path, json=config)
    assert status == 200, body
    return body


def _value(found: Any, key: str) -> Any:
    (value,) = [each["value"] for each in found["configs"] if each["value"]["name"] == key]
    return value


@pytest.mark.parametrize("query", ["", "?connectorsOnly=false"])
async def test_the_three_classes_are_listed(client: Client, query: str) -> None:
    found = await client.get(f"/connector-plugins{query}")
    assert found[0] == {"class": CLASS, "type": "source", "version": "4.3.0"}
    assert len(found) == 3


@pytest.mark.parametrize("name", [CLASS, "MirrorSourceConnector", "MirrorSource"])
async def test_classes_have_the_names_that_connect_allows(client: Client, name: str) -> None:
    found = await client.get(f"/connector-plugins/{name}/config")
    names = {each["name"] for each in found}
    assert names >= keys_of(Definition.SOURCE).keys() | {"flow.byte.rate.limit"}


async def test_an_unknown_class_is_404(client: Client) -> None:
    status, body = await client.ask("GET", "/connector-plugins/Nothing/config")
    assert (status, body["message"]) == (404, "Unknown plugin Nothing.")


async def test_definitions_are_connects(client: Client) -> None:
    found = await client.get("/connector-plugins/MirrorSource/config")
    (topics,) = [each for each in found if each["name"] == "topics"]
    doc = topics.pop("documentation")
    assert doc
    assert topics == {
        "name": "topics",
        "type": "LIST",
        "required": False,
        "default_value": ".*",
        "importance": "HIGH",
        "group": None,
        "order": -1,
        "width": "NONE",
        "display_name": "topics",
        "dependents": [],
    }


async def test_a_good_configuration_has_no_errors(client: Client) -> None:
    found = await _validated(client, GOOD | {"topics": "a , b,a", "tasks.max": " 4 "})
    assert (found["name"], found["error_count"]) == (CLASS, 0)
    assert _value(found, "topics")["value"] == "a,b"
    assert _value(found, "tasks.max")["value"] == "4"
    found = await _validated(client, GOOD | {"tasks.max": "auto"})
    assert (_value(found, "tasks.max")["value"], found["error_count"]) == ("auto", 0)
    assert _value(found, "enabled")["value"] == "true"


async def test_every_error_is_told_at_its_key(client: Client) -> None:
    wrong = {"connector.class": CLASS, "tasks.max": "many", "sync.topic.acls.enabled": "maybe"}
    found = await _validated(client, wrong)
    with_errors = {each["value"]["name"] for each in found["configs"] if each["value"]["errors"]}
    assert with_errors == {
        "name",
        "source.cluster.alias",
        "tasks.max",
        "sync.topic.acls.enabled",
    }
    assert found["error_count"] == 4
    assert _value(found, "tasks.max")["value"] is None


async def test_secrets_are_not_sent_back(client: Client) -> None:
    found = await _validated(client, GOOD | {"sasl.jaas.config": "s3cret", "ssl.key.password": ""})
    assert _value(found, "sasl.jaas.config")["value"] == "[hidden]"
    assert "s3cret" not in str(found)


async def test_what_java_would_not_create_is_an_error(client: Client) -> None:
    config = GOOD | {"connector.class": "MirrorCheckpoint", "emit.checkpoints.enabled": "false"}
    found = await _validated(client, config, "MirrorCheckpointConnector")
    (error,) = _value(found, "connector.class")["errors"]
    assert "checkpoints need emit.checkpoints.enabled" in error


async def test_a_configuration_of_another_class_is_400(client: Client) -> None:
    path = "/connector-plugins/MirrorHeartbeat/config/validate"
    assert (await client.ask("PUT", path, json=GOOD))[0] == 400
    assert (await client.ask("PUT", path, json={}))[0] == 400
