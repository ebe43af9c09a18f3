"""Patterns mean the same to us and to ``java.util.regex``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from mm2.core.java_regex import JavaPattern
from mm2.errors import ConfigError
from tests.reference.core_java import Java, running_java
from tests.reference.core_patterns import PATTERNS, SET_TOKENS, TEXTS, TOKENS, UNSUPPORTED

pytestmark = pytest.mark.reference

_ANY_PATTERNS = st.lists(st.sampled_from(TOKENS), max_size=10).map("".join)
_ANY_SETS = st.lists(st.sampled_from(SET_TOKENS), max_size=10).map(
    lambda tokens: f"[{''.join(tokens)}]"
)


@pytest.fixture(scope="module")
def java() -> Iterator[Java]:
    with running_java() as found:
        yield found


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_known_pattern_means_what_java_means(java: Java, pattern: str) -> None:
    """C446."""
    _assert_same(java, pattern, TEXTS)


@pytest.mark.parametrize("pattern", UNSUPPORTED)
def test_a_pattern_without_counterpart_is_rejected_and_not_misread(
    java: Java, pattern: str
) -> None:
    assert "error" not in java.ask("pattern", {"pattern": pattern, "texts": []})
    with pytest.raises(ConfigError, match="not supported"):
        JavaPattern(pattern)


@given(
    pattern=_ANY_PATTERNS | _ANY_SETS,
    texts=st.lists(st.text("abcAkK1é-. \n]&", max_size=5), max_size=3),
)
@example(pattern="(?i)a", texts=[])
@settings(
    max_examples=1500,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_any_pattern_means_what_java_means(java: Java, pattern: str, texts: list[str]) -> None:
    _assert_same(java, pattern, [*texts, *TEXTS[:15]])


def _assert_same(java: Java, pattern: str, texts: Sequence[str]) -> None:
    answer = java.ask("pattern", {"pattern": pattern, "texts": texts})
    try:
        ours = JavaPattern(pattern)
    except ConfigError as rejected:
        problem: str | None = str(rejected)
    else:
        problem = None
    if problem is not None:
        assert "error" in answer or "not supported" in problem, problem
        return
    assert "error" not in answer
    different = {
        text: f"Java: {matches}, {finds}"
        for text, matches, finds in zip(texts, answer["matches"], answer["finds"], strict=True)
        if (ours.matches(text), ours.find(text)) != (matches, finds)
    }
    assert not different
