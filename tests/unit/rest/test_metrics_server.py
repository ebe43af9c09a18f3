"""Metrics of programs without a REST interface."""

from __future__ import annotations

import socket

import aiohttp
import pytest

from mm2.errors import FatalError
from mm2.rest.metrics_server import metrics_served

HOST = "127.0.0.1"


def free_port() -> int:
    with socket.socket() as found:
        found.bind((HOST, 0))
        return int(found.getsockname()[1])


async def test_metrics_are_answered_and_nothing_else() -> None:
    port = free_port()
    async with (
        metrics_served((HOST, port), lambda: "up 1\n"),
        aiohttp.ClientSession(f"http://{HOST}:{port}") as client,
    ):
        async with client.get("/metrics") as answer:
            assert await answer.text() == "up 1\n"
            assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
        async with client.get("/connectors") as answer:
            assert answer.status == 404


async def test_a_port_that_is_taken_is_named() -> None:
    with socket.socket() as taken:
        taken.bind((HOST, 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(FatalError, match=f"--metrics.listener {HOST}:{port} cannot be had"):
            async with metrics_served((HOST, port), str):
                pass
