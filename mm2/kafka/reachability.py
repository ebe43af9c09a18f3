"""
Tells a cluster of which no broker runs from one that is slow to answer.

Clients try a refused connection again and again, for a broker may just be starting. Who asks only
whether a cluster is there need not wait that long.
"""

from __future__ import annotations

import asyncio
from typing import Final

_WITHIN_S: Final = 1.0


async def all_ports_closed(servers: str) -> bool:
    """
    Whether all addresses refuse connections, as hosts do on which no broker runs.

    An address that does not answer, or that cannot be found, says nothing.

    Args:
        servers: as in ``bootstrap.servers``.
    """
    return all(await asyncio.gather(*map(_refuses, servers.split(","))))


async def _refuses(address: str) -> bool:
    host, _, port = address.strip().rpartition("://")[2].rpartition(":")
    try:
        async with asyncio.timeout(_WITHIN_S):
            _, writer = await asyncio.open_connection(host.strip("[]"), int(port))
    except ConnectionRefusedError:
        return True
    except (OSError, ValueError):
        return False
    writer.close()
    return False
