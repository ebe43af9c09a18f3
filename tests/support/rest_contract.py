"""What holds over REST for connectors of any dedicated node, real ones or those in memory."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from tests.support.eventually import eventually_async
from tests.support.rest import Client

VERBS = {"pause": 202, "resume": 202, "stop": 204}


async def check_connectors(client: Client, name: str, where: dict[str, Any]) -> None:
    """
    Asks all that does not depend on whether somebody runs the flow.

    Args:
        client: of the interface.
        name: a connector with positions, which wants to run and is not altered.
        where: one of its source's partitions, with at least two records.
    """
    path = f"/connectors/{quote(name, safe='')}"
    assert name in await client.get("/connectors")
    await _check_that_it_is_shown(client, name, path)
    await _check_that_strangers_are_not_found(client)
    await _check_that_it_is_altered(client, path)
    await _check_what_is_refused(client, path)
    await _check_that_it_is_moved(client, path, where)


async def _check_that_it_is_shown(client: Client, name: str, path: str) -> None:
    info = await client.get(path)
    assert (info["name"], info["type"], info["config"]["name"]) == (name, "source", name)
    assert info["config"] == await client.get(f"{path}/config")
    assert "[hidden]" in info["config"].values()
    status = await client.get(f"{path}/status")
    assert (status["name"], status["type"]) == (name, "source")
    assert (await client.get("/connectors?expand=info"))[name] == {"info": info}
    assert (await client.get(f"{path}/topics")).keys() == {name}


async def _check_that_strangers_are_not_found(client: Client) -> None:
    for method, part in (
        ("GET", ""),
        ("GET", "/config"),
        ("GET", "/status"),
        ("GET", "/tasks"),
        ("GET", "/topics"),
        ("GET", "/offsets"),
        ("POST", "/restart"),
        ("PUT", "/pause"),
        ("PUT", "/topics/reset"),
        ("DELETE", "/offsets"),
        ("DELETE", ""),
    ):
        status, body = await client.ask(method, f"/connectors/nobody{part}")
        assert (status, body["message"]) == (404, "Connector nobody not found"), (method, part)


async def _check_that_it_is_altered(client: Client, path: str) -> None:
    async def put(config: dict[str, str]) -> Any:
        status, body = await client.ask("PUT", f"{path}/config", json=config)
        assert status == 200, body
        assert body["config"] == await client.get(f"{path}/config")
        return body["config"]

    config = await client.get(f"{path}/config")
    assert await put(config) == config
    limited = {**config, "flow.byte.rate.limit": "1000"}
    assert await put(limited) == limited
    assert await put(config) == config, "what is left out is as the file says"
    changes = {"topics": None, "flow.byte.rate.limit": "7"}
    status, body = await client.ask("PATCH", f"{path}/config", json=changes)
    assert (status, body["config"]["flow.byte.rate.limit"]) == (200, "7")
    assert "topics" not in body["config"]
    assert await put(config) == config


async def _check_what_is_refused(client: Client, path: str) -> None:
    config = await client.get(f"{path}/config")
    for change in ({"connector.class": "Other"}, {"topics": "[hidden]"}, {"name": "other"}):
        status, body = await client.ask("PUT", f"{path}/config", json={**config, **change})
        assert status == 400, body
    assert await client.get(f"{path}/config") == config
    new = {"name": "new", "config": {"connector.class": "MirrorSource"}}
    assert (await client.ask("POST", "/connectors", json=new))[0] == 400
    assert (await client.ask("DELETE", path))[0] == 400
    assert (await client.ask("PUT", f"{path}/topics/reset"))[0] == 403
    assert (await client.ask("POST", f"{path}/tasks/99/restart"))[0] == 404


async def _check_that_it_is_moved(client: Client, path: str, where: dict[str, Any]) -> None:
    async def granted(method: str, **options: Any) -> bool:
        status, body = await client.ask(method, f"{path}/offsets", **options)
        assert status == 200, body
        assert body["message"].endswith(" successfully")
        return True

    asked = {"offsets": [{"partition": where, "offset": {"offset": 1}}]}
    for verb in ("resume", "pause"):
        assert await client.ask("PUT", f"{path}/{verb}") == (VERBS[verb], None)
        for method, options in (("PATCH", {"json": asked}), ("DELETE", {})):
            status, body = await client.ask(method, f"{path}/offsets", **options)
            assert status == 400, body
            assert body["message"].startswith("Connectors must be in the STOPPED state")
    assert await client.ask("PUT", f"{path}/stop") == (VERBS["stop"], None)
    await eventually_async(lambda: granted("PATCH", json=asked))
    assert await client.get(f"{path}/offsets") == asked
    malformed: list[object] = [[{}], 7, [{"partition": where}]]
    for wrong in malformed:
        assert (await client.ask("PATCH", f"{path}/offsets", json={"offsets": wrong}))[0] == 400
    await granted("DELETE")
    assert await client.get(f"{path}/offsets") == {"offsets": []}
    assert await client.ask("PUT", f"{path}/resume") == (VERBS["resume"], None)
