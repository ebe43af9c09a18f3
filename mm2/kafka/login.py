"""
Why a cluster does not let aiokafka in.

Its clients log a refused log-in and go on to the next bootstrap server; what they raise in the end
is the same as when nobody is there. So when they fail, one connection is tried again to learn why.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Mapping
from typing import Final

from aiokafka.conn import collect_hosts, create_conn

from mm2.errors import AuthenticationFailed, ClusterError
from mm2.kafka.errors import translated

_WITHIN_S: Final = 5.0
_OF_CONNECTION: Final = frozenset(
    {"client_id", "request_timeout_ms", "ssl_context", "security_protocol"}
)


async def raise_if_refused(alias: str, settings: Mapping[str, object]) -> None:
    """
    Connects to each bootstrap server in turn, until one says whether it lets us in.

    Args:
        alias: the cluster's, for messages.
        settings: aiokafka's (``mm2.kafka.settings.aiokafka_settings``).

    Raises:
        AuthenticationFailed: our credentials are refused, or the server's certificate is not one
            that we trust.
    """
    options = {
        key: value
        for key, value in settings.items()
        if key in _OF_CONNECTION or key.startswith("sasl_")
    }
    for host, port, _ in collect_hosts(settings["bootstrap_servers"]):
        if await _says(alias, host, port, options):
            return


async def _says(alias: str, host: str, port: int, options: Mapping[str, object]) -> bool:
    """Tells whether the server lets us in; False if it does not answer."""
    try:
        with translated(alias, f"log in at {host}:{port}"):
            async with asyncio.timeout(_WITHIN_S):
                connection = await create_conn(host, port, **options)
    except AuthenticationFailed:
        raise
    except ClusterError as error:
        cause = error.__cause__
        if isinstance(cause, ssl.SSLCertVerificationError):
            message = f"the certificate of {host}:{port} is not trusted: {cause.verify_message}"
            raise AuthenticationFailed(alias, message) from error
        return False
    await connection.close()
    return True
