"""``dump`` is Java's view, ``explain`` says where values come from."""

from __future__ import annotations

from mm2.config.mirror_maker_config import MirrorMakerConfig
from mm2.config.pages.config_dump import dump
from mm2.config.pages.explain import Line, Section, explain
from mm2.config.text.properties import parse
from mm2.core.model import CONNECTORS, ClusterAlias, SourceAndTarget

_FILE = b"""\
clusters = B, A
A.bootstrap.servers = a:1
B.bootstrap.servers = b:1
B.ssl.key.password = geheim
B.producer.client.id = ${env:NAME}
tasks.max = 4
A->B.tasks.max = 5
refresh.topics = false
config.providers = env
config.providers.env.class = org.apache.kafka.common.config.provider.EnvVarConfigProvider
"""


def test_a_dump_holds_flows_workers_and_connectors() -> None:
    found = dump(_FILE, {"NAME": "resolved"})
    assert "error" not in found
    assert found["flows"] == ["A->B", "B->A"]
    assert found["workers"]["A->B"]["producer.client.id"] == "resolved"
    assert found["workers"]["A->B"]["ssl.key.password"] == "geheim"
    assert set(found["connectors"]["B->A"]) == set(CONNECTORS)
    connector = found["connectors"]["A->B"]["MirrorSourceConnector"]
    assert connector["target.producer.client.id"] == "${env:NAME}"
    assert "refresh.topics.enabled" not in connector


def test_a_dump_of_a_file_that_java_rejects_is_its_error() -> None:
    assert "clusters" in str(dump(b"a=1").get("error"))
    assert "escape" in str(dump(b"a=\\u12").get("error"))


def _sections(*, everything: bool = False) -> dict[str, Section]:
    maker = MirrorMakerConfig.of(parse(_FILE), {"NAME": "resolved"})
    return {
        section.part: section
        for section in explain(maker, everything=everything)
        if section.flow == "A->B"
    }


def _line(section: Section, key: str) -> Line:
    return next(line for line in section.lines if line.key == key)


def test_each_value_is_explained_by_key_line_and_level() -> None:
    source = _sections()["MirrorSourceConnector"]
    assert _line(source, "tasks.max").origin == "A->B.tasks.max (line 7, flow A->B)"
    assert _line(source, "name").origin == "default"
    servers = _line(source, "target.producer.bootstrap.servers")
    assert (servers.value, servers.origin) == ("b:1", "B.bootstrap.servers (line 3, cluster B)")


def test_older_spellings_are_explained_too() -> None:
    source = _sections()["MirrorSourceConnector"]
    assert _line(source, "refresh.topics.enabled").origin == "refresh.topics (line 8, top level)"


def test_what_is_altered_is_explained_as_such() -> None:
    maker = MirrorMakerConfig.of(parse(_FILE), {"NAME": "resolved"})
    flow = SourceAndTarget(ClusterAlias("A"), ClusterAlias("B"))
    raw = {**maker.raw, "A->B.tasks.max": "9", "B.offset.flush.interval.ms": "50"}
    own = MirrorMakerConfig(raw=raw, lines=maker.lines, environment=maker.environment)
    found = {(s.flow, s.part): s for s in explain(maker, altered={flow: own})}
    line = _line(found["A->B", "MirrorSourceConnector"], "tasks.max")
    assert (line.value, line.origin) == ("9", "A->B.tasks.max (altered, flow A->B)")
    assert _line(found["A->B", "worker"], "offset.flush.interval.ms").value == "50"
    other = _line(found["B->A", "MirrorSourceConnector"], "tasks.max")
    assert (other.value, other.origin) == ("4", "tasks.max (line 6, top level)")


def test_what_an_alteration_takes_away_is_explained_as_such() -> None:
    maker = MirrorMakerConfig.of(parse(_FILE), {"NAME": "resolved"})
    flow = SourceAndTarget(ClusterAlias("A"), ClusterAlias("B"))
    gone = {"A->B.tasks.max", "A->B.offset.lag.max"}
    raw = {**maker.raw, "A->B.offset.lag.max": "7"}
    before = MirrorMakerConfig(raw=raw, lines=maker.lines, environment=maker.environment)
    raw = {key: value for key, value in maker.raw.items() if key not in gone}
    own = MirrorMakerConfig(raw=raw, lines=maker.lines, environment=maker.environment)
    found = {(s.flow, s.part): s for s in explain(before, altered={flow: own})}
    source = found["A->B", "MirrorSourceConnector"]
    line = _line(source, "tasks.max")
    told = "altered (not set), tasks.max (line 6, top level)"
    assert (line.value, line.origin) == ("4", told)
    line = _line(source, "offset.lag.max")
    assert (line.value, line.origin) == ("100", "altered (not set), default of the key")
    other = _line(found["B->A", "MirrorSourceConnector"], "tasks.max")
    assert other.origin == "tasks.max (line 6, top level)"


def test_secrets_are_hidden_and_expressions_stay() -> None:
    worker = _sections()["worker"]
    assert _line(worker, "producer.ssl.key.password").value == "[hidden]"
    assert _line(worker, "producer.client.id").value == "${env:NAME}"


def test_unset_keys_are_listed_on_demand() -> None:
    key = "refresh.groups.interval.seconds"
    assert key not in {line.key for line in _sections()["MirrorCheckpointConnector"].lines}
    line = _line(_sections(everything=True)["MirrorCheckpointConnector"], key)
    assert (line.value, line.origin) == ("600", "default of the key")


def test_our_own_default_is_shown() -> None:
    assert _line(_sections()["worker"], "offset.flush.interval.ms").value == "1000"


def test_a_section_can_be_narrowed_and_told_as_data() -> None:
    section = _sections()["MirrorSourceConnector"].only("tasks.")
    assert section.as_json()["settings"] == [
        {"key": "tasks.max", "value": "5", "origin": "A->B.tasks.max (line 7, flow A->B)"}
    ]


def test_without_lines_the_level_is_told() -> None:
    maker = MirrorMakerConfig(raw={"clusters": "A, B", "tasks.max": "1"})
    section = explain(maker)[1]
    assert _line(section, "tasks.max").origin == "tasks.max (top level)"
