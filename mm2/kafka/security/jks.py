"""
Reads Java's JKS key stores: the format of the JDK's ``sun.security.provider.JavaKeyStore``.

In this process, so that no password is given to another program (keytool), and reading takes
milliseconds.
"""

from __future__ import annotations

import hashlib
import hmac
import struct
from collections.abc import Iterator
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives.serialization import load_der_private_key
from cryptography.hazmat.primitives.serialization.pkcs12 import (
    PKCS12Certificate,
    PKCS12KeyAndCertificates,
    PKCS12PrivateKeyTypes,
)

MAGIC: Final = b"\xfe\xed\xfe\xed"

_PRIVATE_KEY, _TRUSTED = 1, 2
_WITH_CERTIFICATE_TYPES: Final = 2
"""The version of the format that names the type of each certificate."""
_SHA1: Final = 20
_WHITENER: Final = b"Mighty Aphrodite"
_SEQUENCE, _OBJECT_ID, _OCTET_STRING = 0x30, 0x06, 0x04
_LONG_LENGTH: Final = 0x80
_PROTECTED_BY_SUN: Final = bytes.fromhex("2b060104012a02110101")
"""The object identifier 1.3.6.1.4.1.42.2.17.1.1, in DER."""


def load_jks(
    data: bytes, password: str | None, key_password: str | None
) -> PKCS12KeyAndCertificates:
    """
    Reads the first private key with its certificates, and all trusted certificates.

    Args:
        password: of the file; None leaves its integrity unchecked, as in Java.
        key_password: of the private key; None if that is not wanted.

    Raises:
        ValueError: a wrong password, or no JKS file.
    """
    body, digest = data[:-_SHA1], data[-_SHA1:]
    if password is not None:
        expected = hashlib.sha1(_utf16(password) + _WHITENER + body, usedforsecurity=False).digest()
        if not hmac.compare_digest(expected, digest):
            raise ValueError("the password is wrong, or the file is damaged")
    key: PKCS12PrivateKeyTypes | None = None
    own: list[x509.Certificate] = []
    trusted: list[x509.Certificate] = []
    try:
        for protected, certificates in _entries(_StoreReader(body)):
            if protected is None:
                trusted += certificates
            elif not own:
                own = certificates
                key = None if key_password is None else _private_key(protected, key_password)
    except (struct.error, IndexError) as error:
        raise ValueError("the file is damaged") from error
    found = [PKCS12Certificate(each, None) for each in own + trusted]
    first = found.pop(0) if own else None
    return PKCS12KeyAndCertificates(key, first, found)


class _StoreReader:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def take(self, length: int) -> bytes:
        if length < 0 or self._at + length > len(self._data):
            raise ValueError("the file is damaged")
        taken = self._data[self._at : self._at + length]
        self._at += length
        return taken

    def number(self, form: str = ">I") -> int:
        (number,) = struct.unpack(form, self.take(struct.calcsize(form)))
        return int(number)

    def block(self, form: str = ">I") -> bytes:
        return self.take(self.number(form))


def _entries(reader: _StoreReader) -> Iterator[tuple[bytes | None, list[x509.Certificate]]]:
    """The protected key, None for a trusted certificate, and the certificates of each entry."""
    if reader.take(len(MAGIC)) != MAGIC:
        raise ValueError("the file is no JKS file")
    version = reader.number()
    for _ in range(reader.number()):
        tag = reader.number()
        reader.block(">H")  # the alias
        reader.number(">Q")  # when it was made
        protected = reader.block() if tag == _PRIVATE_KEY else None
        count = reader.number() if tag == _PRIVATE_KEY else 1
        if tag not in (_PRIVATE_KEY, _TRUSTED):
            raise ValueError(f"the file has an entry of the unknown kind {tag}")
        yield protected, [_certificate(reader, version) for _ in range(count)]


def _certificate(reader: _StoreReader, version: int) -> x509.Certificate:
    if version >= _WITH_CERTIFICATE_TYPES:
        reader.block(">H")
    return x509.load_der_x509_certificate(reader.block())


def _private_key(protected: bytes, password: str) -> PKCS12PrivateKeyTypes:
    """Undoes the JDK's protection of a key: exclusive or with a chain of SHA-1 sums."""
    algorithm, rest = _der(_der(protected, _SEQUENCE)[0], _SEQUENCE)
    if _der(algorithm, _OBJECT_ID)[0] != _PROTECTED_BY_SUN:
        raise ValueError("the private key is protected by an unknown algorithm")
    data = _der(rest, _OCTET_STRING)[0]
    salt, hidden, check = data[:_SHA1], data[_SHA1:-_SHA1], data[-_SHA1:]
    secret, mask, block = _utf16(password), b"", salt
    while len(mask) < len(hidden):
        block = hashlib.sha1(secret + block, usedforsecurity=False).digest()
        mask += block
    plain = bytes(one ^ other for one, other in zip(hidden, mask, strict=False))
    if not hmac.compare_digest(hashlib.sha1(secret + plain, usedforsecurity=False).digest(), check):
        raise ValueError("the password of the private key is wrong")
    return load_der_private_key(plain, None)  # type: ignore[return-value]  # whatever a JVM stores


def _der(data: bytes, tag: int) -> tuple[bytes, bytes]:
    """Splits DER into the content of its first element, which must have the tag, and the rest."""
    if data[0] != tag:
        raise ValueError("the private key cannot be read")
    length, at = data[1], 2
    if length >= _LONG_LENGTH:
        at += length - _LONG_LENGTH
        length = int.from_bytes(data[2:at], "big")
    return data[at : at + length], data[at + length :]


def _utf16(password: str) -> bytes:
    return password.encode("utf-16-be")
