"""
Which web pages may call the interface.

A browser sends requests of any page to any address that it can reach, this machine's own included.
So whatever changes something is refused if it comes from a page of another origin that
``access.control.allow.origin`` does not name.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from ipaddress import ip_address
from typing import Final

from mm2.core.java_regex import JavaPattern
from mm2.errors import ConfigError

_ANY: Final = "*"
_ALLOWED_HEADERS: Final = "X-Requested-With,Content-Type,Accept,Origin,Authorization"
_MAX_AGE_S: Final = 60
_LOCAL_NAMES: Final = frozenset({"localhost", "127.0.0.1", "[::1]"})


class Origins:
    """
    The origins of web pages, as Jetty's handler treats them for Connect (C363).

    Args:
        patterns: of origins, in Java's syntax; "*" is any.

    Raises:
        ConfigError: a pattern is wrong.
    """

    def __init__(self, patterns: Collection[str], methods: Collection[str]) -> None:
        self._methods = tuple(method.upper() for method in methods)
        self._any = _ANY in patterns
        self._patterns = [_pattern(each) for each in patterns if each != _ANY]

    def allows(self, origin: str) -> bool:
        """Whether pages of this origin may call."""
        return self._any or any(each.matches(origin) for each in self._patterns)

    def is_foreign(self, origin: str | None, host: str | None, *, is_local: bool = False) -> bool:
        """
        Whether a request comes from a page that may not call.

        Args:
            origin: the header ``Origin``; None if no page sent the request.
            host: the header ``Host``; pages of this server itself may always call.
            is_local: whether it came in on an address of this machine only. Any name can be made to
                lead there, so that a page is this server's own only if its name says so, too.
        """
        if origin is None or self.allows(origin):
            return False
        named = (host or "").lower()
        is_own = origin.partition("://")[2].lower() == named
        return not is_own or (is_local and _without_port(named) not in _LOCAL_NAMES)

    def headers(self, origin: str | None) -> dict[str, str]:
        """What a browser must be told with an answer."""
        if origin is None or not (self._any or self._patterns):
            return {}
        if not self.allows(origin):
            return {"Vary": "Origin"}
        return {"Access-Control-Allow-Origin": origin, "Vary": "Origin"}

    def preflight(self, origin: str | None, method: str | None) -> Mapping[str, str] | None:
        """What a browser that asks beforehand is told; None if it does not ask, or may not."""
        if origin is None or method is None or not self.allows(origin):
            return None
        return {
            "Access-Control-Allow-Methods": ",".join(self._methods),
            "Access-Control-Allow-Headers": _ALLOWED_HEADERS,
            "Access-Control-Max-Age": str(_MAX_AGE_S),
        }


def name_in(host: str) -> str:
    """The name in a header ``Host``, in one spelling."""
    return _without_port(host.lower()).removesuffix(".")


def is_local_name(name: str) -> bool:
    """
    Whether a name is this machine's in a way that nobody else can have lead here.

    A browser takes a page whose name is made to lead to this machine for this server's own, and
    sends no ``Origin`` when it reads (DNS rebinding).
    """
    return name in _LOCAL_NAMES or name.endswith(".localhost") or _is_address(name)


def is_loopback(address: str) -> bool:
    """Whether an address is this machine's only, also one of IPv4 as sockets of IPv6 have it."""
    if not _is_address(address):
        return False
    parsed = ip_address(address)
    return (getattr(parsed, "ipv4_mapped", None) or parsed).is_loopback


def _is_address(name: str) -> bool:
    try:
        ip_address(name.removeprefix("[").removesuffix("]"))
    except ValueError:
        return False
    return True


def _without_port(host: str) -> str:
    name, colon, port = host.rpartition(":")
    return name if colon and port.isdecimal() else host


def _pattern(written: str) -> JavaPattern:
    try:
        return JavaPattern(f"(?i){written}")
    except ConfigError as error:
        key = "access.control.allow.origin"
        raise ConfigError(f"{key}: {error.message}", key=key, value=written) from error
