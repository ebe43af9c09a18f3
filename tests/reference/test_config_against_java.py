"""
Our configuration beside Java's own classes, on generated files.

Java answers in one process. Where Java rejects a file, so must we; where it takes one, every value
of every map must be the same.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest
from hypothesis import HealthCheck, event, example, given, settings
from hypothesis import strategies as st

from mm2.config.clients import data_producer_properties
from mm2.config.definition import Definition, Type
from mm2.config.dump import dump
from mm2.config.java_classes import JAVA_CLASSES
from mm2.config.keys import CLIENT_NAMES, CONNECTOR_NAMES, MAKER_KEYS, TABLE
from mm2.config.maker import MirrorMakerConfig
from mm2.config.properties import parse
from mm2.config.reading import (
    Parsed,
    checkpoint_refusals,
    parse_connector,
    read_checkpoint,
    read_source,
)
from mm2.core.model import SOURCE_CONNECTOR, ClusterAlias, SourceAndTarget
from mm2.errors import ConfigError
from tests.reference.java_config import JavaConfig, java_config
from tests.support.layout import render

pytestmark = pytest.mark.reference

_ENVIRONMENT = {"MM2_ONE": "eins", "MM2_TWO": "zwei,drei", "MM2_TRUE": "true", "OTHER": "x"}
_QUICK = settings(
    max_examples=int(os.environ.get("MM2_CONFIG_EXAMPLES", "400")),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
_PROVIDER = "org.apache.kafka.common.config.provider."


@pytest.fixture(scope="module")
def secrets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What file and directory providers read."""
    folder = tmp_path_factory.mktemp("secrets")
    (folder / "some.properties").write_text(
        "one=eins\ntwo = zwei \\\n  drei\numl=ä\none\\:two=both\n", encoding="utf-8"
    )
    (folder / "plain").write_text("content\nwith line end\n", encoding="utf-8")
    (folder / "latin").write_bytes(b"\xe4")
    (folder / "below").mkdir()
    return folder


@pytest.fixture(scope="module")
def java(tmp_path_factory: pytest.TempPathFactory) -> Iterator[JavaConfig]:
    """Java, running for the whole module."""
    with java_config(tmp_path_factory.mktemp("classes"), _ENVIRONMENT) as running:
        yield running


_SYNTAX = st.lists(
    st.sampled_from(
        [
            *(bytes([byte]) for byte in b"ab=: \t\f\r\n\\#!\\\n0u$"),
            b"\\u00e4",
            b"\\ud83d",
            b"\\ude00",
            b"\\u12",
            b"\r\n",
            b"\\\n",
            b"\\\r\n",
            b"->",
            b"${a:b}",
            b"\xe4",
            b"\x00",
        ]
    ),
    max_size=24,
).map(b"".join)


@given(data=st.one_of(_SYNTAX, st.binary(max_size=40)))
@example(data=b"  \\\n# no comment?\nkey=value")
@example(data=b"\\")
@example(data=b"a=1\n \\\n\nb=2")
@_QUICK
def test_files_are_parsed_as_by_java_util_properties(java: JavaConfig, data: bytes) -> None:
    """C003, and the one class of input in which javaproperties differs."""
    theirs = java.ask("p", data)
    try:
        ours: dict[str, str] = dict(parse(data).values)
    except ConfigError:
        ours = {"error": "Malformed \\uxxxx encoding."}
    assert _utf16(ours) == _utf16(cast("dict[str, str]", theirs))


def _utf16(properties: dict[str, str]) -> dict[bytes, bytes]:
    """Java's strings are UTF-16, in which two escapes may make one character."""
    return {_units(key): _units(value) for key, value in properties.items()}


def _units(text: str) -> bytes:
    return text.encode("utf-16-le", "surrogatepass")


_ALIASES = ("A", "B", "C")
_FLOWS = tuple(f"{s}->{t}" for s in (*_ALIASES, "X") for t in _ALIASES if s != t)
_BOOLEANS = ("true", "false", "TRUE", " true", "true ", "yes", "1", "", "False\\ ")
_LISTS = ("a", "a, b", "a,", ",", "", "a,,b", " ", "a , a,b", r"t\\.x.*, \\w+")
_NUMBERS = (
    "0x1p3",
    "-0X.8P-1f",
    "1e400",
    "Infinity",
    ".5",
    "5.",
    "9223372036854775808",
    "32768",
    "1",
    "0",
    "-1",
    "+7",
    "1.5",
    "x",
    "",
    "99999999999",
    "3600",
    "3601",
    "0x10",
    "1e3",
    "1d",
    "NaN",
    "٣",
)
_WORDS = (
    "plaintext",
    "SASL_ssl",
    "abc",
    "none",
    "required",
    "legacy",
    "source",
    "x y",
    "é",
    "a\\tb",
)
_EXPRESSIONS = (
    "${env:MM2_ONE}",
    "${env:MM2_TWO}",
    "${env:MM2_TRUE}",
    "a${env:MM2_ONE}b${env:NONE}c",
    "${env:OTHER}",
    "${file:SECRETS/some.properties:one}",
    "${file:SECRETS/some.properties:two}",
    "${file:SECRETS/some.properties:uml}",
    "${file:SECRETS/below/../some.properties:one}",
    "${file::one}",
    "${dir:SECRETS:plain}",
    "${dir:SECRETS:none}",
    "${dir:SECRETS/none:plain}",
    "${nobody:x}",
    "${env:${env:MM2_ONE}}",
    "${:x}",
    "${env::MM2_ONE}",
    "${file:SECRETS/some.properties:one:two}",
    "${nobody:a:b:c} ${dir:SECRETS:plain:x}",
    "${env:}",
)
_FAILING = (
    "${env:/x:MM2_ONE}",
    "${file:SECRETS/none:one}",
    "${file:SECRETS/latin:one}",
    "${dir:SECRETS:latin}",
)
_LEVELS = (
    "",
    *(f"{a}." for a in _ALIASES),
    *(f"{f}." for f in _FLOWS),
    "X.",
    "a.",
    "A->",
    ".",
    "A.B.",
    "A.B->A.",
    "config.",
    "consumer.",
    "A->B->C.",
    "\\u00e9.",
)
_CLIENT_LEVELS = tuple(
    level + kind
    for level in ("", "A.", "B.", "A->B.", "A->B.source.", "source.")
    for kind in ("producer.", "consumer.", "admin.")
)
_OTHERS = (
    "xxx",
    "offset.storage.replication.factor",
    "offset.storage",
    "offset.storagex",
    "status.storage.topic",
    "config.storage.topic",
    "key.converter.schemas.enable",
    "task.shutdown.graceful.timeout.ms",
    "tasks.max",
    "worker.sync.timeout.ms",
    "replication.policy.mine",
    "replication.policy.separator",
    "client.id",
    "group.id",
    "name",
    "connector.class",
    "source.cluster.alias",
    "use.defaults.from",
    "consumerfoo",
    "consumer\\nfoo",
    "admin\\u2028",
    "providers",
    "storage.topic",
    "adminx.y",
    "consumer.poll.timeout.ms",
    "admin.timeout.ms",
    "rename.topics",
    "refresh.topics",
    "topics.blacklist",
    "emit.heartbeats",
    "remote.admin.x",
    "heartbeats.topic.retention.ms",
    "spark.master",
    "transforms.x.type",
    "producer.override.acks",
)
_CLASSES = (
    *sorted(JAVA_CLASSES),
    "org.apache.kafka.common.security.NoSuchLogin",
    "com.example.Mine",
    " org.apache.kafka.common.security.authenticator.DefaultLogin ",
    "",
)
_CLASS_KEYS = sorted(name for name, key in MAKER_KEYS.items() if key.type is Type.CLASS)
_HEADERS = st.lists(
    st.sampled_from(
        (
            "set",
            "add",
            "setDate",
            "Set",
            "X-Frame",
            "a",
            ":",
            ": ",
            " ",
            "b c",
            ",",
            '"',
            "\\\\",
            "'",
        )
    ),
    max_size=9,
).map("".join)
_VALUES = st.sampled_from((*_BOOLEANS, *_LISTS, *_NUMBERS, *_WORDS, *_EXPRESSIONS))
_NAMES = st.one_of(
    st.sampled_from(sorted(CONNECTOR_NAMES)),
    st.sampled_from(sorted(CLIENT_NAMES)),
    st.sampled_from(sorted(MAKER_KEYS)),
    st.sampled_from(_OTHERS),
)
_BELOW = st.sampled_from(_LEVELS[1:])
_SWITCH_LEVELS = st.sampled_from(("", *(f"{flow}." for flow in _FLOWS)))
_LINE = st.one_of(
    st.tuples(_BELOW, _NAMES, _VALUES),
    st.tuples(_BELOW, st.sampled_from(_OTHERS), _VALUES),
    st.tuples(st.sampled_from(("A.", "B.", "A->B.")), st.sampled_from(_OTHERS), _VALUES),
    st.tuples(st.sampled_from(_CLIENT_LEVELS), st.sampled_from(sorted(CLIENT_NAMES)), _VALUES),
    st.tuples(st.just(""), st.sampled_from(sorted(CONNECTOR_NAMES - MAKER_KEYS.keys())), _VALUES),
    st.tuples(st.just(""), st.sampled_from(_OTHERS), _VALUES),
    st.tuples(_SWITCH_LEVELS, st.just("enabled"), st.sampled_from(_BOOLEANS)),
    st.tuples(
        _SWITCH_LEVELS,
        st.just("emit.heartbeats.enabled"),
        st.sampled_from((*_BOOLEANS, "${env:MM2_TRUE}")),
    ),
)
_REJECTABLE = st.one_of(
    st.tuples(st.just(""), st.sampled_from(_CLASS_KEYS), st.sampled_from(_CLASSES)),
    st.tuples(st.just(""), st.just("response.http.headers.config"), _HEADERS),
    st.tuples(st.just(""), st.just("response.http.headers.config"), st.just("set A:b, add C: d")),
    st.tuples(st.just(""), st.sampled_from(sorted(MAKER_KEYS)), _VALUES),
    st.tuples(_BELOW, _NAMES, st.sampled_from(_FAILING)),
)
# Most files stand, and are long enough to say something at every level.
_LINES = st.tuples(
    st.lists(_LINE, min_size=4, max_size=30),
    st.one_of(st.just([]), st.just([]), st.lists(_REJECTABLE, max_size=2)),
).map(lambda parts: [*parts[0], *parts[1]])
_GOOD_CLUSTERS = ("A, B", "A,B,C", "B , A , B", "A,B") * 4
# Names that look like parts of keys.
_ODD_CLUSTERS = (
    "A.B, A",
    "config, offset",
    "consumer, A",
    "source, target",
    "A->B, C",
    "\\u00e9, x y",
)
_CLUSTERS = st.sampled_from(
    (*_GOOD_CLUSTERS, *_ODD_CLUSTERS, "A", "", "A,,B", "A,", "${env:MM2_TWO}", None, "A,B,A->B")
)
_PROVIDERS = st.fixed_dictionaries(
    {
        "names": st.sampled_from(
            (None, None, "env,file,dir", "env,file,dir", "env, file, dir", "file,nobody,env ", "")
        ),
        "env": st.sampled_from(("EnvVarConfigProvider",) * 9 + ("Nonsense",)),
        "short": st.sampled_from((False,) * 9 + (True,)),
        "allowlist": st.sampled_from((None, None, "MM2_.*", "OTHER")),
        "paths": st.sampled_from(
            (None,) * 8 + ("SECRETS", "SECRETS/below", "relative", "/does/not/exist", "SECRETS,/,")
        ),
    }
)


def _provider_lines(providers: dict[str, str | bool | None]) -> list[str]:
    names = providers["names"]
    if names is None:
        return []
    package = "" if providers["short"] else _PROVIDER
    lines = [
        f"config.providers={names}",
        f"config.providers.env.class={_PROVIDER}{providers['env']}",
        f"config.providers.file.class={package}FileConfigProvider",
        f"config.providers.dir.class={package}DirectoryConfigProvider",
    ]
    if providers["allowlist"]:
        lines.append(f"config.providers.env.param.allowlist.pattern={providers['allowlist']}")
    if providers["paths"]:
        lines.append(f"config.providers.file.param.allowed.paths={providers['paths']}")
        lines.append(f"config.providers.dir.param.allowed.paths={providers['paths']}")
    return lines


@given(
    clusters=_CLUSTERS,
    lines=_LINES,
    providers=_PROVIDERS,
)
@settings(_QUICK, max_examples=int(os.environ.get("MM2_CONFIG_EXAMPLES", "700")))
def test_every_map_equals_the_one_that_java_computes(
    java: JavaConfig,
    secrets: Path,
    clusters: str | None,
    lines: list[tuple[str, str, str]],
    providers: dict[str, str | bool | None],
) -> None:
    """C006-C011, C012-C019, C021-C025, C035-C066, C454, C456."""
    text = [] if clusters is None else [f"clusters = {clusters}"]
    text += [f"{level}{name} = {value}" for level, name, value in lines]
    text += _provider_lines(providers)
    data = "\n".join(text).replace("SECRETS", str(secrets)).encode("iso-8859-1", "backslashreplace")
    theirs = java.ask("d", data)
    ours = dump(data, {**os.environ, **_ENVIRONMENT})
    event("rejected" if "error" in theirs else f"{len(cast('list[str]', theirs['flows']))} flows")
    if "error" in theirs:
        assert "error" in ours, (theirs, data)
    else:
        assert ours == theirs


def test_every_known_key_goes_where_java_takes_it_at_every_level(java: JavaConfig) -> None:
    """C021-C025, C036, C044-C050, C055: one file that holds them all."""
    names = sorted(TABLE.keys() | CLIENT_NAMES | set(_OTHERS))
    below = [f"{level}{name}" for level in ("A.", "A.producer.", "B.", "A->B.") for name in names]
    keys = [name for name in names if name not in MAKER_KEYS and name != "plugin.discovery"] + below
    lines = ["clusters=A,B", "ssl.key.password=top", "sasl.mechanism=top"]
    lines += [f"{key}=value {number}" for number, key in enumerate(keys)]
    data = "\n".join(lines).encode()
    assert dump(data) == java.ask("d", data)


_CONNECTOR_VALUES = {
    "name": "ConnectorName",
    "connector.class": "x.Y",
    "source.cluster.alias": "source1",
    "target.cluster.alias": "target2",
}
_CLIENT_SETTINGS = st.dictionaries(
    st.tuples(
        st.sampled_from(
            (
                "source.cluster.",
                "target.cluster.",
                "source.",
                "target.",
                "",
                "source.cluster.consumer.",
            )
        ),
        st.sampled_from(("producer.", "consumer.", "admin.", "")),
        st.sampled_from(
            (
                "client.id",
                "bootstrap.servers",
                "sasl.kerberos.kinit.cmd",
                "acks",
                "auto.offset.reset",
                "enable.auto.commit",
                "isolation.level",
                "xxx",
                "poll.timeout.ms",
                "",
            )
        ),
    ).map("".join),
    st.sampled_from(("7", "11")),
    max_size=8,
)


@given(extra=_CLIENT_SETTINGS, location=st.sampled_from(("source", "target")))
@_QUICK
def test_clients_of_connectors_are_composed_as_by_java(
    java: JavaConfig, extra: dict[str, str], location: str
) -> None:
    """C071-C080, C102-C104."""
    properties = {**extra, **_CONNECTOR_VALUES, "offset-syncs.topic.location": location}
    theirs = java.ask("c", render(properties).encode())
    flow = SourceAndTarget(ClusterAlias("source1"), ClusterAlias("target2"))
    source = read_source(flow, _parsed(Definition.SOURCE, properties))
    checkpoint = read_checkpoint(flow, _parsed(Definition.CHECKPOINT, properties))
    assert theirs == {
        "source_consumer": source.source_consumer("r"),
        "source_producer": source.source_producer("r"),
        "source_admin": source.source_admin("r"),
        "target_consumer": source.target_consumer("r"),
        "target_producer": source.target_producer("r"),
        "target_admin": source.target_admin(None),
        "offset_syncs_producer": source.offset_syncs_producer(),
        "offset_syncs_admin": source.offset_syncs_admin(),
        "offset_syncs_consumer": checkpoint.offset_syncs_consumer(),
    }


def _parsed(definition: Definition, properties: dict[str, str]) -> Parsed:
    values, mistakes = parse_connector(definition, properties)
    assert not mistakes
    return Parsed(values=values, properties=properties)


_SWITCHES = st.sampled_from((None, "true", "false", "FALSE", " false"))


@given(
    switches=st.fixed_dictionaries(
        {
            "enabled": _SWITCHES,
            "emit.checkpoints.enabled": _SWITCHES,
            "emit.offset-syncs.enabled": _SWITCHES,
            "sync.group.offsets.enabled": _SWITCHES,
        }
    )
)
@settings(_QUICK, max_examples=100)
def test_checkpoint_connectors_are_refused_as_by_java(
    java: JavaConfig, switches: dict[str, str | None]
) -> None:
    """C106-C109."""
    properties = {key: value for key, value in switches.items() if value is not None}
    lines = "".join(
        f"{key}={value.replace(' ', chr(92) + ' ')}\n" for key, value in properties.items()
    )
    theirs = java.ask("v", lines.encode())
    ours = checkpoint_refusals(properties)
    assert [key for key in theirs if any(key in refusal for refusal in ours)] == list(theirs)
    assert len(ours) == len(theirs)


@given(
    lines=st.lists(
        st.sampled_from(
            (
                "B.producer.acks=1",
                "B.producer.client.id=mine",
                "producer.acks=0",
                "B.acks=1",
                "A->B.producer.override.acks=-1",
                "A->B.producer.override.linger.ms=9",
                "A->B.producer.acks=3",
                "A->B.target.producer.acks=4",
                "B.security.protocol=SSL",
                "security.protocol=SASL_SSL",
                "B.producer.linger.ms=${env:MM2_ONE}",
                "config.providers=env",
                "A->B.name=other",
                "producer.override.acks=2",
            )
        ),
        max_size=6,
    )
)
@settings(_QUICK, max_examples=60)
def test_the_producer_of_the_data_is_composed_as_by_java(
    java: JavaConfig, lines: list[str]
) -> None:
    """C221: overrides that are given explicitly, and Java's defaults below them."""
    base = (
        "clusters=A,B",
        "A.bootstrap.servers=a:1",
        "B.bootstrap.servers=b:1",
        f"config.providers.env.class={_PROVIDER}EnvVarConfigProvider",
    )
    data = "\n".join((*base, *lines)).encode()
    maker = MirrorMakerConfig.of(parse(data), _ENVIRONMENT)
    flow = SourceAndTarget(ClusterAlias("A"), ClusterAlias("B"))
    worker = maker.worker_config(flow)
    connector = maker.connector_base_config(flow, SOURCE_CONNECTOR) | {"name": SOURCE_CONNECTOR}
    assert data_producer_properties(worker, connector, 0).properties == java.ask("w", data)
