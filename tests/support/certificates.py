"""
A certificate authority and certificates of its own, for listeners with TLS.
"""

from __future__ import annotations

import datetime as dt
import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from cryptography.hazmat.primitives.serialization.pkcs12 import (
    PKCS12Certificate,
    serialize_java_truststore,
    serialize_key_and_certificates,
)
from cryptography.x509.oid import NameOID

PASSWORD = "store-secret"
_SECRET = BestAvailableEncryption(PASSWORD.encode())


@dataclass(frozen=True, slots=True)
class Certified:
    """A key and the certificate that vouches for it."""

    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate

    @classmethod
    def authority(cls, name: str) -> Self:
        """A new authority, which vouches for itself."""
        key = ec.generate_private_key(ec.SECP256R1())
        return cls(key, _sign(name, key, name, key, is_authority=True))

    def issue(
        self, name: str, *, hosts: Sequence[str] = ("localhost",), days: int = 1
    ) -> Certified:
        """A certificate for hosts and, if localhost is one, the loopback address, for some days."""
        key = ec.generate_private_key(ec.SECP256R1())
        issuer = self.certificate.subject.rfc4514_string().removeprefix("CN=")
        signed = _sign(name, key, issuer, self.key, is_authority=False, hosts=hosts, days=days)
        return Certified(key, signed)

    @property
    def certificate_pem(self) -> str:
        """The certificate in PEM."""
        return self.certificate.public_bytes(Encoding.PEM).decode()

    def key_pem(self, password: str | None = None) -> str:
        """The key in PEM, encrypted if there is a password."""
        secret = BestAvailableEncryption(password.encode()) if password else NoEncryption()
        return self.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, secret).decode()

    def keystore(self, path: Path, authority: Certified) -> Path:
        """Writes a PKCS12 key store with the whole chain; its password is ``PASSWORD``."""
        chain = [authority.certificate]
        data = serialize_key_and_certificates(b"own", self.key, self.certificate, chain, _SECRET)
        path.write_bytes(data)
        return path

    def truststore(self, path: Path) -> Path:
        """Writes a PKCS12 trust store as Java's tools do; its password is ``PASSWORD``."""
        entry = PKCS12Certificate(self.certificate, b"authority")
        path.write_bytes(serialize_java_truststore([entry], _SECRET))
        return path


def _sign(
    name: str,
    key: ec.EllipticCurvePrivateKey,
    issuer: str,
    issuer_key: ec.EllipticCurvePrivateKey,
    *,
    is_authority: bool,
    hosts: Sequence[str] = ("localhost",),
    days: int = 1,
) -> x509.Certificate:
    now = dt.datetime.now(dt.UTC)
    names: list[x509.GeneralName] = [x509.DNSName(host) for host in hosts]
    if "localhost" in hosts:
        names.append(x509.IPAddress(ipaddress.ip_address("127.0.0.1")))
    return (
        x509.CertificateBuilder()
        .subject_name(_name(name))
        .issuer_name(_name(issuer))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=9))
        .not_valid_after(now + dt.timedelta(days=days))
        .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .sign(issuer_key, hashes.SHA256())
    )


def _name(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
