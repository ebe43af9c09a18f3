"""Which versions and cipher suites of TLS are offered, in Java's names for them."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

from mm2.errors import ConfigError

_PROTOCOLS: Final = "ssl.enabled.protocols"
_HIGHEST: Final = "ssl.protocol"
_SUITES: Final = "ssl.cipher.suites"
_VERSIONS: Final = {
    "TLSV1.2": ssl.TLSVersion.TLSv1_2,
    "TLSV1.3": ssl.TLSVersion.TLSv1_3,
}
_OF_TLS_13: Final = frozenset(
    {"TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"}
)
_NO_SUITES: Final = frozenset({"TLS_EMPTY_RENEGOTIATION_INFO_SCSV", ""})


@dataclass(frozen=True, slots=True)
class Limits:
    """
    What may be offered.

    Attributes:
        versions: of TLS, ascending; at least one.
        suites: for TLSv1.2, in OpenSSL's names; empty is whatever OpenSSL offers.
    """

    versions: tuple[ssl.TLSVersion, ...]
    suites: tuple[str, ...]

    def apply(self, context: ssl.SSLContext) -> None:
        """Has a context offer nothing else."""
        context.minimum_version, context.maximum_version = self.versions[0], self.versions[-1]
        if self.suites:
            context.set_ciphers(":".join(self.suites))


def tls_limits(properties: Mapping[str, str]) -> Limits:
    """
    What Java's ``ssl.*`` keys allow.

    Raises:
        ConfigError: no usable version, or suites that OpenSSL does not have or cannot choose.
    """
    versions = _versions(properties)
    names = [name.strip() for name in properties.get(_SUITES, "").split(",")]
    suites = [name for name in names if name not in _NO_SUITES]
    if not suites:
        return Limits(tuple(versions), ())
    newer, older = set(suites) & _OF_TLS_13, [each for each in suites if each not in _OF_TLS_13]
    openssl = tuple(_openssl(each, properties) for each in older)
    usable = {ssl.TLSVersion.TLSv1_2: bool(older), ssl.TLSVersion.TLSv1_3: bool(newer)}
    left = tuple(version for version in versions if usable[version])
    if not left:
        raise _wrong(_SUITES, properties, f"has no suite for what {_PROTOCOLS} allows")
    if ssl.TLSVersion.TLSv1_3 in left and newer != _OF_TLS_13:
        missing = ", ".join(sorted(_OF_TLS_13 - newer))
        problem = (
            f"must name all suites of TLSv1.3 or none, as Python offers them together: {missing}"
        )
        raise _wrong(_SUITES, properties, problem)
    return Limits(left, openssl)


def _versions(properties: Mapping[str, str]) -> list[ssl.TLSVersion]:
    listed = properties.get(_PROTOCOLS, "TLSv1.2,TLSv1.3").upper().split(",")
    versions = [_VERSIONS[name.strip()] for name in listed if name.strip() in _VERSIONS]
    if not versions:
        raise _wrong(_PROTOCOLS, properties, "allows neither TLSv1.2 nor TLSv1.3")
    highest = properties.get(_HIGHEST, "").strip().upper() or "TLSV1.3"
    # Java's name for whatever its context can do.
    most = _VERSIONS.get("TLSV1.3" if highest == "TLS" else highest)
    if most is None:
        raise _wrong(_HIGHEST, properties, "must be TLSv1.2, TLSv1.3 or TLS")
    left = sorted(version for version in set(versions) if version <= most)
    if not left:
        raise _wrong(_HIGHEST, properties, f"forbids what {_PROTOCOLS} allows")
    return left


def _openssl(suite: str, properties: Mapping[str, str]) -> str:
    """TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 is ECDHE-RSA-AES128-GCM-SHA256 there."""
    exchange, _, cipher = suite.removeprefix("TLS_").partition("_WITH_")
    cipher = cipher.replace("AES_", "AES").replace("_CBC", "").replace("CCM_8", "CCM8")
    cipher = cipher.replace("POLY1305_SHA256", "POLY1305")
    name = "-".join([*([] if exchange == "RSA" else [exchange]), cipher]).replace("_", "-")
    if name not in _known_suites():
        raise _wrong(_SUITES, properties, f"names {suite}, which OpenSSL does not have")
    return name


@cache
def _known_suites() -> frozenset[str]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.set_ciphers("ALL")
    return frozenset(str(each["name"]) for each in context.get_ciphers())


def _wrong(key: str, properties: Mapping[str, str], problem: str) -> ConfigError:
    value = properties.get(key, "")
    return ConfigError(f"{key}={value} {problem}.", key=key, value=value)
