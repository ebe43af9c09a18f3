"""Every mistake in transforms and predicates is told, at the key where it is."""

from __future__ import annotations

import pytest

from mm2.config.checks.findings import Severity, findings
from mm2.config.text.properties import parse
from mm2.config.transforms.chain_reading import (
    chain_of_bytes,
    is_of_transforms,
    read_transforms,
    transform_properties,
)
from mm2.config.transforms.transform_kinds import (
    PREDICATE_KINDS,
    TRANSFORM_KINDS,
    PredicateKind,
    TransformKind,
)
from tests.support.configs import TWO_CLUSTERS_TEXT

_PACKAGE = "org.apache.kafka.connect.transforms."
_FIELDS = {"type": "HeaderFrom$Key", "fields": "a,b", "headers": "a", "operation": "copy"}


def _of(**options: str) -> dict[str, str]:
    return {f"transforms.x.{name.replace('_', '.')}": text for name, text in options.items()}


@pytest.mark.parametrize(
    ("options", "key", "told"),
    [
        ({}, "transforms", "transforms.x.type is missing"),
        ({"type": "Fitler"}, "type", "no such class: known are Filter, .*Did you mean 'Filter'"),
        ({"type": f"{_PACKAGE}InsertField"}, "type", "Did you mean 'InsertField.Key'"),
        ({"type": "com.acme.Mask"}, "type", "no such class"),
        ({"type": "Filter", "foo": "1"}, "foo", "Filter has no such option"),
        (
            {"type": "DropHeaders", "headers": "a", "header": "b"},
            "header",
            "Did you mean 'transforms.x.headers'",
        ),
        ({"type": "DropHeaders"}, "type", "transforms.x.headers is missing"),
        ({"type": "DropHeaders", "headers": ""}, "headers", "must not be empty"),
        ({"type": "Filter", "predicate": "p"}, "predicate", "no such predicate"),
        ({"type": "Filter", "negate": "true"}, "negate", "transforms.x.predicate is missing"),
        ({"type": "RegexRouter", "regex": "(", "replacement": "x"}, "regex", "Unclosed group"),
        ({"type": "RegexRouter", "regex": "a", "replacement": "$1"}, "replacement", "no group 1"),
        (
            {"type": "RegexRouter", "regex": "a", "replacement": "mm2-control.A.internal"},
            "replacement",
            "= mm2-control.A.internal: records may not go to internal topics .* name another",
        ),
        ({"type": "RegexRouter", "regex": "a", "replacement": "__x"}, "replacement", "may not go"),
        (
            {"type": "TimestampRouter", "topic_format": "A.checkpoints.internal"},
            "topic.format",
            "may not go",
        ),
        ({"type": "TimestampRouter", "timestamp_format": "yyyyww"}, "timestamp.format", "weeks"),
        (_FIELDS, "headers", "1 headers stand for 2 fields"),
        ({**_FIELDS, "operation": "Copy"}, "operation", "must be one of move, copy"),
        ({"type": "InsertField$Value"}, "type", "nothing is inserted"),
        ({"type": "InsertField$Value", "static_field": "f"}, "static.field", "static.value is"),
        ({"type": "InsertField$Value", "offset_field": "f"}, "offset.field", "only sink"),
        ({"type": "ReplaceField$Value", "renames": "a"}, "renames", "not written old:new"),
        ({"type": "MaskField$Value", "fields": "a", "replacement": ""}, "replacement", "empty"),
        ({"type": "Cast$Value", "spec": "a:int9"}, "spec", "types are int8"),
        ({"type": "Cast$Value", "spec": "a:b:int8"}, "spec", "is not written field:type"),
        ({"type": "Cast$Value", "spec": ":int8"}, "spec", "':int8' is not written field:type"),
        ({"type": "Cast$Value", "spec": "a:int8,string"}, "spec", "stands by itself"),
        (
            {"type": "ExtractField$Key", "field": "`a", "field_syntax_version": "V2"},
            "field",
            "a backtick is not closed",
        ),
        (
            {"type": "ExtractField$Key", "field": "", "field_syntax_version": "V2"},
            "field",
            "leads to no field",
        ),
        (
            {"type": "ExtractField$Key", "field": "a", "field_syntax_version": "V3"},
            "field.syntax.version",
            "must be one of V1, V2",
        ),
    ],
)
def test_a_mistake_in_a_transform_is_told(options: dict[str, str], key: str, told: str) -> None:
    chain, mistakes = read_transforms({"transforms": "x", **_of(**options)})
    assert chain is None
    (mistake,) = mistakes
    assert mistake.key == (key if key == "transforms" else f"transforms.x.{key}")
    with pytest.raises(type(mistake), match=told):
        raise mistake


@pytest.mark.parametrize(
    ("options", "key", "told"),
    [
        ({}, "predicates", "predicates.p.type is missing"),
        ({"type": "TopicMatches"}, "predicates.p.type", "Did you mean 'TopicNameMatches'"),
        ({"type": "TopicNameMatches"}, "predicates.p.type", "predicates.p.pattern is missing"),
        ({"type": "TopicNameMatches", "pattern": "["}, "predicates.p.pattern", "Unclosed"),
        ({"type": "TopicNameMatches", "pattern": ""}, "predicates.p.pattern", "must not be empty"),
        ({"type": "HasHeaderKey", "name": ""}, "predicates.p.name", "must not be empty"),
        ({"type": "RecordIsTombstone", "name": "x"}, "predicates.p.name", "no such option"),
    ],
)
def test_a_mistake_in_a_predicate_is_told(options: dict[str, str], key: str, told: str) -> None:
    below = {f"predicates.p.{name}": text for name, text in options.items()}
    chain, mistakes = read_transforms({"predicates": "p", **below})
    assert chain is None
    (mistake,) = mistakes
    assert mistake.key == key
    with pytest.raises(type(mistake), match=told):
        raise mistake


@pytest.mark.parametrize("replacement", ["heartbeats", "B.orders", "$0"])
def test_other_constant_names_are_taken(replacement: str) -> None:
    options = _of(type="RegexRouter", regex="a", replacement=replacement)
    assert read_transforms({"transforms": "x", **options})[1] == []


def test_all_mistakes_are_told_at_once() -> None:
    properties = {
        "transforms": "x,y",
        **_of(type="Filter", predicate="none", foo="1"),
        "transforms.y.type": "DropHeaders",
        "predicates": "p",
        "predicates.p.type": "X",
    }
    found = {mistake.key for mistake in read_transforms(properties)[1]}
    assert found == {
        "predicates.p.type",
        "transforms.x.predicate",
        "transforms.x.foo",
        "transforms.y.type",
    }


def test_names_may_have_dots_and_begin_alike() -> None:
    properties = {
        "transforms": "a,a.b",
        "transforms.a.type": f"{_PACKAGE}Filter",
        "transforms.a.b.type": "DropHeaders",
        "transforms.a.b.headers": "h",
    }
    chain, mistakes = read_transforms(properties)
    assert mistakes == []
    assert chain is not None
    assert [step.kind for step in chain.steps] == [f"{_PACKAGE}Filter", f"{_PACKAGE}DropHeaders"]


def test_a_name_that_is_listed_twice_counts_once() -> None:
    chain, _ = read_transforms({"transforms": "x, x", **_of(type="Filter")})
    assert chain is not None
    assert len(chain.steps) == 1


def test_without_transforms_there_is_no_chain() -> None:
    assert read_transforms({}) == (None, [])
    assert read_transforms({"transforms": " "}) == (None, [])


def test_only_options_of_listed_names_are_read() -> None:
    properties = {"transforms": "x", "predicates": "p"}
    assert is_of_transforms("transforms.x.type", properties)
    assert is_of_transforms("predicates.p.type", properties)
    assert not is_of_transforms("transforms.p.type", properties)
    assert not is_of_transforms("transforms", properties)


def test_every_option_says_what_it_is_and_has_a_default_that_can_be_read() -> None:
    kinds: list[TransformKind | PredicateKind] = [*TRANSFORM_KINDS.values()]
    for kind in [*kinds, *PREDICATE_KINDS.values()]:
        assert kind.doc.endswith(".")
        for option in kind.options:
            assert option.doc.endswith("."), (kind.name, option.name)
            assert option.default is None or option.parse(option.default) is not None


_FILE = f"""\
{TWO_CLUSTERS_TEXT}A->B.enabled = true
"""
_DROP_ALL = """\
A->B.transforms = drop
A->B.transforms.drop.type = Filter
"""


def _found(text: str) -> list[str]:
    return [str(each.problem) for each in findings(parse((_FILE + text).encode()), {})]


def test_a_file_of_java_s_is_taken_without_a_word() -> None:
    text = f"""\
A->B.header.converter = org.apache.kafka.connect.storage.SimpleHeaderConverter
A->B.transforms = add, drop
A->B.transforms.add.type = {_PACKAGE}InsertHeader
A->B.transforms.add.header = h
A->B.transforms.add.value.literal = x
A->B.transforms.drop.type = Filter
A->B.transforms.drop.predicate = secret
A->B.predicates = secret
A->B.predicates.secret.type = {_PACKAGE}predicates.TopicNameMatches
A->B.predicates.secret.pattern = A\\\\.secret.*
B.plugin.discovery = service_load
"""
    assert _found(text) == []


def test_a_mistake_names_the_key_as_it_is_written_and_its_line() -> None:
    assert _found("A->B.transforms = x\nA->B.transforms.x.type = Fitler\n")[0].startswith(
        "line 6: A->B.transforms.x.type = Fitler: no such class: known are Filter, "
    )


def test_of_a_flow_that_is_not_enabled_only_its_own_keys_are_told() -> None:
    text = f"{_FILE}B->A.transforms = x\nB->A.transforms.x.type = Flter\n"
    (told,) = findings(parse(text.encode()))
    assert (told.severity, told.problem.line) == (Severity.WARNING, 6)
    assert str(told.problem).startswith("line 6: B->A.transforms.x.type = Flter: no such class")
    assert "B->A is not enabled, and could not start with it" in str(told.problem)
    below = "A->B.transforms.x.type = DropHeaders\nA->B.transforms.x.headers = h\n"
    assert _found(f"transforms = x\n{below}") == []


def test_of_a_flow_without_heartbeats_its_keys_are_told_too() -> None:
    (told,) = _found("emit.heartbeats.enabled = false\nB->A.transforms = x\n")
    assert told.startswith("line 6: B->A.transforms = x: transforms.x.type is missing")


@pytest.mark.parametrize("kind", ["transforms", "predicates"])
def test_what_a_cluster_has_of_transforms_is_told_once(kind: str) -> None:
    (told,) = _found(f"B.{kind}.x.foo = 1\n")
    assert told == (
        f"line 5: B.{kind}.x.foo: no effect for a cluster, it belongs to flows."
        f" Did you mean 'S->T.{kind}.x.foo'?"
    )


def test_names_at_top_reach_flows_and_their_options_do_not() -> None:
    """C044: as in Java; a flow that is switched off does not miss them."""
    below = "A->B.transforms.x.type = DropHeaders\nA->B.transforms.x.headers = h\n"
    assert _found(f"transforms = x\n{below}") == []
    told = _found("transforms = x\ntransforms.x.type = Filter\n")
    assert told[0].startswith("line 5: transforms = x: transforms.x.type is missing among the keys")
    assert told[1].endswith("it belongs to a flow. Did you mean 'S->T.transforms.x.type'?")


def test_options_of_names_that_are_not_listed_have_no_effect() -> None:
    (told,) = _found("A->B.transforms.x.type = Filter\n")
    assert told == (
        "line 5: A->B.transforms.x.type = Filter: no effect: transforms does not list its name"
    )


def test_a_transform_that_drops_heartbeats_and_checkpoints_is_told() -> None:
    """Java's MirrorMaker drops them without a word."""
    found = _found(_DROP_ALL)
    assert len(found) == 2
    assert all(each.startswith("line 5: A->B.transforms = drop: ") for each in found)
    assert "heartbeats are dropped too" in found[0] + found[1]
    assert "keep topic A.checkpoints.internal with a predicate" in found[0] + found[1]


@pytest.mark.parametrize(
    "predicate",
    ["type = RecordIsTombstone", "type = HasHeaderKey\nA->B.predicates.p.name = secret"],
)
def test_a_transform_that_keeps_them_is_not(predicate: str) -> None:
    text = f"{_DROP_ALL}A->B.transforms.drop.predicate = p\nA->B.predicates = p\n"
    assert _found(f"{text}A->B.predicates.p.{predicate}\n") == []


def test_a_router_of_heartbeats_is_told() -> None:
    text = """\
A->B.transforms = x
A->B.transforms.x.type = RegexRouter
A->B.transforms.x.regex = (.*)
A->B.transforms.x.replacement = $1.copy
"""
    (told,) = _found(text)
    assert told.endswith("A->B.transforms = x: heartbeats go to topic heartbeats.copy")


def test_transforms_of_json_leave_heartbeats_and_checkpoints_alone() -> None:
    properties = {"transforms": "x", **_of(type="MaskField$Value", fields="f")}
    assert chain_of_bytes(properties) is None
    assert read_transforms(properties)[0] is not None


def test_tasks_are_given_what_concerns_transforms() -> None:
    properties = {"transforms": "x", "topics": "t", **_of(type="Filter"), "transforms.y.type": "X"}
    assert transform_properties(properties) == {"transforms": "x", "transforms.x.type": "Filter"}
    assert transform_properties({"predicates": "p"}) == {}


_ID = "wmQyUCDuSlCFYbLjZXGw1A"
_CLUSTERS = """
clusters = A, B, C
A.bootstrap.servers = a:1
B.bootstrap.servers = b:1
C.bootstrap.servers = c:1
A->B.enabled = true
"""


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ("provenance.headers.enabled = true\nA->B.provenance.origins = A, C", None),
        (f"provenance.headers.enabled = true\nA->B.provenance.origins = A, {_ID}", None),
        ("A->B.provenance.origins = A", "write provenance.headers.enabled = true"),
        ("provenance.headers.enabled = true\nA->B.provenance.origins = B", "never copied to B"),
        ("provenance.headers.enabled = true\nA->B.provenance.origins = A, Z", "'Z' is no cluster"),
    ],
)
def test_origins_are_clusters_of_the_file(lines: str, told: str | None) -> None:
    found = [str(each) for each in findings(parse(f"{_CLUSTERS}{lines}".encode()))]
    about = [each for each in found if "provenance.origins" in each]
    assert (told is None) == (about == [])
    assert told is None or told in about[0]
