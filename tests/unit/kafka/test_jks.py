"""JKS files that keytool has made, and what is wrong with others."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from hypothesis import given
from hypothesis import strategies as st

from mm2.errors import ConfigError
from mm2.kafka.security.jks import load_jks
from mm2.kafka.security.keystores import own_identity, trusted_certificates

_STORES = Path(__file__).parents[2] / "golden" / "keystores"
_IDENTITY = _STORES / "identity.jks"
_TRUST = _STORES / "trust.jks"
_SECRET = "store-sécret"

_KEY_SHA256 = "01f4c4123e8cc93105d62113340231734fb7d63127c579df21dbfe93893ad3f5"
"""Of the private key as openssl has written it."""

_TRUSTED_SHA256 = "d7d0495dabe354e8ea527c03f3f7cdd9c6542f3890a0f80ef38d5d8cd6ed0d64"
"""As openssl has shown it."""


def test_the_private_key_and_its_certificate_are_those_that_keytool_has_written() -> None:
    found = load_jks(_IDENTITY.read_bytes(), "store-secret", "key-secret")
    assert found.key is not None
    der = found.key.private_bytes(Encoding.DER, PrivateFormat.TraditionalOpenSSL, NoEncryption())
    assert hashlib.sha256(der).hexdigest() == _KEY_SHA256
    assert found.cert is not None
    assert found.cert.certificate.subject.rfc4514_string() == "CN=first"
    assert found.additional_certs == []


@pytest.mark.parametrize("password", [_SECRET, None])
def test_trusted_certificates_need_no_password_as_in_java(password: str | None) -> None:
    found = load_jks(_TRUST.read_bytes(), password, None)
    (trusted,) = found.additional_certs
    assert trusted.certificate.fingerprint(hashes.SHA256()).hex() == _TRUSTED_SHA256
    assert (found.key, found.cert) == (None, None)


def test_javas_keys_lead_to_the_stores() -> None:
    trust = {"ssl.truststore.location": str(_TRUST), "ssl.truststore.password": _SECRET}
    assert "BEGIN CERTIFICATE" in (trusted_certificates(trust) or "")
    own = {
        "ssl.keystore.location": str(_IDENTITY),
        "ssl.keystore.password": "store-secret",
        "ssl.key.password": "key-secret",
    }
    identity = own_identity(own)
    assert identity is not None
    assert "PRIVATE KEY" in identity.key


@pytest.mark.parametrize(
    "wrong", [{"ssl.keystore.password": "other"}, {"ssl.key.password": "other"}]
)
def test_a_wrong_password_is_a_mistake_of_the_configuration(wrong: dict[str, str]) -> None:
    properties = {
        "ssl.keystore.location": str(_IDENTITY),
        "ssl.keystore.password": "store-secret",
        "ssl.key.password": "key-secret",
    }
    with pytest.raises(ConfigError, match="cannot be opened"):
        own_identity(properties | wrong)


@given(st.data())
def test_a_damaged_file_is_refused(data: st.DataObject) -> None:
    whole = data.draw(st.sampled_from([_IDENTITY, _TRUST])).read_bytes()
    at = data.draw(st.integers(0, len(whole) - 1))
    damaged = data.draw(
        st.sampled_from([whole[:at], whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :]])
    )
    for password in (_SECRET, "store-secret"):
        with pytest.raises(ValueError, match="damaged"):
            load_jks(damaged, password, "key-secret")
    with suppress(ValueError):
        load_jks(damaged, None, "key-secret")
