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

from mm2.config.text.expressions import expressions, hide, is_of_expressions
from mm2.core.hide_secrets import Screen, secrets_of
from mm2.errors import ConfigError, ConfigErrors

HIDDEN: Final = "[hidden]"
"""What stands for a secret, as in Kafka's own listings (C067)."""

PASSWORD_KEYS: Final = frozenset(
    {
        "metrics.otlp.headers",
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
"""The names that are typed as password, in every definition of Java's and ours."""

_CODE_KEYS: Final = (".message.handler.args", ".arrow.function.args")
_SQL: Final = "transforms.sql."
_SECRET_WORD: Final = re.compile(
    r"(?:(?:password|passwd|passphrase|secret|credential|token|apikey)s?"
    r"|(?:^|[.\-_])(?:jaas|pwd|private[.\-_]?key|api[.\-_]?key|access[.\-_]?key))(?:$|[.\-_])",
    re.IGNORECASE,
)
_HARMLESS: Final = re.compile(r"\.(?:url|class|file|location|type|ms|seconds|id|name)$")
_REST_OF_KEY: Final = re.compile(r"(->\s*[^\s=:]+)(?:\s*[=:]\s*|\s+)")
_URL_PASSWORD: Final = re.compile(r"(?<=://)([^/\s:@]*):([^/\s@]+)(?=@)")


def is_secret(key: str) -> bool:
    """
    Whether the value of ``key`` must not be shown, whatever prefixes stand before its name.

    Everything under ``config.providers.<name>.param.`` but the two well-known parameters counts as
    secret only if it is named like one; so does any other key that no definition types.
    """
    if any(key == name or key.endswith(f".{name}") for name in PASSWORD_KEYS):
        return True
    return _SECRET_WORD.search(key) is not None and _HARMLESS.search(key) is None


def is_for_code(key: str) -> bool:
    """
    Whether the value of ``key``, whatever prefixes stand before its name, is read by code.

    It is shown as it is written. What a provider puts into it is not: that is a salt or a key.
    """
    _, sql, column = f".{key}".rpartition(f".{_SQL}")
    return bool(sql and column != "topics") or f".{key}".endswith(_CODE_KEYS)


def shown(key: str, value: str) -> str:
    """
    The value as it may be shown.

    A provider expression is shown although its key is secret: it is where to look, not what is
    there. Where a blank has ended a key before its arrow (``A -> B.sasl.jaas.config = ...``), the
    rest of the key counts, too.
    """
    if is_secret(key) and not is_of_expressions(value):
        return HIDDEN
    if found := _REST_OF_KEY.match(value):
        return found[0] + shown(f"{key}{found[1]}", value[found.end() :])
    return _URL_PASSWORD.sub(_without_password, value)


def _without_password(login: re.Match[str]) -> str:
    return login[0] if is_of_expressions(login[2]) else f"{login[1]}:{HIDDEN}"


def holds_secret(key: str, value: str) -> bool:
    """Whether the value must not be shown as it is: an expression of a provider may be."""
    return shown(key, value) != value


def redacted(properties: Mapping[str, str]) -> dict[str, str]:
    """A copy in which every secret is hidden."""
    return {key: shown(key, value) for key, value in properties.items()}


def as_written(error: ConfigError, raw: Mapping[str, str]) -> ConfigError:
    """The same mistake without what providers have read, and without the value of a secret key."""
    key, written = error.key or "", raw.get(error.key or "", "")
    message, value = hide(error.message), error.value and hide(error.value)
    suggestion = error.suggestion
    has_expression = next(expressions(written), None) is not None
    if has_expression and error.value not in {None, HIDDEN, written, shown(key, written)}:
        # The message may say the value in part, in other words, or beside what was written.
        value, suggestion = shown(key, written), None
        message = f"{key} = {value}: what this stands for is not valid"
    elif shown(key, written) == HIDDEN:
        message, value = Screen(secrets_of(written, HIDDEN)).hide(message), value and HIDDEN
    return ConfigError(message, key=error.key, value=value, line=error.line, suggestion=suggestion)


def with_secrets(config: Mapping[str, str], before: Mapping[str, str]) -> dict[str, str]:
    """
    A configuration that a client sends back, with the secrets that it was not shown.

    Raises:
        ConfigErrors: something hidden stands where nothing was shown like that.
    """
    found = {
        key: before[key] if key in before and value == shown(key, before[key]) else value
        for key, value in config.items()
    }
    if strange := [key for key in found if HIDDEN in found[key] and found[key] != before.get(key)]:
        message = f"has {HIDDEN} in it, which stands for nothing here: write the value"
        raise ConfigErrors([ConfigError(f"{key} {message}", key=key) for key in strange])
    return found
