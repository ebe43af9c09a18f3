"""Which topics ``--include`` and ``--blacklist`` name."""

from __future__ import annotations

import pytest

from mm2.config.legacy.topic_patterns import TopicSelection, java_pattern_of
from mm2.errors import ConfigError


@pytest.mark.parametrize(
    ("written", "pattern"),
    [
        ("a,b", "a|b"),
        (" a , b ", "a|b"),
        ("'a|b'", "a|b"),
        ('"a.*"', "a.*"),
        ("''a''", "a"),
        ("a'b", "a'b"),
    ],
)
def test_a_list_becomes_a_pattern_as_kafkas_tools_make_it(written: str, pattern: str) -> None:
    assert java_pattern_of("--include", written) == pattern


def test_a_comma_between_braces_is_an_error_that_says_why() -> None:
    with pytest.raises(ConfigError, match=r"--include q\{1,2\}.*A comma means \|") as caught:
        java_pattern_of("--include", "q{1,2}")
    assert caught.value.key == "--include"


def test_nothing_between_quotes_is_an_error() -> None:
    with pytest.raises(ConfigError, match="--blacklist is empty"):
        java_pattern_of("--blacklist", "''")


def test_a_pattern_matches_whole_names() -> None:
    selects = TopicSelection(include="a|b.*").matcher()
    assert [name for name in ("a", "ab", "b", "bc", "cb") if selects(name)] == ["a", "b", "bc"]


def test_the_blacklist_wins() -> None:
    selects = TopicSelection(include="a.*", exclude="ab").matcher()
    assert [name for name in ("a", "ab", "abc") if selects(name)] == ["a", "abc"]


def test_kafkas_own_topics_are_left_out_unless_they_are_wanted() -> None:
    name = "__consumer_offsets"
    assert not TopicSelection(include=".*").matcher()(name)
    assert TopicSelection(include=".*", internal=True).matcher()(name)
