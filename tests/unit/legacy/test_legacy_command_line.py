"""The command line of ``kafka-mirror-maker``."""

from __future__ import annotations

import pytest

from mm2.config.legacy.command_line import CommandLine, read_command_line
from mm2.errors import ConfigErrors

FILES = ["--consumer.config", "c.properties", "--producer.config", "p.properties"]


def read(*words: str) -> CommandLine:
    return read_command_line([*FILES, *words])


def problems(*words: str) -> list[str]:
    with pytest.raises(ConfigErrors) as caught:
        read_command_line(words)
    return [str(each) for each in caught.value.problems]


def test_defaults_are_those_of_kafkas_tool() -> None:
    found = read("--include", "a")
    assert (found.streams, found.aborts, found.commit_interval_ms) == (1, True, 60_000)
    assert (found.include, found.exclude, found.handler, found.listener) == ("a", None, None, None)
    assert not found.repartitions
    assert not found.warnings


def test_the_short_spellings_of_the_files_count() -> None:
    found = read_command_line(["--consumer", "c", "--producer", "p", "--include=a"])
    assert (found.consumer, found.producer) == ("c", "p")


@pytest.mark.parametrize(
    ("words", "today"),
    [
        (["--whitelist", "a"], "--include"),
        (["--include", "a", "--abort.on.send.fail", "false"], "--abort.on.send.failure"),
        (["--include", "a", "--abortOnSendFail", "false"], "--abort.on.send.failure"),
    ],
)
def test_an_older_spelling_counts_and_warns(words: list[str], today: str) -> None:
    found = read(*words)
    assert found.include == "a"
    assert found.aborts is (words[0] == "--whitelist")
    assert any("deprecated" in warning and today in warning for warning in found.warnings)


def test_kip_3_writes_the_abort_switch_without_a_value() -> None:
    found = read("--abortOnSendFail", "--include", "a")
    assert found.aborts
    assert any("--abort.on.send.failure" in warning for warning in found.warnings)


def test_a_flag_with_its_value_is_no_value_of_the_flag_before_it() -> None:
    found = read("--abortOnSendFail", "--include=a")
    assert (found.aborts, found.include) == (True, "a")
    (problem,) = problems(
        *FILES, "--message.handler", "m:C", "--message.handler.args", "--include=a"
    )
    assert "--message.handler.args needs a value" in problem
    assert read("--include", "--includes=a").include == "--includes=a"


@pytest.mark.parametrize(
    ("flag", "before"), [("--num.streams", ""), ("--metrics.listener", "localhost:")]
)
def test_more_digits_than_python_takes_are_a_mistake_of_their_flag(flag: str, before: str) -> None:
    (problem,) = problems(*FILES, "--include", "a", flag, f"{before}{'1' * 5000}")
    assert problem.startswith(flag)


def test_the_flag_of_the_new_consumer_has_no_effect_and_warns() -> None:
    assert "no effect" in read("--include", "a", "--new.consumer").warnings[0]


def test_both_spellings_of_the_listeners_arguments_count() -> None:
    for spelling in ("--rebalance.listener.args", "--consumer.rebalance.listener.args"):
        found = read("--include", "a", "--consumer.rebalance.listener", "m:C", spelling, "x")
        assert found.listener_args == "x"


def test_metrics_have_no_address_unless_one_is_given() -> None:
    assert read("--include", "a").metrics is None
    assert read("--include", "a", "--metrics.listener", "[::1]:9404").metrics == ("::1", 9404)


def test_a_blacklist_alone_includes_every_other_topic() -> None:
    found = read("--blacklist", "a,b")
    assert (found.include, found.exclude) == (None, "a|b")


def test_all_mistakes_are_told_at_once() -> None:
    found = problems(
        "--consumer.config", "c", "--num.streams", "0", "--abort.on.send.failure", "maybe",
        "--offset.commit.interval.ms", "-5", "--includ", "--include", "q{1,2}",
        "--metrics.listener", "9404",
    )  # fmt: skip
    text = "\n".join(found)
    assert len(found) == 7
    assert "--num.streams 0: write a whole number from 1" in text
    assert "--abort.on.send.failure maybe: write true or false" in text
    assert "--offset.commit.interval.ms -5" in text
    assert "there is no flag --includ: see --help. Did you mean '--include'?" in text
    assert "--producer.config is missing" in text
    assert "--metrics.listener 9404: write host:port" in text
    assert "q{1,2}" in text


def test_a_flag_without_its_value_is_told() -> None:
    assert any("--num.streams needs a value" in each for each in problems(*FILES, "--num.streams"))


def test_a_flag_given_twice_is_told() -> None:
    found = problems(*FILES, "--include", "a", "--whitelist", "b")
    assert any("--include is given twice (--whitelist means the same)" in each for each in found)
    (problem,) = problems(*FILES, "--include", "a", "--include", "a")
    assert problem.startswith("--include is given twice: write it once.")


@pytest.mark.parametrize("flag", ["--repartition", "--new.consumer"])
def test_a_value_of_a_flag_that_takes_none_is_refused(flag: str) -> None:
    (problem,) = problems(*FILES, "--include", "a", f"{flag}=false")
    assert f"{flag}=false: it takes no value" in problem


@pytest.mark.parametrize("flag", ["--message.handler", "--consumer.rebalance.listener"])
@pytest.mark.parametrize("path", ["Handler", " ", ":Handler", "module:", "a..b", "a:b:c"])
def test_a_class_without_its_module_is_refused(flag: str, path: str) -> None:
    (problem,) = problems(*FILES, "--include", "a", flag, path)
    assert f"{flag} {path}: write package.module:Class" in problem


@pytest.mark.parametrize("path", ["a.B", "a:B", "a.b.c:D.e", "_a1.b_2:C"])
def test_a_class_is_named_behind_a_colon_or_a_dot(path: str) -> None:
    assert read("--include", "a", "--message.handler", path).handler == path


def test_without_topics_nothing_is_copied() -> None:
    assert any("--include is missing" in each for each in problems(*FILES))


def test_a_class_of_javas_is_refused_with_the_reason() -> None:
    found = problems(*FILES, "--include", "a", "--message.handler", "org.example.Handler")
    assert "looks like a class of Java's" in found[0]


def test_dead_letters_need_records_that_are_skipped() -> None:
    found = problems(*FILES, "--include", "a", "--dead.letter.topic", "d")
    assert "add --abort.on.send.failure false" in found[0]


@pytest.mark.parametrize("name", ["", "..", "a b", "x" * 250])
def test_dead_letters_need_a_name_that_a_topic_may_have(name: str) -> None:
    words = ["--include", "a", "--abort.on.send.failure", "false", "--dead.letter.topic", name]
    (problem,) = problems(*FILES, *words)
    assert problem.startswith(f"--dead.letter.topic {name}: write the name of a topic")


def test_levels_of_the_log_are_as_they_are_written() -> None:
    assert read("--include", "a").log_levels is None
    assert read("--include", "a", "--log-level=warning,source=debug").log_levels == (
        "warning,source=debug"
    )
