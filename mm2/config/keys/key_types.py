"""
How the text of a key is read: as Kafka's ``ConfigDef.parseType`` does.

A file that Java rejects must be rejected here, and one that it takes must be taken.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Callable
from datetime import timedelta
from typing import Final, TypeAlias

from mm2.core.byte_size import parse_size

Value: TypeAlias = bool | int | float | str | tuple[str, ...] | None


class Type(enum.Enum):
    """How the text of a key is read; the names are those of ``ConfigDef.Type``, and ours."""

    BOOLEAN = "boolean"
    STRING = "string"
    INT = "int"
    SHORT = "short"
    LONG = "long"
    DOUBLE = "double"
    LIST = "list"
    CLASS = "class"
    PASSWORD = "password"  # noqa: S105 - the name of a type
    SIZE = "size"
    """Ours: bytes as a number, or with a unit."""


def duration_ms(value: Value) -> timedelta | None:
    """A duration of so many milliseconds, clamped to Python's range; None of no number."""
    if not isinstance(value, int):
        return None
    return max(-_MOST_MS, min(value, _MOST_MS)) * _MILLISECOND


def duration_s(value: Value) -> timedelta | None:
    """A duration of so many seconds, clamped; None of negative ones, which switch off."""
    return duration_ms(value * 1000) if isinstance(value, int) and value >= 0 else None


def equals(word: str) -> Callable[[Value], bool]:
    """Whether the value is that word."""
    return lambda value: value == word


def java_trim(text: str) -> str:
    """Does what ``String.trim`` does: drops every leading and trailing character up to U+0020."""
    return text.strip(_TRIMMED)


def lenient_boolean(text: str | None) -> bool:
    """Whether the text is "true", in any case, without blanks (``Boolean.parseBoolean``, C018)."""
    return text is not None and text.lower() == "true"


def split_list(text: str) -> tuple[str, ...]:
    """Splits at commas, without the blanks around them; empty items stay, blank text has none."""
    trimmed = java_trim(text)
    return tuple(item.strip(_BLANKS) for item in trimmed.split(",")) if trimmed else ()


_TRIMMED: Final = "".join(map(chr, range(0x21)))
_MILLISECOND: Final = timedelta(milliseconds=1)
_MOST_MS: Final = timedelta(days=999_999_999) // _MILLISECOND
_BLANKS: Final = " \t\n\x0b\f\r"
_INTEGER: Final = re.compile(r"[+-]?\d+")
_FLOAT: Final = re.compile(
    r"[+-]?(?:NaN|Infinity|(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?[fFdD]?)", re.ASCII
)
_HEX_FLOAT: Final = re.compile(
    r"([+-]?)0[xX]((?:[0-9a-fA-F]+(?:\.[0-9a-fA-F]*)?|\.[0-9a-fA-F]+)[pP][+-]?\d+)[fFdD]?", re.ASCII
)

_SECURITY: Final = "org.apache.kafka.common.security."
_NAMES: Final = """
    auth.AuthenticateCallbackHandler
    auth.Login
    auth.SslEngineFactory
    authenticator.AbstractLogin
    authenticator.DefaultLogin
    authenticator.SaslClientCallbackHandler
    authenticator.SaslServerCallbackHandler
    kerberos.KerberosClientCallbackHandler
    kerberos.KerberosLogin
    plain.internals.PlainServerCallbackHandler
    scram.internals.ScramServerCallbackHandler
    ssl.CommonNameLoggingSslEngineFactory
    ssl.DefaultSslEngineFactory
"""
_OAUTHBEARER_NAMES: Final = """
    BrokerJwtValidator
    ClientCredentialsJwtRetriever
    ClientJwtValidator
    DefaultJwtRetriever
    DefaultJwtValidator
    FileJwtRetriever
    JwtBearerJwtRetriever
    JwtRetriever
    JwtValidator
    OAuthBearerLoginCallbackHandler
    OAuthBearerValidatorCallbackHandler
    internals.OAuthBearerRefreshingLogin
    internals.OAuthBearerSaslClientCallbackHandler
    internals.expiring.ExpiringCredentialRefreshingLogin
    internals.secured.HttpJwtRetriever
    internals.unsecured.OAuthBearerUnsecuredLoginCallbackHandler
    internals.unsecured.OAuthBearerUnsecuredValidatorCallbackHandler
"""

JAVA_CLASSES: Final = frozenset(
    {
        *(_SECURITY + name for name in _NAMES.split()),
        *(f"{_SECURITY}oauthbearer.{name}" for name in _OAUTHBEARER_NAMES.split()),
        "org.apache.kafka.clients.admin.ForwardingAdmin",
    }
)
"""Login, callback handlers, TLS engines, and what gets and checks tokens."""


def _boolean(text: str) -> bool:
    word = java_trim(text).lower()
    if word not in ("true", "false"):
        raise ValueError("must be true or false")
    return word == "true"


def _integer(bits: int) -> Callable[[str], int]:
    limit = 1 << (bits - 1)

    def parse(text: str) -> int:
        trimmed = java_trim(text)
        number = int(trimmed) if _INTEGER.fullmatch(trimmed) else limit
        if not -limit <= number < limit:
            raise ValueError(f"must be a whole number of {bits} bits")
        return number

    return parse


def _double(text: str) -> float:
    trimmed = java_trim(text)
    if _FLOAT.fullmatch(trimmed):
        return float(trimmed.rstrip("fFdD") if "N" not in trimmed else trimmed)
    if hexadecimal := _HEX_FLOAT.fullmatch(trimmed):
        return float.fromhex(f"{hexadecimal[1]}0x{hexadecimal[2]}")
    raise ValueError("must be a number")


def _list(text: str) -> tuple[str, ...]:
    """Duplicates collapse into the first of them, as since 4.3 (C454)."""
    return tuple(dict.fromkeys(split_list(text)))


def _class(text: str) -> str:
    """
    Accepts the classes of Kafka's own that can stand here.

    Java loads the class, and rejects the file if it cannot. We can load none, and act only for
    Kafka's own; a class of the user's would be passed over, which must not happen in silence.
    """
    trimmed = java_trim(text)
    if trimmed not in JAVA_CLASSES:
        raise ValueError("no such class in Kafka; classes of your own in Java cannot be loaded")
    return trimmed


def _size(text: str) -> int:
    trimmed = java_trim(text)
    if _INTEGER.fullmatch(trimmed):
        return _integer(64)(trimmed)
    return _integer(64)(str(parse_size(trimmed)))


PARSERS: Final[dict[Type, Callable[[str], Value]]] = {
    Type.BOOLEAN: _boolean,
    Type.STRING: java_trim,
    Type.PASSWORD: java_trim,
    Type.INT: _integer(32),
    Type.SHORT: _integer(16),
    Type.LONG: _integer(64),
    Type.SIZE: _size,
    Type.DOUBLE: _double,
    Type.LIST: _list,
    Type.CLASS: _class,
}
