"""What Connect's clients ask of connectors, and what they are answered."""

from __future__ import annotations

import io
from collections.abc import AsyncIterator

import pytest

from mm2.errors import Unavailable
from mm2.rest.connector_protocol import ConnectorStatus, TaskTarget
from tests.support.fake_connectors import HEARTBEAT, SOURCE, FakeConnectors
from tests.support.rest import Client, interface

ONE = "/connectors/A-%3EB.MirrorSourceConnector"


@pytest.fixture
def connectors() -> FakeConnectors:
    return FakeConnectors()


@pytest.fixture
async def client(connectors: FakeConnectors) -> AsyncIterator[Client]:
    async with interface(connectors) as client:
        yield client


async def test_root_names_the_release_of_connect_and_the_cluster(client: Client) -> None:
    found = await client.get("/")
    assert found["version"] == "4.3.0"
    assert found["commit"].startswith("mm2-")
    assert found["kafka_cluster_id"] == "abcdefghijklmnopqrstuv"


async def test_connectors_are_listed_by_name(client: Client) -> None:
    assert await client.get("/connectors") == [SOURCE, HEARTBEAT]


@pytest.mark.parametrize("expand", ["status", "info"])
async def test_the_list_can_be_expanded(client: Client, expand: str) -> None:
    found = await client.get(f"/connectors?expand={expand}&expand=nonsense")
    assert found.keys() == {SOURCE, HEARTBEAT}
    assert found[SOURCE].keys() == {expand}


async def test_an_expanded_list_has_what_the_single_questions_answer(client: Client) -> None:
    found = await client.get("/connectors?expand=status&expand=info")
    assert found[SOURCE] == {
        "status": await client.get(f"{ONE}/status"),
        "info": await client.get(ONE),
    }


async def test_a_cluster_that_is_away_leaves_the_others_in_the_list() -> None:
    async with interface(_OneAway()) as client:
        found = await client.get("/connectors?expand=status&expand=info")
        assert found[SOURCE]["status"] == await client.get(f"{ONE}/status")
    assert found[HEARTBEAT]["status"]["connector"]["state"] == "UNASSIGNED"
    assert "no answer" in found[HEARTBEAT]["status"]["connector"]["trace"]
    assert found[HEARTBEAT]["info"]["config"] == {"name": HEARTBEAT}


class _OneAway(FakeConnectors):
    """Connectors of which one cannot be seen."""

    async def status(self, name: str) -> ConnectorStatus:
        if name == HEARTBEAT:
            raise Unavailable("C", "no answer")
        return await super().status(name)


@pytest.mark.parametrize(
    "written",
    [
        "A-%3EB.MirrorSourceConnector",
        "A->B.MirrorSourceConnector",
        "A%2D%3EB%2EMirrorSourceConnector",
        "A-%3eB.MirrorSourceConnector/",
    ],
)
async def test_names_may_be_encoded_or_not(client: Client, written: str) -> None:
    assert (await client.get(f"/connectors/{written}"))["name"] == SOURCE


async def test_a_connector_shows_its_configuration_and_tasks(client: Client) -> None:
    found = await client.get(ONE)
    assert found["type"] == "source"
    assert found["tasks"] == [{"connector": SOURCE, "task": 0}]
    assert found["config"] == await client.get(f"{ONE}/config")
    assert found["config"]["source.cluster.sasl.jaas.config"] == "[hidden]"


async def test_status_is_connects(client: Client, connectors: FakeConnectors) -> None:
    connectors.found[SOURCE].failed[1] = "Traceback"
    assert await client.get(f"{ONE}/status") == {
        "name": SOURCE,
        "connector": {"state": "RUNNING", "worker_id": "w"},
        "tasks": [
            {"id": 0, "state": "RUNNING", "worker_id": "w"},
            {"id": 1, "state": "FAILED", "worker_id": "w", "trace": "Traceback"},
        ],
        "type": "source",
    }
    assert (await client.get(f"{ONE}/tasks/1/status"))["trace"] == "Traceback"


async def test_tasks_have_ids_and_configurations(client: Client) -> None:
    (task,) = await client.get(f"{ONE}/tasks")
    assert task["id"] == {"connector": SOURCE, "task": 0}
    assert task["config"]["source.cluster.alias"] == "A"


@pytest.mark.parametrize(
    ("verb", "target", "status"),
    [
        ("pause", TaskTarget.PAUSED, 202),
        ("resume", TaskTarget.RUNNING, 202),
        ("stop", TaskTarget.STOPPED, 204),
    ],
)
async def test_connectors_are_steered(
    client: Client, connectors: FakeConnectors, verb: str, target: TaskTarget, status: int
) -> None:
    connectors.found[SOURCE].target = TaskTarget.PAUSED
    assert await client.ask("PUT", f"{ONE}/{verb}") == (status, None)
    assert connectors.found[SOURCE].target is target


async def test_a_plain_restart_has_no_body(client: Client, connectors: FakeConnectors) -> None:
    assert await client.ask("POST", f"{ONE}/restart") == (204, None)
    assert connectors.found[SOURCE].restarts == [None]


async def test_a_restart_of_what_failed_answers_the_state(
    client: Client, connectors: FakeConnectors
) -> None:
    connectors.found[SOURCE].failed[3] = "Traceback"
    status, body = await client.ask("POST", f"{ONE}/restart?includeTasks=TRUE&onlyFailed=true")
    assert (status, body["name"]) == (202, SOURCE)
    assert connectors.found[SOURCE].restarts == [3]


async def test_one_task_is_restarted(client: Client, connectors: FakeConnectors) -> None:
    assert await client.ask("POST", f"{ONE}/tasks/0/restart") == (204, None)
    assert connectors.found[SOURCE].restarts == [0]


async def test_a_configuration_that_comes_back_changes_nothing(
    client: Client, connectors: FakeConnectors
) -> None:
    config = await client.get(f"{ONE}/config")
    status, body = await client.ask("PUT", f"{ONE}/config", json=config)
    assert (status, body["config"]) == (200, config)
    assert connectors.found[SOURCE].altered == {}


async def test_what_differs_is_altered(client: Client, connectors: FakeConnectors) -> None:
    config = await client.get(f"{ONE}/config")
    changed = {**config, "topics": "u", "tasks.max": 4, "sync.topic.acls.enabled": False}
    status, body = await client.ask("PUT", f"{ONE}/config", json=changed)
    assert (status, body["config"]["topics"]) == (200, "u")
    assert connectors.found[SOURCE].altered == {
        "topics": "u",
        "tasks.max": "4",
        "sync.topic.acls.enabled": "false",
    }


async def test_single_keys_are_patched(client: Client, connectors: FakeConnectors) -> None:
    status, body = await client.ask("PATCH", f"{ONE}/config", json={"topics": None, "x": "1"})
    assert (status, body["config"]["x"]) == (200, "1")
    assert connectors.found[SOURCE].altered == {"topics": None, "x": "1"}


async def test_offsets_are_shown_in_connects_form(client: Client) -> None:
    assert await client.get(f"{ONE}/offsets") == {
        "offsets": [
            {"partition": {"cluster": "A", "partition": 0, "topic": "t"}, "offset": {"offset": 41}}
        ]
    }


async def test_offsets_of_a_connector_that_is_not_stopped_cannot_be_altered(
    client: Client, connectors: FakeConnectors
) -> None:
    document: dict[str, object] = {"offsets": [{"partition": {}, "offset": None}]}
    for method, body in (("PATCH", {"json": document}), ("DELETE", {})):
        status, answer = await client.ask(method, f"{ONE}/offsets", **body)
        assert status == 400
        assert answer["message"].startswith("Connectors must be in the STOPPED state")
    assert connectors.found[SOURCE].offsets


async def test_offsets_are_altered_and_reset(client: Client, connectors: FakeConnectors) -> None:
    connectors.found[SOURCE].target = TaskTarget.STOPPED
    document: dict[str, object] = {
        "offsets": [
            {"partition": {"cluster": "A", "topic": "t", "partition": 1}, "offset": {"offset": 7}}
        ]
    }
    status, body = await client.ask("PATCH", f"{ONE}/offsets", json=document)
    assert (status, body["message"]) == (
        200,
        "The offsets for this connector have been altered successfully",
    )
    assert (await client.get(f"{ONE}/offsets")) == document
    assert (await client.ask("DELETE", f"{ONE}/offsets"))[0] == 200
    assert (await client.get(f"{ONE}/offsets")) == {"offsets": []}


async def test_topics_are_listed(client: Client) -> None:
    assert await client.get(f"{ONE}/topics") == {SOURCE: {"topics": ["A.t"]}}


@pytest.mark.parametrize(
    ("method", "path", "message"),
    [
        ("GET", "/connectors/nobody", "Connector nobody not found"),
        ("GET", "/connectors/nobody/status", "Connector nobody not found"),
        ("PUT", "/connectors/nobody/pause", "Connector nobody not found"),
        ("POST", f"{ONE}/tasks/7/restart", f"Unknown task: {SOURCE}-7"),
        ("GET", f"{ONE}/tasks/7/status", f"No status found for task {SOURCE}-7"),
        ("GET", f"{ONE}/tasks/x/status", "HTTP 404 Not Found"),
        ("GET", "/nothing", "HTTP 404 Not Found"),
        ("GET", f"{ONE}/tasks-config", "HTTP 404 Not Found"),
    ],
)
async def test_what_is_not_there_is_404(
    client: Client, method: str, path: str, message: str
) -> None:
    assert await client.ask(method, path) == (404, {"error_code": 404, "message": message})


async def test_a_wrong_method_is_405(client: Client) -> None:
    status, body = await client.ask("POST", f"{ONE}/status")
    assert (status, body) == (
        405,
        {"error_code": 405, "message": "HTTP 405 Method Not Allowed"},
    )


async def test_options_tell_the_methods(client: Client) -> None:
    async with client.session.options(f"{client.url}/connectors") as response:
        assert response.status == 200
        assert response.headers["Allow"] == "GET,HEAD,POST"


async def test_head_is_answered_like_get(client: Client) -> None:
    assert (await client.ask("HEAD", "/connectors"))[0] == 200


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'"text"',
        b'{"topics": ["a"]}',
        b'{"topics": {}}',
        b'{"topics": NaN}',
        b'{"topics": "\\ud800"}',
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"topics": ' + b"9" * 5000 + b"}",
    ],
)
async def test_malformed_bodies_are_400(client: Client, body: bytes) -> None:
    headers = {"Content-Type": "application/json"}
    for method, path in (
        ("PUT", f"{ONE}/config"),
        ("PATCH", f"{ONE}/config"),
        ("PATCH", f"{ONE}/offsets"),
        ("POST", "/connectors"),
        ("PUT", "/connector-plugins/MirrorSource/config/validate"),
        ("PUT", "/admin/loggers/root"),
    ):
        status, answer = await client.ask(method, path, data=body, headers=headers)
        assert status == 400, (method, path, answer)
        assert answer["error_code"] == 400


async def test_a_body_that_is_not_said_to_be_json_is_415(client: Client) -> None:
    status, body = await client.ask("PUT", f"{ONE}/config", data=b"topics=t")
    assert (status, body["error_code"]) == (415, 415)


async def test_a_body_that_is_too_long_is_413(client: Client) -> None:
    body = io.BytesIO(b'{"topics": "' + b"t" * 2_000_000 + b'"}')
    headers = {"Content-Type": "application/json"}
    assert (await client.ask("PUT", f"{ONE}/config", data=body, headers=headers))[0] == 413


async def test_the_name_in_a_configuration_must_be_that_of_the_url(client: Client) -> None:
    status, body = await client.ask("PUT", f"{ONE}/config", json={"name": "other"})
    assert (status, body["message"]) == (
        400,
        f"Connector name configuration (other) doesn't match connector name in the URL ({SOURCE})",
    )


async def test_a_cluster_that_does_not_answer_is_503(
    client: Client, connectors: FakeConnectors
) -> None:
    connectors.is_reachable = False
    assert await client.ask("GET", "/connectors") == (
        503,
        {"error_code": 503, "message": "cluster B: no answer"},
    )


async def test_a_worker_that_does_not_know_its_connectors_yet_says_so() -> None:
    """Clients used to wait for an answer, and probes with them (KIP-1017)."""
    async with interface(FakeConnectors(), starting="others are in the group") as client:
        status, body = await client.ask("GET", "/health")
        assert (status, body["status"]) == (503, "starting")
        assert "others are in the group" in body["message"]
        status, body = await client.ask("GET", "/health/ready")
        assert (status, body["status"]) == (503, "starting")
        for method, path in (("GET", "/connectors"), ("GET", f"{ONE}/config")):
            status, body = await client.ask(method, path)
            assert (status, body["error_code"]) == (503, 503)
            assert "others are in the group" in body["message"]
        assert await client.get("/connector-plugins")


async def test_a_cluster_that_is_away_makes_a_node_unready_and_not_ill(
    client: Client, connectors: FakeConnectors
) -> None:
    """As a liveness probe, /health used to have nodes ended that could do nothing about it."""
    assert (await client.get("/health/ready"))["status"] == "ready"
    connectors.is_reachable = False
    assert (await client.get("/health"))["status"] == "healthy"
    status, body = await client.ask("GET", "/health/ready?flow=A-%3EB")
    assert (status, body) == (
        503,
        {
            "status": "not ready",
            "message": "cluster B: no answer",
            "flows": [{"flow": "A->B", "ready": False, "reason": "cluster B: no answer"}],
            "clusters": [
                {
                    "cluster": "B",
                    "servers": "b:9092",
                    "ready": False,
                    "reason": "cluster B: no answer",
                }
            ],
        },
    )
    assert (await client.ask("GET", "/health/ready?flow=nobody"))[0] == 404


async def test_what_nobody_expects_is_500_and_told_to_the_log(
    client: Client, connectors: FakeConnectors
) -> None:
    connectors.found[SOURCE].offsets = None  # type: ignore[assignment]  # what cannot be
    assert (await client.ask("GET", f"{ONE}/offsets"))[0] == 500
