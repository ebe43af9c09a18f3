"""Files are read as Java reads them (C003); the differential test covers the syntax at large."""

from __future__ import annotations

from pathlib import Path

import pytest

from mm2.config.text.properties import load, parse
from mm2.errors import ConfigError


def test_the_last_of_two_equal_keys_counts_and_has_its_line() -> None:
    """C003."""
    file = parse(b"a = 1\nb = 2\na = 3\n")
    assert file.values == {"a": "3", "b": "2"}
    assert file.lines == {"a": 3, "b": 2}


def test_bytes_are_iso_8859_1() -> None:
    """C003."""
    assert parse(b"name = caf\xe9").values == {"name": "café"}


def test_a_single_backslash_vanishes_before_an_ordinary_character() -> None:
    r"""C003: a regular expression a\.b arrives as a.b."""
    assert parse(rb"topics = a\.b").values == {"topics": "a.b"}


def test_trailing_blanks_stay() -> None:
    """C003."""
    assert parse(b"a =  1 \n").values == {"a": "1 "}


@pytest.mark.parametrize(
    ("text", "values"),
    [
        (b"\\", {"": ""}),
        (b" \\\n", {"": ""}),
        (b"  \\\n# a comment\nb=1", {"b": "1"}),
        (b"a=1\n\\\n\nb=2", {"a": "1", "b": "2"}),
    ],
    ids=["alone", "with its line end", "before a comment", "before a blank line"],
)
def test_a_lonely_backslash_is_what_java_makes_of_it(text: bytes, values: dict[str, str]) -> None:
    """The one class of input in which javaproperties differs from Java."""
    assert parse(text).values == values


def test_lines_count_on_through_comments_and_continuations() -> None:
    assert parse(b"# c\r\n\r\na=1\\\r\n 2\rb=3").lines == {"a": 3, "b": 5}


def test_a_malformed_escape_is_an_error_with_its_line() -> None:
    with pytest.raises(ConfigError, match="hexadecimal") as caught:
        parse(b"a=1\nb=\\u12\n")
    assert caught.value.line == 2


def test_a_file_is_read_from_disk(tmp_path: Path) -> None:
    path = tmp_path / "some.properties"
    path.write_bytes(b"a=1")
    assert load(path).values == {"a": "1"}
    assert load(path).name == str(path)


def test_a_file_that_is_not_there_is_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot read .*none\.properties"):
        load(tmp_path / "none.properties")
