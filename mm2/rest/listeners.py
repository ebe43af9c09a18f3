"""
Binds ports and loads TLS and password files before start-up, so errors surface early.

Imports no HTTP library, which takes long and can wait until flows run.
"""

from __future__ import annotations

import ssl
from collections.abc import Sequence
from dataclasses import dataclass, replace

from mm2.config.rest_settings import RestSettings
from mm2.kafka.security.tls import server_tls_context
from mm2.rest.cors import Origins
from mm2.rest.passwords import Passwords
from mm2.rest.sockets import Bound, bind


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSetup:
    """
    Where requests come in, and who is let in.

    Attributes:
        settings: as the user has them.
        bound: the ports; none if none was to be had.
        tls: of https listeners; None if there are none.
        passwords: of those who may come in; None lets everybody in.
        origins: of the web pages that may.
    """

    settings: RestSettings
    bound: Sequence[Bound] = ()
    tls: ssl.SSLContext | None = None
    passwords: Passwords | None = None
    origins: Origins


def prepare(settings: RestSettings) -> ServerSetup:
    """
    Takes the ports, and reads the files that the settings name.

    Raises:
        FatalError: a listener that was asked for cannot be had.
        ConfigError: stores of certificates, passwords or patterns of origins cannot be used.
    """
    return replace(read_files(settings), bound=bind(settings))


def read_files(settings: RestSettings) -> ServerSetup:
    """
    Reads the files that the settings name, and takes no port.

    Raises:
        ConfigError: stores of certificates, passwords or patterns of origins cannot be used.
    """
    passwords = Passwords.of_file(settings.passwords_file) if settings.passwords_file else None
    origins = Origins(settings.origins, settings.methods)
    return ServerSetup(settings=settings, tls=_tls(settings), passwords=passwords, origins=origins)


def _tls(settings: RestSettings) -> ssl.SSLContext | None:
    if all(listener.scheme == "http" for listener in settings.listeners):
        return None
    return server_tls_context(settings.tls, client_auth=settings.client_auth)
