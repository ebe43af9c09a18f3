"""TLS to ZooKeeper with the key stores that Kafka's clients have."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Mapping
from typing import Any, Self

from kazoo.handlers.threading import SequentialThreadingHandler

from mm2.kafka.security.tls import tls_context


class TlsHandler(SequentialThreadingHandler):
    """
    Connects with a context of ours: kazoo's own reads neither PKCS12 nor JKS.

    Attributes:
        trouble: why the last connection came to nothing.
    """

    def __init__(self, context: ssl.SSLContext) -> None:
        super().__init__()
        self._context = context
        self.trouble = ""

    @classmethod
    def of(cls, tls: Mapping[str, str] | None) -> Self | None:
        """
        A client's handler.

        Args:
            tls: ``ssl.*`` keys as clients of Kafka have them; None connects without TLS.

        Raises:
            ConfigError: they cannot be used.
        """
        return None if tls is None else cls(tls_context(tls))

    def create_connection(
        self,
        address: tuple[str, int],
        hostname: str | None = None,
        timeout: float | None = None,
        **_: Any,
    ) -> ssl.SSLSocket:
        """As kazoo's, but with TLS whatever kazoo has been told."""
        plain = socket.create_connection(address, timeout)
        try:
            secured = self._context.wrap_socket(plain, server_hostname=hostname)
        except OSError as error:
            plain.close()
            self.trouble = str(error)
            raise
        self.trouble = ""
        return secured
