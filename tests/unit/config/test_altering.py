"""Settings of a flow over those of its file: checked as a file is, and never in its way."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from mm2.config.checks.allowed_classes import LOADED
from mm2.config.checks.alterable_keys import effects_of_key, file_key
from mm2.config.flow_config import FlowConfig, flow_config
from mm2.config.keys.effects import Effect
from mm2.config.keys.key_aliases import canonical_key
from mm2.config.keys.key_table import TABLE
from mm2.config.keys.keys_mm2 import SPELLINGS, KeyAlias
from mm2.config.live_changes import change_between, rows
from mm2.config.mirror_maker_config import MirrorMakerConfig
from mm2.config.overrides import apply_overrides, apply_valid_overrides, check
from mm2.errors import ConfigErrors
from tests.support.configs import A_TO_B, config_of

_PROVIDERS = "org.apache.kafka.common.config.provider."
_FILE = {
    "A->B.enabled": "true",
    "A->B.topics": "orders.*",
    "tasks.max": "4",
}


def _config(**extra: str) -> FlowConfig:
    return config_of({**_FILE, **extra})


def _problems(config: FlowConfig, changes: dict[str, str | None]) -> list[str]:
    with pytest.raises(ConfigErrors) as caught:
        check(config, changes)
    return [str(problem) for problem in caught.value.problems]


def test_an_alteration_wins_over_the_flow_s_own_key_and_over_the_top_level() -> None:
    config = apply_overrides(_config(), {"topics": "payments", "tasks.max": "2"})
    assert config.source.properties["topics"] == "payments"
    assert config.source.tasks_max == 2


def test_a_key_can_be_left_out_and_then_the_level_above_counts() -> None:
    config = apply_overrides(
        _config(**{"A->B.tasks.max": "8"}), {"tasks.max": None, "topics": None}
    )
    assert config.source.tasks_max == 4
    assert "topics" not in config.source.properties


def test_a_key_of_the_worker_counts_for_this_flow() -> None:
    assert file_key(A_TO_B, "offset.flush.interval.ms") == "B.offset.flush.interval.ms"
    assert file_key(A_TO_B, "topics") == "A->B.topics"
    config = apply_overrides(_config(), {"offset.flush.interval.ms": "250"})
    assert config.herder.offset_flush_interval.total_seconds() == 0.25


def test_nothing_altered_is_the_file() -> None:
    config = _config()
    assert apply_overrides(config, {}) is config


def test_all_problems_are_told_at_once() -> None:
    problems = _problems(
        _config(),
        {"tasks.max": "zero", "topics": "(", "topcs": "x", "group.id": "g", "spark.x": "1"},
    )
    assert len(problems) == 5
    for expected in (
        "group.id says which flow this is",
        "spark.x belongs to the process",
        "tasks.max",
        "A->B.topcs: unknown key",
    ):
        assert any(expected in problem for problem in problems), (expected, problems)


@pytest.mark.parametrize(
    "key",
    ["bootstrap.servers", "target.cluster.bootstrap.servers", "target.producer.bootstrap.servers"],
)
def test_where_the_flow_is_steered_is_not_altered(key: str) -> None:
    (problem,) = _problems(_config(), {key: "c:1"})
    assert "send SIGHUP" in problem


def test_a_rate_of_nothing_is_refused() -> None:
    (problem,) = _problems(_config(), {"flow.byte.rate.limit": "0"})
    assert "-1" in problem


def test_what_is_doubtful_in_the_file_does_not_stand_in_the_way() -> None:
    config = _config(**{"A->B.topcs": "x"})
    changed, notes = check(config, {"topics": "y"})
    assert (changed.source.properties["topics"], notes) == ("y", [])


def test_an_older_spelling_is_read_and_said() -> None:
    changed, notes = check(
        _config(**{"A->B.topics": "a"}), {"topics": None, "topics.whitelist": "y"}
    )
    assert changed.source.properties["topics"] == "y"
    assert "topics.whitelist" in notes[0]


@pytest.mark.parametrize("spelling", SPELLINGS, ids=lambda spelling: spelling.name)
def test_an_older_spelling_does_what_the_key_does_that_it_is_read_as(spelling: KeyAlias) -> None:
    name = f"{spelling.name}retries" if spelling.name.endswith(".") else spelling.name
    value = "7" if spelling.name.endswith(".") else "false"
    before = config_of({key: text for key, text in _FILE.items() if key != "A->B.topics"})
    effects = change_between(before, apply_overrides(before, {name: value})).effects
    target = canonical_key(name)
    if target is None:
        assert not effects
        assert effects_of_key(name) == {Effect.NONE}
    else:
        assert effects == effects_of_key(target) == effects_of_key(name)


def test_alterations_that_the_file_has_made_wrong_are_passed_over() -> None:
    config = _config(**{"B.exactly.once.source.support": "disabled"})
    found = apply_valid_overrides(config, {"tasks.max": "2", "exactly.once.support": "required"})
    assert found.config.source.tasks_max == 2
    assert list(found.ignored) == ["exactly.once.support"]
    assert "exactly.once.support" in found.ignored["exactly.once.support"]


@pytest.fixture
def provided(tmp_path: Path) -> tuple[FlowConfig, str]:
    """A flow whose file reads a password by a provider, and the expression of the password."""
    (tmp_path / "secrets").write_text("store=t0psecret\n")
    expression = f"${{file:{tmp_path}/secrets:store}}"
    extra = {
        "config.providers": "file",
        "config.providers.file.class": (
            "org.apache.kafka.common.config.provider.FileConfigProvider"
        ),
        "A->B.groups": expression,
    }
    return _config(**extra), expression


@pytest.mark.parametrize("key", ["producer.override.client.id", "topics", "offset.flush.x", "x"])
def test_a_new_expression_is_not_taken_whoever_wrote_it(
    provided: tuple[FlowConfig, str], key: str
) -> None:
    config, expression = provided
    for value in (expression, f"a,{expression}"):
        (problem,) = _problems(config, {key: value})
        assert "rest.config.providers.enabled" in problem
        assert "t0psecret" not in problem
        # Whoever writes to the control topic need not ask.
        found = apply_valid_overrides(config, {key: value, "tasks.max": "2"})
        assert found.config == apply_overrides(config, {"tasks.max": "2"})
        assert found.ignored == {key: problem}


def test_an_expression_of_the_file_may_come_back(provided: tuple[FlowConfig, str]) -> None:
    config, expression = provided
    assert apply_valid_overrides(config, {"groups": expression}).ignored == {}
    assert list(apply_valid_overrides(config, {"groups.exclude": expression}).ignored) == [
        "groups.exclude"
    ]


def test_the_file_can_have_new_expressions_taken(provided: tuple[FlowConfig, str]) -> None:
    config, expression = provided
    assert config.maker is not None
    raw = {**config.maker.raw, "rest.config.providers.enabled": " True "}
    config = flow_config(MirrorMakerConfig(raw=raw, environment={}), A_TO_B)
    found = apply_valid_overrides(config, {"topics": expression}).config
    assert found.source.properties["topics"] == "t0psecret"


@pytest.mark.parametrize("key", ["topics", "groups.exclude"])
def test_patterns_without_end_are_not_compiled(key: str) -> None:
    found = apply_valid_overrides(_config(), {key: "x" * 32_769})
    assert "at most 32768" in found.ignored[key]
    assert found.config == apply_overrides(_config(), {})
    names = ",".join(f"a-long-name-of-a-topic-{number}" for number in range(2000))
    config = apply_overrides(_config(), {key: names})
    assert config.checkpoint.properties[key] == names, "as a file may have it"


def test_a_flow_that_comes_from_elsewhere_is_not_altered() -> None:
    config = replace(_config(), maker=None)
    found = apply_valid_overrides(config, {"tasks.max": "2"})
    assert (found.config, list(found.ignored)) == (config, ["tasks.max"])
    assert "does not come from a file" in found.ignored["tasks.max"]


def test_every_key_has_an_effect_that_was_chosen() -> None:
    """A key that nobody has thought of has the whole flow start anew."""
    unthought = {
        name
        for name, key in TABLE.items()
        if effects_of_key(name) == {Effect.FLOW}
        and name not in dict(rows())
        and f"B.{name}" not in dict(rows())
    }
    definitions = {d.name for name in unthought for d in TABLE[name].definitions}
    assert "OWN" not in definitions, unthought
    assert "CONNECT" not in definitions, unthought
    assert (
        unthought
        <= {name for name in TABLE if "CLIENT" in {d.name for d in TABLE[name].definitions}}
        | {"clusters"}
        | _OF_CLIENTS
    )


_OF_CLIENTS = {
    "client.dns.lookup",
    "client.id",
    "connections.max.idle.ms",
    "metadata.max.age.ms",
    "metadata.recovery.rebootstrap.trigger.ms",
    "metadata.recovery.strategy",
    "receive.buffer.bytes",
    "reconnect.backoff.max.ms",
    "reconnect.backoff.ms",
    "request.timeout.ms",
    "rest.extension.classes",
    "retry.backoff.max.ms",
    "retry.backoff.ms",
    "send.buffer.bytes",
    "socket.connection.setup.timeout.max.ms",
    "socket.connection.setup.timeout.ms",
}


@pytest.mark.parametrize(
    ("changes", "effects"),
    [
        ({}, set()),
        ({"topics": "x"}, {Effect.TOPICS, Effect.CHECKPOINTS}),
        ({"offset.flush.interval.ms": "50"}, {Effect.TASKS}),
        ({"enabled": "false"}, {Effect.FLOW}),
        ({"emit.offset-syncs.enabled": "false"}, {Effect.BUNDLES, Effect.CHECKPOINTS}),
        ({"source.cluster.bootstrap.servers": "c:1"}, {Effect.FLOW}),
    ],
)
def test_the_difference_says_what_it_takes(
    changes: dict[str, str | None], effects: set[Effect]
) -> None:
    config = _config()
    change = change_between(config, apply_overrides(config, changes))
    assert change.effects == effects
    assert bool(change.keys) is bool(effects)


def test_a_file_that_differs_in_keys_of_the_process_only_says_so() -> None:
    before = _config()
    after = _config(**{"spark.master": "local[3]", "listeners": "http://:1"})
    change = change_between(before, after)
    assert change.effects == {Effect.PROCESS}
    assert change.keys == ("listeners", "spark.master")


def test_other_flows_of_a_file_are_no_difference() -> None:
    before, after = _config(), _config(**{"B->A.topics": "x"})
    assert before == after
    assert not change_between(before, after).effects


def test_the_way_back_is_part_of_the_checkpoints() -> None:
    before = _config()
    after = _config(**{"B->A.enabled": "true"})
    assert change_between(before, after).effects == {Effect.CHECKPOINTS}


def test_a_source_that_may_not_run_any_more_has_the_flow_start_anew() -> None:
    before = _config(**{"A->B.offset-syncs.topic.location": "source"})
    after = _config(
        **{"A->B.offset-syncs.topic.location": "source", "A->B.emit.offset-syncs.enabled": "false"}
    )
    assert Effect.FLOW in change_between(before, after).effects


_CLASSES = (
    "topic.filter.class",
    "group.filter.class",
    "config.property.filter.class",
    "replication.policy.class",
)


@pytest.mark.parametrize("key", _CLASSES)
def test_a_class_that_the_file_does_not_allow_is_refused(key: str) -> None:
    (problem,) = _problems(_config(), {key: "venv.__main__:X"})
    assert "plugin.allowed.prefixes of the node's file does not allow it" in problem
    # Somebody has written it into the topic all the same: the flow is not to run without it.
    found = apply_valid_overrides(_config(), {key: "venv.__main__:X", "tasks.max": "2"})
    assert (found.config.source.tasks_max, list(found.ignored)) == (2, [key])
    assert found.config.source.properties.get(key) == _config().source.properties.get(key)
    assert [each.key for each in found.refused] == [key]


@pytest.mark.parametrize(
    ("allowed", "name", "is_allowed"),
    [
        ("acme", "acme:Filter", True),
        ("other, acme.", "acme.mirror:Filter", True),
        ("acme.mirror", "acme.mirror.Filter", True),
        ("acme:Filter", "acme:Filter", True),
        ("acme", "acmeevil:Filter", False),
        ("acme:Filter", "acme:FilterOfEvil", False),
        ("acme.mirror", "acme:Filter", False),
        ("", "acme:Filter", False),
        (" , ", "acme:Filter", False),
    ],
)
def test_classes_of_packages_that_the_file_allows_are_taken(
    allowed: str, name: str, *, is_allowed: bool
) -> None:
    config = _config(**{"plugin.allowed.prefixes": allowed})
    found = apply_valid_overrides(config, {"topic.filter.class": name})
    assert (not found.refused) is is_allowed
    wanted = name if is_allowed else None
    assert found.config.source.properties.get("topic.filter.class") == wanted


@pytest.mark.parametrize(
    "name",
    [
        "DefaultTopicFilter",
        " org.apache.kafka.connect.mirror.DefaultTopicFilter",
        "acme:OfTheFile",
    ],
)
def test_our_classes_and_those_of_the_file_need_no_permission(name: str) -> None:
    config = _config(**{"topic.filter.class": "acme:OfTheFile", "A->B.tasks.max": "1"})
    assert not check(config, {"topic.filter.class": name, "tasks.max": "2"})[1]
    assert not apply_valid_overrides(config, {"rename.topics": "false"}).refused


def test_what_may_be_loaded_is_not_altered() -> None:
    config = _config()
    changes: dict[str, str | None] = {
        "plugin.allowed.prefixes": "venv",
        "topic.filter.class": "venv.__main__:X",
    }
    assert len(_problems(config, changes)) == 1
    assert apply_valid_overrides(config, changes).refused


def test_each_key_that_names_a_class_of_ours_is_guarded_or_is_not_loaded() -> None:
    not_loaded = {"forwarding.admin.class", "key.converter", "value.converter", "header.converter"}
    named = {name for name, key in TABLE.items() if key.own_class}
    assert named == LOADED.keys() | not_loaded


def test_alterations_stay_while_a_secret_of_the_file_is_renewed(tmp_path: Path) -> None:
    secret, changes = tmp_path / "secret", {"topics": "payments", "flow.byte.rate.limit": "1000"}
    secret.write_text("pw=one\n")
    config = _config(
        **{
            "config.providers": "file",
            "config.providers.file.class": f"{_PROVIDERS}FileConfigProvider",
            "A.ssl.key.password": f"${{file:{secret}:pw}}",
        }
    )
    for renew in (secret.unlink, lambda: secret.write_text("other=two\n")):
        renew()
        found = apply_valid_overrides(config, changes)
        assert found.ignored == {}
        assert found.config.source.properties["topics"] == "payments"
        assert found.config.source.source_admin("a")["ssl.key.password"] == "one"
    secret.write_text("pw=two\n")
    found = apply_valid_overrides(config, changes)
    assert found.config.source.source_admin("a")["ssl.key.password"] == "two"
