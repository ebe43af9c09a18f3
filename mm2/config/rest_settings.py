"""Reads the settings of the REST interface: from a mirror's file, or a Connect worker's."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from mm2.config.keys.definition import by_line, parse_all
from mm2.config.keys.key_table import TABLE
from mm2.config.keys.key_types import Value
from mm2.config.keys.keys_top import (
    METRICS_LISTENERS,
    REST_ENABLED,
    REST_KEYS,
    REST_PASSWORDS,
    REST_PROVIDERS,
    REST_READ_ONLY,
    TLS_PREFIX,
    HeaderRule,
    header_rules,
)
from mm2.config.metrics_settings import MetricsSettings, read_metrics
from mm2.config.mirror_maker_config import MirrorMakerConfig
from mm2.errors import ConfigError, ConfigErrors

LISTENERS: Final = "listeners"
EXTENSIONS: Final = "rest.extension.classes"

_ORIGINS: Final = "access.control.allow.origin"
_METHODS: Final = "access.control.allow.methods"
_HEADERS: Final = "response.http.headers.config"
_CLIENT_AUTH: Final = "ssl.client.auth"
_JAVA_KEYS: Final = (
    LISTENERS,
    "rest.advertised.host.name",
    "rest.advertised.port",
    "rest.advertised.listener",
    _ORIGINS,
    _METHODS,
    _HEADERS,
    _CLIENT_AUTH,
    EXTENSIONS,
)
_KEYS: Final = {name: TABLE[name] for name in (*_JAVA_KEYS, *(key.name for key in REST_KEYS))}
_LISTENER: Final = re.compile(r"(.*)://\[?([0-9a-zA-Z\-%._:]*)\]?:(-?[0-9]+)")
_CLIENT_AUTHS: Final = ("required", "requested", "none")
_BASIC_AUTH: Final = "org.apache.kafka.connect.rest.basic.auth.extension."
_MOST_PORT: Final = 65535
_DEFAULT_METHODS: Final = ("GET", "POST", "HEAD")


@dataclass(frozen=True, slots=True)
class Listener:
    """Where to listen; an empty host is every interface, port 0 any that is free."""

    scheme: str
    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}"

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach it."""
        return self.host in {"localhost", "::1"} or self.host.startswith("127.")


DEFAULT_LISTENER: Final = Listener("http", "127.0.0.1", 8083)
"""Where to listen when nobody says; Java listens on every interface."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RestSettings:
    """
    How the REST interface is served.

    Attributes:
        listeners: of the REST interface; none if only metrics are served.
        by_default: whether nobody has said where, so that another port will do.
        advertised_host: the host of the URL that is told to others; None is the listener's.
        advertised_port: its port; None is the listener's.
        advertised_scheme: which listener it names; None is http, if there is one.
        origins: patterns of the origins of web pages that may call it; "*" is any.
        read_only_by_default: whether nobody has said so, and it does because nobody logs in.
        providers: whether configurations may have new expressions of config providers; None if the
            file does not say.
        passwords_file: None lets everybody use it.
        tls: Java's ``ssl.*`` keys of https listeners.
        client_auth: "required", "requested" or "none": certificates of clients.
        metrics_listeners: where metrics alone are served, beside the other listeners.
    """

    listeners: tuple[Listener, ...] = (DEFAULT_LISTENER,)
    by_default: bool = True
    advertised_host: str | None = None
    advertised_port: int | None = None
    advertised_scheme: str | None = None
    origins: tuple[str, ...] = ()
    methods: tuple[str, ...] = _DEFAULT_METHODS
    headers: tuple[HeaderRule, ...] = ()
    read_only: bool = False
    read_only_by_default: bool = False
    providers: bool | None = None
    passwords_file: str | None = None
    tls: Mapping[str, str] = field(default_factory=dict, repr=False)
    client_auth: str = "none"
    metrics: MetricsSettings = field(default_factory=MetricsSettings)
    metrics_listeners: tuple[Listener, ...] = ()

    @property
    def has_login(self) -> bool:
        """Whether all who reach a listener have to say who they are."""
        shows_certificate = self.client_auth == "required"
        return self.passwords_file is not None or (
            shows_certificate and all(each.scheme == "https" for each in self.listeners)
        )


def rest_of_file(maker: MirrorMakerConfig) -> RestSettings | None:
    """
    The settings that a mirror's file asks for; None if there is to be no REST interface.

    Java's dedicated nodes have none: who cannot be told from others changes nothing by default.

    Raises:
        ConfigErrors: all that is wrong with them, with the lines of the file.
    """
    own = {key: value for key, value in maker.originals.items() if _is_own(key)}
    try:
        found = read_rest(maker.resolve(own))
    except ConfigErrors as errors:
        raise ConfigErrors(sorted(map(maker.located, errors.problems), key=by_line)) from errors
    if found is None or found.has_login or REST_READ_ONLY in own:
        return found
    return replace(found, read_only=True, read_only_by_default=True)


def _is_own(key: str) -> bool:
    return key in _KEYS or key.startswith((TLS_PREFIX, "ssl."))


def read_rest(properties: Mapping[str, str]) -> RestSettings | None:
    """
    The settings that top-level keys ask for; None if there is to be no REST interface.

    Raises:
        ConfigErrors: all that is wrong with them.
    """
    values, mistakes = parse_all(_KEYS, properties)
    mistakes += [*_mistakes(values), *_tls_mistakes(_tls(properties))]
    if mistakes:
        raise ConfigErrors(mistakes)
    metrics_listeners = tuple(map(_parsed, _words(values[METRICS_LISTENERS])))
    has_rest = values[REST_ENABLED] is not False
    if not has_rest and not metrics_listeners:
        return None
    tls = _tls(properties)
    return RestSettings(
        listeners=_listeners(properties, values) if has_rest else (),
        by_default=has_rest and LISTENERS not in properties,
        advertised_host=_text(values["rest.advertised.host.name"]),
        advertised_port=_number(values["rest.advertised.port"]),
        advertised_scheme=_text(values["rest.advertised.listener"]),
        origins=_split(values[_ORIGINS]),
        methods=_split(values[_METHODS]) or _DEFAULT_METHODS,
        headers=tuple(header_rules(str(values[_HEADERS] or ""))),
        read_only=values[REST_READ_ONLY] is True,
        providers=None if values[REST_PROVIDERS] is None else values[REST_PROVIDERS] is True,
        passwords_file=_text(values[REST_PASSWORDS]),
        tls=tls,
        client_auth=tls.get(_CLIENT_AUTH, "none"),
        metrics=read_metrics(properties),
        metrics_listeners=metrics_listeners,
    )


def _listeners(properties: Mapping[str, str], values: Mapping[str, Value]) -> tuple[Listener, ...]:
    if LISTENERS not in properties:
        return (DEFAULT_LISTENER,)
    return tuple(map(_parsed, _words(values[LISTENERS])))


def _mistakes(values: Mapping[str, Value]) -> Iterator[ConfigError]:
    for key in (LISTENERS, METRICS_LISTENERS):
        for written in _words(values.get(key)):
            if complaint := _complaint(written):
                yield ConfigError(f"{key}: {complaint}", key=key, value=written)
    advertised = _text(values.get("rest.advertised.listener"))
    if advertised and advertised.lower() not in {"http", "https"}:
        message = f"rest.advertised.listener is {advertised}: must be http or https"
        yield ConfigError(message, key="rest.advertised.listener", value=advertised)
    has_passwords = bool(_text(values.get(REST_PASSWORDS)))
    for extension in _words(values.get(EXTENSIONS)):
        if not extension.startswith(_BASIC_AUTH):
            message = f"{EXTENSIONS}: {extension} cannot be loaded, as it is written in Java"
            yield ConfigError(message, key=EXTENSIONS, value=extension)
        elif not has_passwords:
            message = (
                f"{EXTENSIONS} asks for basic authentication: name its file of passwords in"
                f" {REST_PASSWORDS}, since java.security.auth.login.config is not read"
            )
            yield ConfigError(message, key=EXTENSIONS, value=extension)


def _tls_mistakes(tls: Mapping[str, str]) -> Iterator[ConfigError]:
    """The one key of them that the table's check does not see below its prefix."""
    written = tls.get(_CLIENT_AUTH, "none")
    if written not in _CLIENT_AUTHS:
        message = f"{_CLIENT_AUTH} is {written}: must be one of {', '.join(_CLIENT_AUTHS)}"
        yield ConfigError(message, key=f"{TLS_PREFIX}{_CLIENT_AUTH}", value=written)


def _complaint(written: str) -> str | None:
    found = _LISTENER.fullmatch(written)
    if found is None:
        return f"'{written}' is not protocol://host:port, for example http://127.0.0.1:8083"
    if found[1].lower() not in {"http", "https"}:
        return f"the protocol of '{written}' must be http or https"
    if not 0 <= int(found[3]) <= _MOST_PORT:
        return f"the port of '{written}' must be 0 to {_MOST_PORT}"
    return None


def _parsed(written: str) -> Listener:
    found = _LISTENER.fullmatch(written)
    assert found is not None  # noqa: S101 - listeners with mistakes do not come here
    return Listener(found[1].lower(), found[2], int(found[3]))


def _tls(properties: Mapping[str, str]) -> dict[str, str]:
    """The keys with the prefix if there is any of them, else those without: all or nothing."""
    own = {
        key.removeprefix(TLS_PREFIX): value
        for key, value in properties.items()
        if key.startswith(TLS_PREFIX)
    }
    return own or {key: value for key, value in properties.items() if key.startswith("ssl.")}


def _words(value: Value) -> tuple[str, ...]:
    return value if isinstance(value, tuple) else ()


def _split(value: Value) -> tuple[str, ...]:
    return tuple(word for part in str(value or "").split(",") if (word := part.strip()))


def _text(value: Value) -> str | None:
    return str(value) if value else None


def _number(value: Value) -> int | None:
    return value if isinstance(value, int) else None
