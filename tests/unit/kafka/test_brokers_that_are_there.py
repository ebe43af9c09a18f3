"""Whether a broker can be there at all."""

from __future__ import annotations

import asyncio

from mm2.demo.broker_settings import free_ports
from mm2.kafka.flow_clusters import all_ports_closed


async def test_where_all_addresses_refuse_connections_nobody_listens() -> None:
    server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        (free,) = free_ports(1)
        refused, answered = f"127.0.0.1:{free}", f"PLAINTEXT://127.0.0.1:{port}"
        assert await all_ports_closed(refused)
        assert not await all_ports_closed(f"{refused}, {answered}")


async def test_an_address_that_cannot_be_found_says_nothing() -> None:
    assert not await all_ports_closed("nowhere.invalid:9092")
    assert not await all_ports_closed("no address")
