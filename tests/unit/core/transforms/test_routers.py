"""Topics are renamed by patterns and by timestamps."""

from __future__ import annotations

import pickle

import pytest

from mm2.core.java_regex import JavaPattern, Replacement
from mm2.core.transforms.date_format import DateFormat
from mm2.errors import ConfigError, TransformError
from tests.support.transform_chains import one, record

_AT = 1_709_528_469_007  # 2024-03-04T05:01:09.007Z, a Monday


@pytest.mark.parametrize(
    ("regex", "replacement", "topic"),
    [
        (r"A\.(.*)", "$1", "t"),
        (r"(?<alias>\w+)\.(?<name>.*)", "${name}-${alias}", "t-A"),
        (r"A\.(.*)", r"\$1\\", "$1\\"),
        (r"(A)\.t", "$10", "A0"),
        (r"(A)(x)?\.t", "[$2]", "[]"),
        (r"B\..*", "x", "A.t"),
        (r"A\.", "x", "A.t"),
        (r"A|A\.t", "x", "x.t"),
        (".*", "x", "x"),
    ],
)
def test_a_topic_is_renamed_as_java_replaces_the_first_match(
    regex: str, replacement: str, topic: str
) -> None:
    chain = one("RegexRouter", regex=regex, replacement=replacement)
    assert chain.apply(record()) == record(topic=topic)


@pytest.mark.parametrize(
    ("regex", "replacement", "told"),
    [
        ("a", "$1", "no group 1"),
        ("(a)", "$2", "no group 2"),
        ("(a)", "${b}", "no group b"),
        ("(a)", "$x", "has to follow"),
        ("(a)", "$", "has to follow"),
        ("(a)", "x\\", "has to follow the last"),
    ],
)
def test_a_replacement_that_fails_in_java_is_refused(
    regex: str, replacement: str, told: str
) -> None:
    with pytest.raises(ConfigError, match=told):
        Replacement(JavaPattern(regex), replacement)


def test_a_replacement_travels() -> None:
    found = pickle.loads(pickle.dumps(Replacement(JavaPattern("(a)b"), "$1c")))
    assert found.replace_first("abab") == "acab"


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("yyyyMMdd", "20240304"),
        ("yy-M-d", "24-3-4"),
        ("y yyy yyyyy", "2024 2024 02024"),
        ("MMM MMMM LLL", "Mar March Mar"),
        ("E EEEE u", "Mon Monday 1"),
        ("HH:mm:ss.SSS", "05:01:09.007"),
        ("H k K h a S SSSS", "5 5 5 5 AM 7 0007"),
        ("D DDD F G", "64 064 1 AD"),
        ("z zzzz Z X XXX", "UTC Coordinated Universal Time +0000 Z Z"),
        ("yyyy'T'HH", "2024T05"),
        ("''yyyy'' ''''", "'2024' ''"),
        ("'it''s'", "it's"),
        ("yyyy.MM_\u00e4", "2024.03_\u00e4"),
        ("", ""),
    ],
)
def test_a_timestamp_is_written_as_simple_date_format_writes_it(pattern: str, text: str) -> None:
    assert DateFormat(pattern).format(_AT) == text


@pytest.mark.parametrize(("hour", "text"), [(0, "0 24 0 12 AM"), (12, "12 12 0 12 PM")])
def test_hours_are_counted_in_four_ways(hour: int, text: str) -> None:
    assert DateFormat("H k K h a").format(hour * 3_600_000) == text


@pytest.mark.parametrize(
    ("pattern", "told"),
    [
        ("yyyy-ww", "w counts weeks"),
        ("YYYY", "Y counts weeks"),
        ("yyyyT", "T is no letter"),
        ("XXXX", "at most three times"),
        ("yyyy'T", "a quote is not closed"),
    ],
)
def test_a_format_that_java_rejects_or_that_depends_on_the_country_is_refused(
    pattern: str, told: str
) -> None:
    with pytest.raises(ConfigError, match=told):
        DateFormat(pattern)


def test_a_topic_is_named_by_the_time() -> None:
    chain = one("TimestampRouter", timestamp_format="yyyy")
    assert chain.apply(record()) == record(topic="A.t-2023")
    assert chain.apply(record(timestamp=-1)) == record(topic="A.t-1969", timestamp=-1)
    other = one("TimestampRouter", topic_format="${timestamp}.${topic}.${topic}")
    assert other.apply(record()) == record(topic="20231114.A.t.A.t")


def test_a_time_without_a_date_is_an_error() -> None:
    with pytest.raises(TransformError, match="outside of years 1 to 9999"):
        one("TimestampRouter").apply(record(timestamp=1 << 62))
