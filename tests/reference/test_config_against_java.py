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
from mm2.config.connector_reading import (
    Parsed,
    checkpoint_refusals,
    parse_connector,
    read_checkpoint,
    read_source,
)
from mm2.config.keys.definition import Definition
from mm2.config.keys.key_table import CLIENT_NAMES, MAKER_KEYS, TABLE
from mm2.config.mirror_maker_config import MirrorMakerConfig
from mm2.config.pages.config_dump import dump
from mm2.config.text.properties import parse
from mm2.core.model import SOURCE_CONNECTOR, ClusterAlias, SourceAndTarget
from mm2.demo.broker_settings import settings_text
from mm2.errors import ConfigError
from tests.reference.config_files import (
    CLUSTERS,
    LINES,
    OTHERS,
    PROVIDER_PACKAGE,
    PROVIDERS,
    provider_lines,
)
from tests.reference.java_config import JavaConfig, java_config

pytestmark = pytest.mark.reference

_ENVIRONMENT = {"MM2_ONE": "eins", "MM2_TWO": "zwei,drei", "MM2_TRUE": "true", "OTHER": "x"}
_QUICK = settings(
    max_examples=int(os.environ.get("MM2_CONFIG_EXAMPLES", "400")),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


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


@given(
    clusters=CLUSTERS,
    lines=LINES,
    providers=PROVIDERS,
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
    text += provider_lines(providers)
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
    names = sorted(TABLE.keys() | CLIENT_NAMES | set(OTHERS))
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
    theirs = java.ask("c", settings_text(properties).encode())
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
        f"config.providers.env.class={PROVIDER_PACKAGE}EnvVarConfigProvider",
    )
    data = "\n".join((*base, *lines)).encode()
    maker = MirrorMakerConfig.of(parse(data), _ENVIRONMENT)
    flow = SourceAndTarget(ClusterAlias("A"), ClusterAlias("B"))
    worker = maker.worker_config(flow)
    connector = maker.connector_base_config(flow, SOURCE_CONNECTOR) | {"name": SOURCE_CONNECTOR}
    assert data_producer_properties(worker, connector, 0).properties == java.ask("w", data)
