"""
Keeps secrets out of whatever is printed or logged.

Kafka hides what its definitions type as password. Keys that no definition types (an own provider's
parameters, a metrics reporter's token) are judged by their name, because a secret shown once cannot
be taken back.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

HIDDEN: Final = "[hidden]"
"""What stands for a secret, as in Kafka's own listings (C067)."""

PASSWORD_KEYS: Final = frozenset(
    {
        "sasl.jaas.config",
        "sasl.oauthbearer.assertion.private.key.passphrase",
        "sasl.oauthbearer.client.credentials.client.secret",
        "ssl.key.password",
        "ssl.keystore.certificate.chain",
        "ssl.keystore.key",
        "ssl.keystore.password",
        "ssl.truststore.certificates",
        "ssl.truststore.password",
    }
)
"""The names that Java types as password, in every definition."""

_SECRET_WORD: Final = re.compile(
    r"(?:^|[.\-_])(?:\w*(?:password|passwd|passphrase|secret|credential|token|apikey)s?|jaas|pwd|private[.\-_]?key|api[.\-_]?key|access[.\-_]?key)(?:$|[.\-_])",
    re.IGNORECASE,
)
_HARMLESS: Final = re.compile(r"\.(?:url|class|file|location|type|ms|seconds|id|name)$")
_EXPRESSION: Final = re.compile(r"(?:\$\{[^}]*:[^}]*\})+")
_URL_PASSWORD: Final = re.compile(r"(?<=://)([^/\s:@]*):[^/\s@]+(?=@)")


def is_secret(key: str) -> bool:
    """
    Whether the value of ``key`` must not be shown, whatever prefixes stand before its name.

    Everything under ``config.providers.<name>.param.`` but the two well-known parameters counts as
    secret only if it is named like one; so does any other key that no definition types.
    """
    if any(key == name or key.endswith(f".{name}") for name in PASSWORD_KEYS):
        return True
    return _SECRET_WORD.search(key) is not None and _HARMLESS.search(key) is None


def shown(key: str, value: str) -> str:
    """
    The value as it may be shown.

    A provider expression is shown although its key is secret: it is where to look, not what is
    there.
    """
    if is_secret(key) and not _EXPRESSION.fullmatch(value):
        return HIDDEN
    return _URL_PASSWORD.sub(rf"\1:{HIDDEN}", value)


def redacted(properties: Mapping[str, str]) -> dict[str, str]:
    """A copy in which every secret is hidden."""
    return {key: shown(key, value) for key, value in properties.items()}
