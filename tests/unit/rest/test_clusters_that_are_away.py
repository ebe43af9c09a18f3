"""What a node says over REST of clusters that refuse connections, and of those that are silent."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from mm2.driver.flows_of_file import load_flows
from mm2.herder.view.followed_flows import FollowedFlows
from mm2.rest.flow_connectors import FlowConnectors
from tests.support.rest import Client, interface


@pytest.fixture
def silent() -> Iterator[str]:
    """An address where connections are taken, and nothing is answered."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


@pytest.fixture
async def client(tmp_path: Path, silent: str) -> AsyncIterator[Client]:
    file = tmp_path / "mm2.properties"
    file.write_text(
        "clusters = A, B\nA->B.enabled = true\nB->A.enabled = true\n"
        f"A.bootstrap.servers = 127.0.0.1:1\nB.bootstrap.servers = {silent}\n"
    )
    flows = load_flows(file, None)
    async with asyncio.TaskGroup() as tasks:
        views = FollowedFlows(tasks, idle_s=0)
        async with interface(FlowConnectors(lambda: flows, views)) as found:
            yield found


async def test_the_node_is_well_and_not_ready(client: Client, silent: str) -> None:
    assert (await client.get("/health"))["status"] == "healthy"
    status, body = await client.ask("GET", "/health/ready")
    refused = "cluster A: no answer: 127.0.0.1:1 refuses connections"
    quiet = f"cluster B: ask for its id: no answer from {silent} within 4 s"
    assert (status, body["status"]) == (503, "not ready")
    assert {each["cluster"]: each["reason"] for each in body["clusters"]} == {
        "A": refused,
        "B": quiet,
    }
    assert {each["flow"]: each["ready"] for each in body["flows"]} == {"A->B": False, "B->A": False}
    assert {refused, quiet} == {*body["message"].split("; ")}


async def test_the_list_of_connectors_says_why_their_targets_do_not_answer(
    client: Client, silent: str
) -> None:
    """It used to wait for half a minute, and then to know nothing."""
    found = await client.get("/connectors?expand=status")
    traces = {name: each["status"]["connector"]["trace"] for name, each in found.items()}
    assert len(traces) == 6
    for name, trace in traces.items():
        expected = f"no answer from {silent}" if name.startswith("A->B") else "refuses connections"
        assert expected in trace, name
