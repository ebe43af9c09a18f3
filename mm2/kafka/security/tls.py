"""TLS settings in Java's names as contexts of Python's."""

from __future__ import annotations

import secrets
import ssl
import tempfile
from collections.abc import Callable, Mapping
from typing import Final

from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)

from mm2.errors import ConfigError
from mm2.kafka.security.keystores import Identity, own_identity, trusted_certificates
from mm2.kafka.security.tls_limits import tls_limits


def tls_context(properties: Mapping[str, str]) -> ssl.SSLContext:
    """
    A context of Python's for the asyncio client.

    Raises:
        ConfigError: stores that cannot be read, no usable version of TLS.
    """
    trusted = trusted_certificates(properties)
    try:
        context = ssl.create_default_context(cadata=trusted)
    except ssl.SSLError as error:
        raise _not_trusted(error) from error
    context.check_hostname = checks_host_names(properties)
    tls_limits(properties).apply(context)
    if identity := own_identity(properties):
        _load(context, identity)
    return context


_CLIENT_AUTH: Final = {
    "none": ssl.CERT_NONE,
    "requested": ssl.CERT_OPTIONAL,
    "required": ssl.CERT_REQUIRED,
}


def server_tls_context(properties: Mapping[str, str], *, client_auth: str) -> ssl.SSLContext:
    """
    A context of Python's for a server of ours.

    Args:
        client_auth: "none", "requested" or "required" certificates of clients.

    Raises:
        ConfigError: stores that cannot be read, no certificate, no usable version of TLS.
    """
    identity = own_identity(properties)
    if identity is None:
        message = "TLS needs a certificate: name it in ssl.keystore.location."
        raise ConfigError(message, key="ssl.keystore.location")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls_limits(properties).apply(context)
    _load(context, identity)
    context.verify_mode = _CLIENT_AUTH[client_auth]
    if trusted := trusted_certificates(properties):
        try:
            context.load_verify_locations(cadata=trusted)
        except ssl.SSLError as error:
            raise _not_trusted(error) from error
    return context


def tls_parts(properties: Mapping[str, str]) -> list[Callable[[Mapping[str, str]], object]]:
    """
    What to call with the settings to hear of all mistakes in them.

    Stores are opened once where nothing is wrong, for that takes long.
    """
    try:
        tls_context(properties)
    except ConfigError:
        parts: list[Callable[[Mapping[str, str]], object]] = [
            checks_host_names,
            tls_limits,
            trusted_certificates,
            own_identity,
        ]
        return [*parts, tls_context]
    return []


def checks_host_names(properties: Mapping[str, str]) -> bool:
    """
    Whether a broker's name must stand in its certificate; an empty setting switches it off.

    Raises:
        ConfigError: the setting is neither empty nor https, of which Java knows only LDAPS more.
    """
    key = "ssl.endpoint.identification.algorithm"
    algorithm = properties.get(key, "https").strip()
    if algorithm.lower() not in {"", "https"}:
        message = f"{key}={algorithm} is not supported: write https, or nothing to check no names."
        raise ConfigError(message, key=key, value=algorithm)
    return bool(algorithm)


def _not_trusted(error: ssl.SSLError) -> ConfigError:
    key = "ssl.truststore.certificates"
    return ConfigError(f"{key} holds what is no certificate: {error.reason or error}.", key=key)


def _load(context: ssl.SSLContext, identity: Identity) -> None:
    """Python reads keys from files only: the file is short-lived, and its key encrypted."""
    password = secrets.token_urlsafe(24)
    key = load_pem_private_key(identity.key.encode(), None).private_bytes(
        Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(password.encode())
    )
    with tempfile.NamedTemporaryFile(prefix="mm2-") as file:
        file.write(key + identity.chain.encode())
        file.flush()
        try:
            context.load_cert_chain(file.name, password=password)
        except ssl.SSLError as error:
            named = "ssl.keystore.location"
            message = f"the private key and the certificate of {named} do not fit: {error.reason}."
            raise ConfigError(message, key=named) from error
