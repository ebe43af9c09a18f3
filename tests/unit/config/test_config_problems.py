"""What ``mm2 config validate`` finds."""

from __future__ import annotations

import pytest

from mm2.config.checks.findings import Finding, Severity, findings
from mm2.config.text.properties import parse
from tests.support.configs import TWO_CLUSTERS_TEXT

_BASE = f"""\
{TWO_CLUSTERS_TEXT}A->B.enabled = true
"""
_MODE = "exactly.once.source.support"


def _found(text: str) -> list[Finding]:
    return findings(parse((_BASE + text).encode("iso-8859-1")), {"X": "x"})


def _only(text: str) -> Finding:
    found = _found(text)
    assert len(found) == 1, [str(finding.problem) for finding in found]
    return found[0]


def test_nothing_is_found_in_a_good_file() -> None:
    good = """\
config.providers = env
config.providers.env.class = org.apache.kafka.common.config.provider.EnvVarConfigProvider
config.providers.env.param.allowlist.pattern = X
replication.policy.separator = _
replication.policy.mine = x
spark.master = local[2]
topics = a.*, b
tasks.max = 2
offset.storage.replication.factor = 1
security.protocol = SSL
key.converter.schemas.enable = false
heartbeats.topic.retention.ms = 5
A.producer.acks = all
A.consumer.client.id = x
B.offset.flush.interval.ms = 5000
B.group.id = mine
B.key.converter.schemas.enable = false
A->B.source.consumer.fetch.max.bytes = 5
A->B.target.cluster.security.protocol = PLAINTEXT
A->B.producer.override.batch.size = 5
use.defaults.from = source
A->B.use.defaults.from = source
A->B.ssl.key.password = ${env:X}
"""
    assert _found(good) == []


@pytest.mark.parametrize(
    ("line", "severity", "suggestion"),
    [
        ("topcs = x", Severity.WARNING, "topics"),
        ("zzz = x", Severity.WARNING, None),
        ("a.bootstrap.servers = x:1", Severity.WARNING, "A.bootstrap.servers"),
        ("producer.acks = 1", Severity.WARNING, "A.producer.acks"),
        ("offset.flush.interval.ms = 1", Severity.WARNING, "B.offset.flush.interval.ms"),
        ("exactly.once.source.support = enabled", Severity.WARNING, f"B.{_MODE}"),
        (
            "source.consumer.fetch.max.bytes = 1",
            Severity.WARNING,
            "S->T.source.consumer.fetch.max.bytes",
        ),
        ("A.producr.acks = 1", Severity.WARNING, "A.producer.acks"),
        ("A.topics = x", Severity.WARNING, "S->T.topics or topics"),
        ("A->B.group.id = x", Severity.WARNING, "B.group.id"),
        ("A->B.topic = x", Severity.WARNING, "A->B.topics"),
        ("A->C.enabled = true", Severity.ERROR, "A->B.enabled"),
        ("X->YY.topics = t", Severity.ERROR, None),
        ("A->B.tasks.max = many", Severity.ERROR, None),
        ("B->A.tasks.max = many", Severity.ERROR, None),
        ("topics = a[", Severity.ERROR, None),
        ("A->B.groups.exclude = (", Severity.ERROR, None),
        ("refresh.topics = false", Severity.NOTE, "refresh.topics.enabled"),
        ("A->B.topics.blacklist = x", Severity.NOTE, "A->B.topics.exclude"),
        ("remote.admin.x = 1", Severity.NOTE, "source.admin."),
        ("readahead.queue.capacity = 1", Severity.NOTE, None),
    ],
)
def test_a_doubtful_line_is_found_with_its_number(
    line: str, severity: Severity, suggestion: str | None
) -> None:
    """C437: keys of a worker that stand in a flow are among them."""
    finding = _only(line)
    assert finding.severity is severity
    assert finding.problem.line == 5
    assert finding.problem.key == line.split(" ", maxsplit=1)[0]
    assert finding.problem.suggestion == suggestion


def test_everything_is_found_at_once_in_the_order_of_lines() -> None:
    found = _found("A->B.tasks.max = many\nzzz = 1\nsecurity.protocol = abc\n")
    assert [finding.problem.line for finding in found] == [5, 6, 7]


def test_a_flow_has_a_message_handler_or_an_arrow_function() -> None:
    finding = _only("A->B.message.handler = a:b\nA->B.arrow.function = c:d\n")
    assert finding.severity is Severity.ERROR
    assert (finding.problem.line, finding.problem.key) == (6, "A->B.arrow.function")
    assert "there is A->B.message.handler = a:b" in str(finding.problem)


@pytest.mark.parametrize("flow", ["A->B.", ""])
@pytest.mark.parametrize("what", ["message.handler", "arrow.function", "transforms.sql"])
def test_a_pattern_that_chooses_topics_of_code_can_be_read(what: str, flow: str) -> None:
    used = f"{flow}{what}.where = true" if what == "transforms.sql" else f"{flow}{what} = a:b"
    (finding,) = (
        each for each in _found(f"{used}\n{flow}{what}.topics = a, (\n") if each.problem.line == 6
    )
    assert finding.severity is Severity.ERROR
    assert "Invalid pattern '('" in str(finding.problem)


@pytest.mark.parametrize("name", ["dead letters", "x" * 250, "__consumer_offsets"])
def test_dead_letters_need_a_topic_that_can_be_written(name: str) -> None:
    finding = _only(f"errors.tolerance = all\nerrors.deadletterqueue.topic.name = {name}")
    assert finding.severity is Severity.ERROR
    assert "topic" in str(finding.problem)


def test_a_flow_has_code_or_sql() -> None:
    finding = _only("A->B.message.handler = a:b\nA->B.transforms.sql.where = key IS NULL\n")
    assert finding.severity is Severity.ERROR
    assert (finding.problem.line, finding.problem.key) == (6, "A->B.transforms.sql.where")
    assert "there is A->B.message.handler = a:b" in str(finding.problem)


@pytest.mark.parametrize("prefix", ["A->B.", ""])
@pytest.mark.parametrize(("written", "meant"), [("wher", "where"), ("header", "headers")])
def test_of_a_misspelt_key_of_sql_it_is_said_what_was_meant(
    prefix: str, written: str, meant: str
) -> None:
    finding = _only(f"{prefix}transforms.sql.{written} = key\n")
    assert finding.severity is Severity.WARNING
    assert finding.problem.suggestion == f"{prefix}transforms.sql.{meant}"
    assert "transforms does not list" not in str(finding.problem)


def test_of_a_key_below_sql_that_is_like_no_other_nothing_is_meant() -> None:
    finding = _only("A->B.transforms.sql.compression = x\n")
    assert "no effect: none of the keys for SQL has that name" in str(finding.problem)
    assert finding.problem.suggestion is None


_HALVES = [
    ("message.handler.topics", "message.handler"),
    ("message.handler.args", "message.handler"),
    ("arrow.function.topics", "arrow.function"),
    ("arrow.function.args", "arrow.function"),
    ("transforms.sql.topics", "transforms.sql.where"),
]


@pytest.mark.parametrize("prefix", ["A->B.", ""])
@pytest.mark.parametrize(("key", "needed"), _HALVES)
def test_what_says_how_code_is_used_that_nobody_names_has_no_effect(
    key: str, needed: str, prefix: str
) -> None:
    finding = _only(f"{prefix}{key} = x\n")
    assert finding.severity is Severity.WARNING
    assert finding.problem.key == prefix + key
    assert needed in str(finding.problem).split("no effect: set ")[1]


@pytest.mark.parametrize("prefix", ["A->B.", ""])
@pytest.mark.parametrize(("key", "needed"), _HALVES)
def test_it_has_one_where_a_flow_names_the_code(key: str, needed: str, prefix: str) -> None:
    found = _found(f"{prefix}{key} = x\nA->B.{needed} = a:b\nB->A.enabled = true\n")
    assert [each for each in found if "no effect" in str(each.problem)] == []
    found = _found(f"A->B.{key} = x\n{needed} = a:b\nB->A.enabled = true\n")
    assert [each for each in found if "no effect" in str(each.problem)] == []


@pytest.mark.parametrize("tolerance", ["", "errors.tolerance = none\n"])
def test_a_topic_for_dead_letters_has_no_effect_where_no_record_is_skipped(tolerance: str) -> None:
    finding = _only(f"{tolerance}A->B.errors.deadletterqueue.topic.name = letters\n")
    assert finding.severity is Severity.WARNING
    assert "no effect: set errors.tolerance = all, or remove the key" in str(finding.problem)
    assert _found("A->B.errors.deadletterqueue.topic.name = x\nerrors.tolerance = all\n") == []


@pytest.mark.parametrize(
    ("key", "value"), [("context.headers.enable", "true"), ("topic.replication.factor", "2")]
)
def test_what_dead_letters_are_like_has_no_effect_without_their_topic(key: str, value: str) -> None:
    line = f"A->B.errors.deadletterqueue.{key} = {value}\n"
    finding = _only(line)
    assert finding.severity is Severity.WARNING
    needed = "no effect: set errors.deadletterqueue.topic.name, or remove the key"
    assert needed in str(finding.problem)
    letters = "A->B.errors.deadletterqueue.topic.name = x\nerrors.tolerance = all\n"
    assert _found(line + letters) == []


def test_headers_that_are_not_asked_for_are_nothing_to_tell() -> None:
    assert _found("A->B.errors.deadletterqueue.context.headers.enable = false\n") == []


@pytest.mark.parametrize("prefix", ["A->B.", ""])
def test_retries_for_less_than_ever_are_doubtful(prefix: str) -> None:
    finding = _only(f"{prefix}errors.retry.timeout = -5\n")
    assert finding.severity is Severity.WARNING
    assert finding.problem.key == f"{prefix}errors.retry.timeout"
    assert "= -5: counts as -1, for ever: write 0 to try once" in str(finding.problem)
    assert _found(f"{prefix}errors.retry.timeout = -1\n") == []


def test_a_transform_that_has_the_name_of_sql_may_have_an_option_topics() -> None:
    found = _found("A->B.transforms = sql\nA->B.transforms.sql.topics = x\n")
    assert not [each for each in found if "no effect" in str(each.problem)]


def test_expressions_are_said_to_be_unchecked() -> None:
    sql = "A->B.transforms.sql.where = true\nA->B.transforms.sql.value = key\n"
    finding = _only(f"{sql}A->B.transforms.sql.topics = t\n")
    assert finding.severity is Severity.NOTE
    assert "transforms.sql.where, transforms.sql.value unchecked" in finding.problem.message


def test_keys_of_sql_may_be_those_of_a_transform_of_that_name() -> None:
    mine = "A->B.transforms.sql.headers = x\nA->B.message.handler = a:b\n"
    kind = "A->B.transforms.sql.type = DropHeaders\n"
    assert _found(f"A->B.transforms = sql\n{kind}{mine}") == []


def test_switching_checkpoints_off_is_worth_a_note() -> None:
    """C107, C112."""
    finding = _only("emit.checkpoints.enabled = false")
    assert finding.severity is Severity.NOTE
    assert "checkpoint connector will not run" in finding.problem.message


def test_a_source_connector_that_would_not_run_is_worth_a_warning() -> None:
    """C111."""
    found = _found("emit.offset-syncs.enabled = false\noffset-syncs.topic.location = target\n")
    assert {finding.severity for finding in found} == {Severity.WARNING, Severity.NOTE}
    assert all(finding.problem.message.startswith("flow A->B") for finding in found)


def test_a_file_without_flows_is_an_error() -> None:
    """C005."""
    found = findings(parse(b"clusters = A"), {})
    assert "No source->target replication flows" in found[0].problem.message


def test_a_cluster_without_servers_is_an_error() -> None:
    found = findings(parse(b"clusters = A, B\nA.bootstrap.servers = a:1"), {})
    errors = [each.problem.key for each in found if each.severity is Severity.ERROR]
    assert errors == ["B.bootstrap.servers"]


def test_secrets_are_not_shown_in_findings() -> None:
    assert _only("A.sssl.key.password = geheim").problem.value == "[hidden]"


def test_a_failing_provider_is_found_once() -> None:
    found = _found("config.providers = x, v\nconfig.providers.v.class = Vault\n")
    assert [finding.problem.key for finding in found] == ["config.providers.v.class"]
