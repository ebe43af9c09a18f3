"""
Java's key stores and trust stores as PEM, which both client libraries read.

PEM, PKCS12 and JKS. A file's first bytes tell PKCS12 from JKS, whatever the type says: the JVM
reads either under both names.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)
from cryptography.hazmat.primitives.serialization.pkcs12 import (
    PKCS12KeyAndCertificates,
    load_pkcs12,
)

from mm2.errors import ConfigError
from mm2.kafka.security import jks

_BLOCK: Final = re.compile(r"-----BEGIN ([A-Z0-9 ]+)-----(.*?)-----END \1-----", re.DOTALL)
_LINE: Final = 64


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Identity:
    """
    What we show to a broker; does not print itself.

    Attributes:
        key: the private key in PEM, not encrypted.
        chain: our certificate in PEM, then those that vouch for it.
    """

    key: str
    chain: str


def trusted_certificates(properties: Mapping[str, str]) -> str | None:
    """
    The certificates to trust (``ssl.truststore.*``) in PEM; None leaves it to the system's.

    Raises:
        ConfigError: a file that cannot be read, a wrong password, contradicting keys.
    """
    inline = properties.get("ssl.truststore.certificates")
    location = properties.get("ssl.truststore.location")
    _check_inline(properties, "ssl.truststore", "certificates", inline, location)
    if inline:
        return _certificates_of(inline, "ssl.truststore.certificates")
    if not location:
        return None
    data = _read("ssl.truststore.location", location)
    if _kind(properties, "ssl.truststore") == "PEM":
        return _certificates_of(data.decode("latin-1"), "ssl.truststore.location")
    store = _open(properties, "ssl.truststore", location, data)
    found = [store.cert, *store.additional_certs]
    return _pem([each.certificate for each in found if each is not None])


def own_identity(properties: Mapping[str, str]) -> Identity | None:
    """
    Our key and certificates (``ssl.keystore.*``), None when there are none.

    Raises:
        ConfigError: a file that cannot be read, a wrong password, contradicting keys.
    """
    key = properties.get("ssl.keystore.key")
    location = properties.get("ssl.keystore.location")
    _check_inline(properties, "ssl.keystore", "key", key, location)
    if key:
        chain = properties.get("ssl.keystore.certificate.chain")
        if not chain:
            raise ConfigError(
                "ssl.keystore.key needs ssl.keystore.certificate.chain beside it.",
                key="ssl.keystore.certificate.chain",
            )
        return _pem_identity(properties, f"{key}\n{chain}", "ssl.keystore.key")
    if not location:
        return None
    data = _read("ssl.keystore.location", location)
    if _kind(properties, "ssl.keystore") == "PEM":
        return _pem_identity(properties, data.decode("latin-1"), "ssl.keystore.location")
    return _stored_identity(_open(properties, "ssl.keystore", location, data), location)


def normalised_pem(text: str, label: str) -> str:
    """
    The PEM blocks whose label ends with ``label``, their lines broken as OpenSSL wants them.

    In a properties file PEM often stands on one line, with blanks or nothing for line ends.
    """
    blocks = []
    for name, body in _BLOCK.findall(text):
        if name.endswith(label):
            blocks.append(_block(name, body))
    return "".join(blocks)


def _block(name: str, body: str) -> str:
    joined = "".join(body.split())
    lines = (joined[at : at + _LINE] for at in range(0, len(joined), _LINE))
    return f"-----BEGIN {name}-----\n" + "\n".join(lines) + f"\n-----END {name}-----\n"


def _check_inline(
    properties: Mapping[str, str], prefix: str, name: str, inline: str | None, location: str | None
) -> None:
    if not inline:
        return
    if location:
        raise ConfigError(f"{prefix}.{name} and {prefix}.location exclude each other.", key=prefix)
    if _kind(properties, prefix) != "PEM":
        raise ConfigError(f"{prefix}.{name} needs {prefix}.type=PEM.", key=f"{prefix}.type")


def _kind(properties: Mapping[str, str], prefix: str) -> str:
    kind = properties.get(f"{prefix}.type", "JKS").strip().upper()
    if kind not in {"JKS", "PKCS12", "PEM"}:
        raise ConfigError(
            f"{prefix}.type={kind} is not supported: use PEM, PKCS12 or JKS.",
            key=f"{prefix}.type",
            value=kind,
        )
    return kind


def _read(key: str, location: str) -> bytes:
    try:
        return Path(location).read_bytes()
    except OSError as error:
        reason = error.strerror or str(error)
        raise ConfigError(
            f"{key}={location} cannot be read: {reason}.", key=key, value=location
        ) from error


def _certificates_of(text: str, key: str) -> str:
    pem = normalised_pem(text, "CERTIFICATE")
    if not pem:
        raise ConfigError(f"{key} holds no certificate in PEM.", key=key)
    return pem


def _pem_identity(properties: Mapping[str, str], text: str, key: str) -> Identity:
    found = normalised_pem(text, "PRIVATE KEY")
    password = properties.get("ssl.key.password")
    try:
        loaded = load_pem_private_key(found.encode(), password.encode() if password else None)
    except (ValueError, TypeError) as error:
        message = f"{key} holds no private key in PEM that ssl.key.password opens."
        raise ConfigError(message, key=key) from error
    plain = loaded.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return Identity(key=plain.decode(), chain=_certificates_of(text, key))


def _stored_identity(store: PKCS12KeyAndCertificates, location: str) -> Identity:
    if store.key is None or store.cert is None:
        raise ConfigError(
            f"ssl.keystore.location={location} holds no private key with its certificate.",
            key="ssl.keystore.location",
            value=location,
        )
    others = [each.certificate for each in store.additional_certs]
    key = store.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return Identity(key=key.decode(), chain=_pem(_chain(store.cert.certificate, others)))


def _chain(own: x509.Certificate, others: Sequence[x509.Certificate]) -> list[x509.Certificate]:
    """Our certificate followed by its issuers, each after the one it vouches for."""
    chain = [own]
    by_subject = {each.subject: each for each in others}
    while chain[-1].issuer in by_subject:
        chain.append(by_subject.pop(chain[-1].issuer))
    return chain


def _pem(certificates: Sequence[x509.Certificate]) -> str:
    return "".join(each.public_bytes(Encoding.PEM).decode() for each in certificates)


def _open(
    properties: Mapping[str, str], prefix: str, location: str, data: bytes
) -> PKCS12KeyAndCertificates:
    password = properties.get(f"{prefix}.password")
    try:
        if data.startswith(jks.MAGIC):
            # Only a key store's entries have passwords of their own.
            key = properties.get("ssl.key.password", password)
            return jks.load_jks(data, password, key if prefix == "ssl.keystore" else None)
        return load_pkcs12(data, password.encode() if password else None)
    except ValueError as error:
        message = f"{prefix}.location={location} cannot be opened with {prefix}.password."
        raise ConfigError(message, key=f"{prefix}.location", value=location) from error
