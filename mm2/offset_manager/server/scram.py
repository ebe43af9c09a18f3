"""
The server's side of SCRAM (RFC 5802), as Kafka's brokers have it, without channel binding.

Who may log in is not told: a name that nobody has gets a salt of its own and is refused at the end,
as a wrong password is.
"""

from __future__ import annotations

import binascii
import hashlib
import hmac
import re
import secrets
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

SCRAM: Final[Mapping[str, str]] = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
"""The mechanisms, with their hash functions."""

ITERATIONS: Final = 4096
"""As of Kafka's users, unless something else is asked for; clients accept no fewer."""

_SALT_BYTES: Final = 16
_NONCE_BYTES: Final = 24
_MORE: Final = rb"(?P<more>(?:,[A-Za-z]+=[^,\0]*)*)"
_FIRST: Final = re.compile(
    rb"(?P<header>n,(?:a=(?P<acts_for>[^,\0]+))?,)"
    rb"(?P<bare>n=(?P<user>(?:[^,=\0]|=2C|=3D)+),r=(?P<nonce>[!-+\--~]+)" + _MORE + rb")"
)
_LAST: Final = re.compile(
    rb"(?P<bare>c=(?P<header>[A-Za-z0-9+/=]+),r=(?P<nonce>[!-+\--~]+)"
    + _MORE
    + rb"),p=(?P<proof>[A-Za-z0-9+/=]+)"
)
_TOKEN: Final = b",tokenauth="
"""A delegation token of Kafka's, of which brokers alone know."""


@dataclass(frozen=True, slots=True)
class LogInStep:
    """
    How far a log-in is.

    Attributes:
        reply: what the client is sent, if it is let in or the log-in goes on.
        who: name and password of a client that has shown that it knows it.
    """

    reply: bytes = b""
    who: tuple[str, str] | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, repr=False)
class _Keys:
    salt: bytes
    stored: bytes
    server: bytes
    password: str | None = None

    @classmethod
    def of(cls, hash_name: str, salt: bytes, password: str) -> _Keys:
        salted = hashlib.pbkdf2_hmac(hash_name, password.encode(), salt, ITERATIONS)
        client = hmac.digest(salted, b"Client Key", hash_name)
        stored = hashlib.new(hash_name, client).digest()
        return cls(salt, stored, hmac.digest(salted, b"Server Key", hash_name), password)


class ScramUsers:
    """
    Who may log in.

    Args:
        passwords: by names.
        mechanisms: those that are offered.
    """

    def __init__(self, passwords: Mapping[str, str], mechanisms: Iterable[str]) -> None:
        self._secret = secrets.token_bytes()
        self._keys = {
            (mechanism, user): _Keys.of(SCRAM[mechanism], self._salt(user), password)
            for mechanism in mechanisms
            for user, password in passwords.items()
        }

    def keys(self, mechanism: str, user: str) -> _Keys:
        """Those of a user; of nobody, some that nothing fits."""
        found = self._keys.get((mechanism, user))
        if found is not None:
            return found
        size = hashlib.new(SCRAM[mechanism]).digest_size
        return _Keys(self._salt(user), secrets.token_bytes(size), secrets.token_bytes(size))

    def _salt(self, user: str) -> bytes:
        """The same each time, whether there is such a user or not."""
        return hmac.digest(self._secret, user.encode(), "sha256")[:_SALT_BYTES]


class ScramLogIn:
    """
    One log-in.

    Args:
        users: who may log in.
        mechanism: one of ``SCRAM``.
        nonce: of this log-in alone; made at random if it is left out.
    """

    def __init__(self, users: ScramUsers, mechanism: str, nonce: str = "") -> None:
        self._users = users
        self._mechanism = mechanism
        self._hash = SCRAM[mechanism]
        self._nonce = (nonce or secrets.token_urlsafe(_NONCE_BYTES)).encode()
        self._keys: _Keys | None = None
        self._header = b""
        self._user = ""
        self._said = b""

    def __call__(self, message: bytes) -> LogInStep | None:
        """What comes of the next message of the client; None if it is refused."""
        return self._first(message) if self._keys is None else self._last(message, self._keys)

    def _first(self, message: bytes) -> LogInStep | None:
        found = _FIRST.fullmatch(message)
        user = found and _name(found["user"])
        if not found or not user or _TOKEN in found["more"].lower():
            return None
        if found["acts_for"] is not None and _name(found["acts_for"]) != user:
            return None
        self._user, self._header = user, found["header"]
        self._nonce = found["nonce"] + self._nonce
        self._keys = keys = self._users.keys(self._mechanism, user)
        reply = b"r=%b,s=%b,i=%d" % (self._nonce, b64encode(keys.salt), ITERATIONS)
        self._said = found["bare"] + b"," + reply
        return LogInStep(reply)

    def _last(self, message: bytes, keys: _Keys) -> LogInStep | None:
        found = _LAST.fullmatch(message)
        if not found or found["nonce"] != self._nonce or _plain(found["header"]) != self._header:
            return None
        said = self._said + b"," + found["bare"]
        signature = hmac.digest(keys.stored, said, self._hash)
        proof = _plain(found["proof"])
        if len(proof) != len(signature):
            return None
        client_key = bytes(a ^ b for a, b in zip(proof, signature, strict=True))
        shown = hashlib.new(self._hash, client_key).digest()
        if not hmac.compare_digest(shown, keys.stored) or keys.password is None:
            return None
        reply = b"v=" + b64encode(hmac.digest(keys.server, said, self._hash))
        return LogInStep(reply, (self._user, keys.password))


def _name(written: bytes) -> str | None:
    try:
        return written.replace(b"=2C", b",").replace(b"=3D", b"=").decode()
    except UnicodeDecodeError:
        return None


def _plain(encoded: bytes) -> bytes:
    try:
        return b64decode(encoded, validate=True)
    except binascii.Error:
        return b""
