"""What config providers have read is shown as it was asked for, wherever text leaves."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from pathlib import Path

import pytest
import structlog

from mm2.config.checks.findings import findings
from mm2.config.flow_config import FlowConfig, flow_config
from mm2.config.mirror_maker_config import MirrorMakerConfig
from mm2.config.overrides import alteration, apply_valid_overrides, check
from mm2.config.pages.explain import explain
from mm2.config.text.expressions import RESOLVED, expressions, hide, is_of_expressions
from mm2.config.text.properties import PropertiesFile
from mm2.config.text.providers import EnvironmentProvider, Providers
from mm2.config.text.redact import as_written
from mm2.errors import ConfigError, ConfigErrors
from mm2.telemetry.logs import configure_logs
from tests.support.configs import A_TO_B

SECRET = "t0psecret"


@pytest.fixture
def expression(tmp_path: Path) -> str:
    """Stands for the secret."""
    file = tmp_path / "secrets.properties"
    file.write_text(f"store={SECRET}\nshort=7x\n")
    return f"${{file:{file}:store}}"


_SERVERS = {"A.bootstrap.servers": "${env:SERVERS}"}


def _config(environment: Mapping[str, str] | None = None, **changes: str) -> FlowConfig:
    raw = {
        "clusters": "A,B",
        "config.providers": "file,env",
        "config.providers.env.class": (
            "org.apache.kafka.common.config.provider.EnvVarConfigProvider"
        ),
        "config.providers.file.class": (
            "org.apache.kafka.common.config.provider.FileConfigProvider"
        ),
        "rest.config.providers.enabled": "true",
        "A.bootstrap.servers": "a:1",
        "B.bootstrap.servers": "b:1",
        "A->B.enabled": "true",
        **changes,
    }
    return flow_config(MirrorMakerConfig(raw=raw, environment=environment), A_TO_B)


@pytest.mark.parametrize("key", ["tasks.max", "offset.lag.max", "offset-syncs.topic.location"])
def test_a_mistake_in_an_altered_value_shows_the_expression(key: str, expression: str) -> None:
    with pytest.raises(ConfigErrors) as caught:
        check(_config(), {key: expression})
    assert SECRET not in str(caught.value)
    assert expression in str(caught.value)
    assert not any(SECRET in str(each.value) for each in caught.value.problems)


@pytest.mark.parametrize("key", ["topic.filter.class", "replication.policy.class"])
def test_a_class_that_is_not_there_is_told_as_it_was_written(key: str, expression: str) -> None:
    with pytest.raises(ConfigErrors) as caught:
        alteration(_config(), {}, {key: expression}, [])
    assert SECRET not in hide(str(caught.value))


@pytest.mark.parametrize("key", ["short", "none"])
def test_a_mistake_does_not_quote_what_is_too_short_to_be_hidden(key: str, expression: str) -> None:
    asked = expression.replace(":store}", f":{key}}}")
    with pytest.raises(ConfigErrors) as caught:
        check(_config(), {"tasks.max": asked})
    assert "7x" not in str(caught.value)
    assert asked in str(caught.value)


def test_a_part_of_an_item_is_not_quoted_either(expression: str) -> None:
    with pytest.raises(ConfigErrors) as caught:
        check(_config(), {"tasks.max": f"1{expression}", "offset.lag.max": f"{expression},x"})
    assert SECRET not in str(caught.value)


def test_what_is_ignored_of_alterations_is_told_with_expressions(expression: str) -> None:
    found = apply_valid_overrides(_config(), {"tasks.max": expression})
    assert list(found.ignored) == ["tasks.max"]
    assert SECRET not in found.ignored["tasks.max"]


def test_a_file_that_cannot_be_read_is_still_told(expression: str) -> None:
    gone = expression.replace("secrets.properties", "gone.properties")
    with pytest.raises(ConfigErrors, match="Could not read properties from file"):
        check(_config(), {"tasks.max": f"{expression}{gone}"})


def test_a_damaged_file_of_secrets_is_told_without_a_word_of_it(
    expression: str, tmp_path: Path
) -> None:
    (tmp_path / "damaged.properties").write_text("store=\\u0g0g\n")
    damaged = expression.replace("secrets.properties", "damaged.properties")
    with pytest.raises(ConfigErrors, match="malformed escape in line 1") as caught:
        check(_config(), {"topics": damaged})
    assert "0g0g" not in str(caught.value)


def test_a_password_of_the_file_is_not_quoted() -> None:
    for key in ("A.ssl.key.password", "A.sasl.jaas.config"):
        problem = ConfigError(f"{key}: no idea what 'geheim' is", key=key, value="geheim")
        shown = as_written(problem, {key: "geheim"})
        assert "geheim" not in str(shown)
        assert shown.value == "[hidden]"


def test_logs_show_expressions_wherever_the_value_stands(expression: str) -> None:
    _config(None, **{"own.filter.token": expression})
    stream = io.StringIO()
    configure_logs(stream)
    log = structlog.get_logger()
    error = ValueError(f"no {SECRET}x")
    log.error("alteration.ignored", key="a", reason=f"'{SECRET}'", problems=[SECRET], of=error)
    log.error("rest.failed", exc_info=error)
    assert SECRET not in stream.getvalue()
    assert expression in json.loads(stream.getvalue().splitlines()[0])["reason"]


def test_names_stay_what_they_are_in_logs(expression: str) -> None:
    """A topic that a provider has named is looked for by its name."""
    _config(None, **{"own.filter.token": expression})
    stream = io.StringIO()
    configure_logs(stream)
    structlog.get_logger().info("source.x", topic=SECRET)
    assert json.loads(stream.getvalue())["topic"] == SECRET


@pytest.mark.parametrize("value", ["7x", "true", "none", "86400", ""])
def test_of_keys_that_are_not_named_like_secrets_common_values_stay(value: str) -> None:
    RESOLVED.remember(value, "${p:x}", is_secret=False)
    text = f"it is {value} and not otherwise: true, none, 86400"
    assert hide(text) == text


@pytest.mark.parametrize("value", ["7", "pas", "true", "86400"])
def test_a_secret_is_hidden_however_short_it_is(value: str) -> None:
    _config(environment={"PW": value}, **{"A.ssl.key.password": "${env:PW}"})
    assert hide(f"password={value};") == "password=${env:PW};"
    assert hide(f"a{value}b") == f"a{value}b"


def test_servers_of_a_provider_are_shown() -> None:
    _config(environment={"SERVERS": "one.example:9092,two.example:9092"}, **_SERVERS)
    assert hide("one.example:9092 refuses connections") == "one.example:9092 refuses connections"


@pytest.mark.parametrize(
    "also",
    [
        {"A->B.ssl.key.password": "${env:SERVERS}"},
        {"B.sasl.jaas.config": 'x password="${env:SERVERS}";'},
        {"own.filter.setting": "${env:SERVERS}"},
        {"B.sasl.oauthbearer.token.endpoint.url": "https://b/?key=${env:SERVERS}"},
        {"topics": "me:${env:SERVERS}@b"},
        {"B.ssl.key.password": "${env:SAME}"},
    ],
    ids=str,
)
def test_a_value_that_is_a_secret_too_is_hidden(also: dict[str, str]) -> None:
    value = "one.example:9092"
    _config(environment={"SERVERS": value, "SAME": value}, **_SERVERS, **also)
    assert value not in hide(f"{value} refuses connections")


@pytest.mark.parametrize(
    "key",
    [
        "transforms.sql.where",
        "A->B.transforms.sql.value",
        "message.handler.args",
        "A->B.message.handler.args",
        "A->B.arrow.function.args",
    ],
)
def test_what_a_provider_gives_to_code_is_hidden_and_the_rest_of_it_is_not(key: str) -> None:
    """It is the salt or the key that records are changed with."""
    own = "sha2(concat(value, 'pepper'), 256)"
    config = _config(environment={"SALT": SECRET}, **{key: own.replace("pepper", "${env:SALT}")})
    assert hide(own.replace("pepper", SECRET)) == own.replace("pepper", "${env:SALT}")
    assert hide(own) == own
    assert SECRET not in repr(explain(config.maker))  # type: ignore[arg-type]


def test_topics_of_sql_that_a_provider_names_are_shown() -> None:
    _config(environment={"TOPICS": "customers"}, **{"A->B.transforms.sql.topics": "${env:TOPICS}"})
    assert hide("no topic customers") == "no topic customers"


@pytest.mark.parametrize("key", ["transforms.sql.value", "message.handler.args"])
def test_a_connector_s_code_hides_what_its_worker_s_file_shows(key: str) -> None:
    providers = Providers({"p": EnvironmentProvider({}, {"X": SECRET})}, frozenset({"${p:X}"}))
    providers.resolve("${p:X}", "topics")
    assert hide(SECRET) == SECRET
    providers.resolve("sha2('${p:X}', 256)", key)
    assert hide(SECRET) == "${p:X}"


def test_a_password_within_an_address_is_hidden() -> None:
    _config(environment={"SERVERS": "me:geheim@one.example:9092"}, **_SERVERS)
    assert "geheim" not in hide("me:geheim@one.example:9092 refuses connections")


def test_what_an_alteration_asks_for_is_hidden_under_any_key() -> None:
    config = _config(environment={"SERVERS": "one.example:9092", "PW": "geheim"}, **_SERVERS)
    with pytest.raises(ConfigErrors):
        check(config, {"topics": "${env:PW}", "tasks.max": "none"})
    assert hide("no topic geheim") == "no topic ${env:PW}"


@pytest.mark.parametrize(
    ("written", "value"),
    [("a${env:ONE}", "ab"), ("${env:ONE}${env:TWO}", "bc"), ("${env:ONE}1", "b1")],
)
def test_a_value_beside_letters_is_hidden_there_too(written: str, value: str) -> None:
    environment = {"ONE": "b", "TWO": "c"}
    _config(environment=environment, **{"A.ssl.key.password": written})
    assert "b" not in hide(f"'{value}'").replace("${env:ONE}", "")


def test_a_password_of_the_file_garbles_no_other_words() -> None:
    problem = ConfigError("the password 'pas' is none", key="A.ssl.key.password", value="pas")
    shown = as_written(problem, {"A.ssl.key.password": "pas"})
    assert shown.message == "the password '[hidden]' is none"


def test_a_text_may_be_hidden_twice() -> None:
    RESOLVED.remember("file", "${file:/x:y}")
    assert hide(hide("no file")) == "no ${file:/x:y}"


def test_of_secrets_that_overlap_nothing_is_left() -> None:
    RESOLVED.remember("=-", "${p:a}")
    RESOLVED.remember("-geheim-", "${p:b}")
    assert hide("x=-geheim-y") == "x${p:a}y"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("one,t0p", "bad item one,t0p"),
        ("eins, zwei", "bad item zwei"),
        ("-----BEGIN\nzeile2\n", "cannot read zeile2"),
        ("back\\slash\n'", "bad 'back\\\\slash'"),
        ('quo"ted', 'bad "quo\\"ted"'),
    ],
)
def test_items_lines_and_quoted_forms_are_hidden(value: str, text: str) -> None:
    RESOLVED.remember(value, "${p:x}")
    assert "${p:x}" in hide(text)


def test_of_two_values_the_longer_one_is_hidden_first() -> None:
    RESOLVED.remember("geheim", "${p:a}")
    RESOLVED.remember("geheimnis", "${p:b}")
    assert hide("geheimnis geheim") == "${p:b} ${p:a}"


def test_a_task_is_told_what_to_hide_of_what_it_gets() -> None:
    RESOLVED.remember("geheim", "${p:a}")
    RESOLVED.remember("anderes", "${p:b}")
    told = RESOLVED.within(["user=me password=geheim"])
    assert {each.shown for each in told} == {"${p:a}"}
    RESOLVED.clear()
    RESOLVED.take(told)
    assert hide("geheim anderes") == "${p:a} anderes"


def test_expressions_are_read_as_java_reads_them() -> None:
    found = [
        (each.provider, each.path, each.key)
        for each in expressions("a${p:k}b${p:/a/b:c:d}${none}${:}${q${p::}$ {p:x}${p:x")
    ]
    assert found == [("p", "", "k"), ("p", "/a/b", "c:d"), ("", "", ""), ("q${p", "", "")]
    assert is_of_expressions("${p:k}${q:l:m}")
    assert not is_of_expressions("x${p:k}")
    assert not is_of_expressions("")


@pytest.mark.parametrize("text", ["${" * 300_000, "${" + ":" * 600_000, "${a:b" * 100_000])
def test_the_longest_texts_are_read_in_one_pass(text: str) -> None:
    assert list(expressions(text)) == []
    assert not is_of_expressions(text)


def test_a_warning_about_a_key_is_not_one_about_its_value(expression: str) -> None:
    """Whether the value is of a provider does not matter to it."""
    raw = dict(_config().maker.raw) | {"no.such.key": expression}  # type: ignore[union-attr]
    (found,) = [
        each.problem
        for each in findings(PropertiesFile(values=raw))
        if each.problem.key == "no.such.key"
    ]
    assert "not valid" not in found.message
    assert SECRET not in str(found)
