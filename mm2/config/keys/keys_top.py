"""The keys of the whole process: Java's ``MirrorMakerConfig``, its REST server's, and ours."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from mm2.config.keys.definition import Check, Definition, Key
from mm2.config.keys.effects import PROCESS, VALUES
from mm2.config.keys.key_types import Type, Value, java_trim, split_list
from mm2.config.keys.value_checks import between, items, one_of

REST_ENABLED: Final = "rest.enabled"
REST_READ_ONLY: Final = "rest.read.only"
REST_PROVIDERS: Final = "rest.config.providers.enabled"
REST_PASSWORDS: Final = "rest.basic.auth.file"
METRICS_ENABLED: Final = "metrics.enabled"
METRICS_LISTENERS: Final = "metrics.listeners"
METRICS_ALIASES: Final = "metrics.name.aliases"
METRICS_GROUPS: Final = "metrics.groups.max"
OTLP_ENDPOINT: Final = "metrics.otlp.endpoint"
OTLP_HEADERS: Final = "metrics.otlp.headers"
OTLP_INTERVAL: Final = "metrics.otlp.interval.ms"
SNAKE: Final = "snake"
REPORTER: Final = "reporter"
METRIC_ALIASES: Final = (SNAKE, REPORTER)
"""Spellings of metrics beside those of Strimzi's rules for the JMX exporter."""
ALLOWED_PREFIXES: Final = "plugin.allowed.prefixes"
TLS_PREFIX: Final = "listeners.https."
"""Begins the TLS keys of the REST interface alone (C363)."""
_M: Final = frozenset({Definition.MAKER})
_EVERYWHERE: Final = frozenset(
    {
        Definition.MAKER,
        Definition.SOURCE,
        Definition.CHECKPOINT,
        Definition.HEARTBEAT,
        Definition.WORKER,
    }
)
_HEADER_ACTIONS: Final = ("set", "add", "setDate", "addDate")
_BLANKS: Final = re.compile(r"\s+", re.ASCII)
_HEADER_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
# Jetty's way to split: quoted items keep their commas, and what follows the quote is dropped.
_CSV: Final = re.compile(
    r'\s*(?:"(?P<quoted>(?:[^"\\]|\\.)*)(?:"[^,]*|\\?\Z)|(?P<bare>[^,]*?))\s*(?:,|\Z)', re.DOTALL
)


def _listeners(value: Value) -> str | None:
    return (
        None
        if isinstance(value, tuple) and value and all(value)
        else "at least one URL is needed, none empty"
    )


def _header_complaint(value: Value) -> str | None:
    """Java's ``RestServerConfig.validateHttpResponseHeaderConfig`` for each rule."""
    complaints = map(_complaint_of_rule, _csv(str(value or "")))
    return next((complaint for complaint in complaints if complaint), None)


class HeaderRule(NamedTuple):
    """What ``response.http.headers.config`` says of one header: set, add, setDate or addDate."""

    action: str
    name: str
    value: str


def header_rules(text: str) -> Iterator[HeaderRule]:
    """The rules of a text that has passed its check."""
    for rule in _csv(text):
        action, header = _BLANKS.split(java_trim(rule), maxsplit=1)
        name, value = java_trim(header).split(":")[:2]
        yield HeaderRule(action, java_trim(name), java_trim(value))


def _csv(text: str) -> Iterator[str]:
    rest = text
    while rest.strip():
        item = _CSV.match(rest)
        assert item is not None  # noqa: S101 - the pattern matches every text
        quoted: str | None = item["quoted"]
        yield item["bare"] if quoted is None else re.sub(r"(?s)\\(.)", r"\1", quoted)
        rest = rest[item.end() :]


def _complaint_of_rule(rule: str) -> str | None:
    action, *rest = _BLANKS.split(java_trim(rule), maxsplit=1)
    name, *values = java_trim(rest[0] if rest else "").rstrip(":").split(":")
    if (
        action not in _HEADER_ACTIONS
        or len(values) != 1
        or not name
        or _BLANKS.search(java_trim(name))
    ):
        return f"'{rule}' is not '[action] [header name]:[header value]'"
    return None


def _endpoint_complaint(value: Value) -> str | None:
    url = urlsplit(str(value or "http://none"))
    if url.scheme in {"http", "https"} and url.hostname and not url.query and not url.fragment:
        return None
    return "must be a URL such as http://collector:4318 or https://collector:4318/v1/metrics"


def _http_headers_complaint(value: Value) -> str | None:
    """Says which header is wrong by its place, as its text may be a secret."""
    for number, (name, text) in enumerate(http_headers(str(value or "")), 1):
        is_sent = bool(text) and text.isprintable() and text.isascii()
        if not is_sent or not _HEADER_NAME.fullmatch(name):
            return f"header {number} is not name=value; headers are separated by commas"
    return None


def http_headers(text: str) -> Iterator[tuple[str, str]]:
    """Names and values of headers that are written ``name=value,name=value``."""
    for each in split_list(text):
        name, _, value = each.partition("=")
        yield name.strip(), value.strip()


_rest: Final = partial(
    Key, definitions=frozenset({Definition.MAKER, Definition.WORKER}), effects=PROCESS
)


def _own(name: str, type_: Type, default: str | None, doc: str, check: Check | None = None) -> Key:
    return Key(
        name,
        type_,
        default,
        f"{doc} Not a key of Kafka's.",
        importance="MEDIUM",
        definitions=frozenset({Definition.OWN, Definition.MAKER}),
        effects=PROCESS,
        check=check,
    )


# fmt: off
TOP_KEYS: Final = (
    Key("clusters", Type.LIST, None, "Aliases of the clusters, separated by commas.",
        importance="HIGH", definitions=_M, required=True, check=items()),
    Key("dedicated.mode.enable.internal.rest", Type.BOOLEAN, "false",
        "Whether nodes talk to each other through REST.", importance="HIGH", definitions=_M,
        ignored="nodes talk to each other through Kafka", effects=PROCESS),
    Key("config.providers", Type.LIST, "",
        "Names of the providers of ${provider:key} values; each has a"
        " config.providers.<name>.class.",
        definitions=_EVERYWHERE, check=items(), effects=VALUES),
    _rest("listeners", Type.LIST, "http://:8083",
        "Where the REST server listens: http://host:port or https://host:port, port 0 for any"
        " that is free. Left out, it is http://127.0.0.1:8083 here, or the next port that is"
        " free.", check=_listeners),
    _rest("rest.advertised.host.name", Type.STRING, None,
        "Host by which other nodes reach this one."),
    _rest("rest.advertised.port", Type.INT, None, "Port by which other nodes reach this one."),
    _rest("rest.advertised.listener", Type.STRING, None,
        "Listener (http or https) for other nodes."),
    _rest("access.control.allow.origin", Type.STRING, "",
        "Origins of web pages that may call the REST server."),
    _rest("access.control.allow.methods", Type.STRING, "", "Methods that such pages may call."),
    _rest("response.http.headers.config", Type.STRING, "",
        "Headers of every REST answer: '[action] [header name]:[header value]', separated by"
        " commas.", check=_header_complaint),
    _rest("ssl.client.auth", Type.STRING, "none",
        "Whether the REST server asks its clients for a certificate.",
        check=one_of("required", "requested", "none")),
)

REST_KEYS: Final = (
    _own(REST_ENABLED, Type.BOOLEAN, "true", "Whether this node serves the REST interface."),
    _own(REST_READ_ONLY, Type.BOOLEAN, None,
        "Whether the REST interface only shows: requests that change anything are answered 403."
        " Default: true for dedicated nodes, unless all who reach a listener have to log in, by"
        " rest.basic.auth.file or https with listeners.https.ssl.client.auth=required; false for"
        " Connect's workers."),
    _own(REST_PROVIDERS, Type.BOOLEAN, None,
        "Whether configurations that come over REST, or as alterations of a mirror's flow, may"
        " have new expressions of config providers. Unset: not in a mirror's file; in a Connect"
        " worker's file those of the worker's own providers, as in Connect. With false: none. With"
        " true: all, and in a Connect worker also keys below config.providers, which a mirror never"
        " takes. Expressions that are there already may be sent back unchanged."),
    _own(REST_PASSWORDS, Type.STRING, "",
        "File with the names and passwords of those who may use the REST interface (HTTP basic"
        " authentication). It has a line name=password for each, as for Kafka's"
        " PropertyFileLoginModule."
        " Empty: everybody who can reach it."),
    _own(METRICS_ENABLED, Type.BOOLEAN, "true", "Whether this node serves metrics, at /metrics."),
    _own(METRICS_LISTENERS, Type.LIST, "",
        "Where metrics and health alone are served, without a login: http://host:port or"
        " https://host:port."
        " Empty: on the REST interface's listeners."),
    _own(METRICS_ALIASES, Type.LIST, "",
        "Other names under which Java's metrics are exported, too: snake, for"
        " kafka_connect_mirror_source_connector_*; reporter, for those of Strimzi's metrics"
        " reporter.", check=items(allowed=METRIC_ALIASES)),
    _own(METRICS_GROUPS, Type.INT, "1000",
        "Partitions of consumer groups of each flow that have metrics; those with the newest"
        " checkpoints do.", check=between(0)),
    _own(OTLP_ENDPOINT, Type.STRING, "",
        "URL of an OpenTelemetry collector to which metrics are sent, by OTLP over HTTP with"
        " Protocol Buffers. Without a path, /v1/metrics is added. Needs the extra mm2[otel]. Empty:"
        " none are sent.", check=_endpoint_complaint),
    _own(OTLP_HEADERS, Type.PASSWORD, "",
        "Headers of each request to the collector, such as Authorization=Bearer ...: name=value,"
        " separated by commas.", check=_http_headers_complaint),
    _own(OTLP_INTERVAL, Type.LONG, "60000", "How often metrics are sent to the collector, in ms.",
        check=between(1000)),
    _own(ALLOWED_PREFIXES, Type.LIST, "",
        "Packages, modules or classes in Python (acme.mirror, acme.mirror:Filter) whose classes"
        " may be named over REST, by mm2 flows alter, and by connectors of Connect's workers."
        " Ours always may, and those that the file itself names."),
)
