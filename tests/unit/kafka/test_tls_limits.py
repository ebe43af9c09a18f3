"""Versions and cipher suites of TLS, in Java's names, as Python offers them."""

from __future__ import annotations

import ssl

import pytest

from mm2.errors import ConfigError
from mm2.kafka.security.tls import tls_context

_V2, _V3 = ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3
_RSA = "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"
_ALL_OF_13 = "TLS_AES_128_GCM_SHA256,TLS_AES_256_GCM_SHA384,TLS_CHACHA20_POLY1305_SHA256"
_OLDER = (
    "TLS_RSA_WITH_AES_256_CBC_SHA256,TLS_DHE_RSA_WITH_CHACHA20_POLY1305_SHA256,"
    "TLS_EMPTY_RENEGOTIATION_INFO_SCSV"
)


def _keys(protocol: str, enabled: str, suites: str) -> dict[str, str]:
    keys = {
        "ssl.protocol": protocol,
        "ssl.enabled.protocols": enabled,
        "ssl.cipher.suites": suites,
    }
    return {key: value for key, value in keys.items() if value}


@pytest.mark.parametrize(
    ("protocol", "enabled", "suites", "versions", "offered"),
    [
        ("", "", "", (_V2, _V3), None),
        ("TLSv1.3", "TLSv1.2,TLSv1.3", "", (_V2, _V3), None),
        ("TLS", "", "", (_V2, _V3), None),
        ("TLSv1.2", "", "", (_V2, _V2), None),
        ("", "TLSv1.2", "", (_V2, _V2), None),
        ("", "TLSv1.3", "", (_V3, _V3), None),
        ("", "", _ALL_OF_13, (_V3, _V3), None),
        (
            "",
            "",
            _RSA,
            (_V2, _V2),
            {"ECDHE-RSA-AES128-GCM-SHA256"},
        ),
        (
            "",
            "",
            f"{_ALL_OF_13}, {_OLDER}",
            (_V2, _V3),
            {"AES256-SHA256", "DHE-RSA-CHACHA20-POLY1305"},
        ),
    ],
)
def test_what_java_would_offer_is_offered(
    protocol: str,
    enabled: str,
    suites: str,
    versions: tuple[ssl.TLSVersion, ssl.TLSVersion],
    offered: set[str] | None,
) -> None:
    keys = _keys(protocol, enabled, suites)
    context = tls_context(keys)
    assert (context.minimum_version, context.maximum_version) == versions
    if offered is not None:
        names = {each["name"] for each in context.get_ciphers() if each["protocol"] != "TLSv1.3"}
        assert names == offered


@pytest.mark.parametrize(
    ("protocol", "enabled", "suites", "key", "told"),
    [
        ("TLSv1.1", "", "", "ssl.protocol", "must be TLSv1.2, TLSv1.3 or TLS"),
        ("TLSv1.2", "TLSv1.3", "", "ssl.protocol", "forbids what ssl.enabled.protocols allows"),
        ("", "TLSv1,SSLv3", "", "ssl.enabled.protocols", "allows neither"),
        ("", "", "TLS_RSA_WITH_RC4_128_MD5", "ssl.cipher.suites", "OpenSSL does not have"),
        ("", "TLSv1.3", _RSA, "ssl.cipher.suites", "has no suite for what"),
        ("", "", "TLS_AES_256_GCM_SHA384", "ssl.cipher.suites", "all suites of TLSv1.3 or none"),
    ],
)
def test_what_cannot_be_offered_is_refused(
    protocol: str, enabled: str, suites: str, key: str, told: str
) -> None:
    with pytest.raises(ConfigError, match=told) as refused:
        tls_context(_keys(protocol, enabled, suites))
    assert refused.value.key == key
