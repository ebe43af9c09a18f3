"""Patterns in Java's syntax; ``tests/reference`` compares many more with Java itself (C446)."""

# ruff: noqa: RUF001  # letters that look like others are the point

from __future__ import annotations

import pickle

import pytest

from mm2.core.java_regex import JavaPattern
from mm2.errors import ConfigError


@pytest.mark.parametrize(
    ("pattern", "matching", "others"),
    [
        ("a|b*", "a b bb", "ab A"),
        (r"\Qa.b\E+", "a.b a.bb", "axb a.ba.b"),
        (r"\Q1\E", "1", "Q1E"),
        (r"x\Q", "x", r"x\Q"),
        (r"\Qé-ü\E", "é-ü", "é ü"),
        ("{2}a", "a", "aa {2}a"),
        ("a{2}{2}", "aa", "aaaa"),
        ("a{1,2}+a", "aaa", "aa a"),
        ("a{2,}?b", "aab aaab", "ab"),
        ("a*+a", "", "a aa"),
        ("(?>a|ab)c", "ac", "abc"),
        ("(?=a)a(?!b).|(?<=a)|(?<!a)c", "ac c", "ab"),
        ("(?:a)(b)", "ab", "a"),
        ("}]", "}]", "]"),
        # flags
        ("a(?i)b|c", "ab aB C", "Ab"),
        ("(?i:a)b", "ab Ab", "aB"),
        ("(?i-i)A", "A", "a"),
        ("(?i)k", "k K", "\u212a"),
        ("(?iu)k", "k K \u212a", "j"),
        ("(?iu)[j-l]", "k K \u212a", "h"),
        ("(?iu)ı", "i I ı İ", "j"),
        ("(?iu)ß", "ß ẞ", "ss"),
        ("(?iu)ᾳ", "ᾳ ᾼ", "α"),
        ("(?iuc)ŉ", "ŉ", "n"),
        ("(?i)[^a-c]", "d", "A b"),
        ("(?U-U)é|(?i)É", "é É", "E"),
        ("(?x) a b # c", "ab", "a"),
        ("(?x)a # b\nc", "ac", "ab"),
        ("(?xd)a # b\rc\nd", "ad", "acd"),
        ("(?s).(?-s:.)", "ab", "a"),
        ("(?d).", "a \r", "\n"),
        # sets
        ("[a-z&&[^b]]+", "acd", "abc"),
        ("[a-c&&[b][c]]", "b c", "a"),
        ("[a-z&&b-y&&c-x]", "c x", "b y"),
        ("[&&a]|[&]", "a &", "b"),
        ("[a[b]]", "a b", "c"),
        ("[]a]", "] a", "b"),
        ("[^]a]", "b", "] a"),
        ("[a-]", "a -", "b"),
        ("[a-[b]]", "a - b", "c"),
        (r"[\d\-\]x]", "1 - ] x", "a"),
        (r"[\v-\r]", "\x0b \r", "a"),
        (r"[\v]", "\n \u2028", "a"),
        (r"[\p{L}&&\p{ASCII}]", "a", "é 1"),
        (r"[^\PL]", "a é", "1"),
        # characters
        (r"\x41\x{42}\u0043\07\0101\cA\e\t", "ABC\x07A\x01\x1b\t", "ABC"),
        (r"\0777", "?7", "\u01ff"),
        (r"\uD83D\uDE00", "\U0001f600", "a"),
        (r"\uD83D|\uD83D\u0041|\uD83D\x41|x", "x", "a A"),
        (r"\N{LATIN SMALL LETTER A}", "a", "b"),
        (r"\_\é\.", "_é.", "_éx"),
        # families
        (r"\d\D\w\W\s\S\h\H\V", "1a_-\ta\taa", "a1"),
        (r"\p{javaLowerCase}\p{IsAlphabetic}\p{gc=Lu}", "aéÉ", "Aaa"),
        (r"(?U)\w\d\s", "é٣\u2003", "-a1"),
        (r"(?U)\p{Alpha}|\d", "é ٣", "-"),
        (r"(?i)\p{Lower}\p{Lu}", "Aa aA", "1a"),
        (r"\p{IsLatin}\p{InGreek}\p{sc=Cyrl}\p{block=Basic Latin}", "aαжb", "αaжb"),
        # groups
        (r"(a)(b)\2\1", "abba", "abab"),
        (r"(a)\11", "aa1", "aa"),
        ("(a)" * 11 + r"\11", "a" * 12, "a" * 11),
        (r"(?<n>a|b)\k<n>", "aa bb", "ab"),
        (r"a|\2(b)", "a", "b bb"),
        (r"(?i)(a)\1", "aA", "ab"),
        # assertions
        (r"^a$\n?|\Ab\z|\Gc\Z\R", "a b a\n c\n c\r\n", "b\n a\r\n c"),
        (r"\ba\b|a\Bb", "a ab", "b"),
        (r"(?U)\ba\b", "a", "b"),
        (r"(?m)^a$\n^b$", "a\nb", "ab"),
        (r"(?md)^a$\n^b$", "a\nb", "ab"),
        (r"(?d)a$\n", "a\n", "a"),
        (r"a\Rb|\X", "a\r\nb a\nb e\u0301", "ab"),
    ],
)
def test_patterns_mean_what_java_means(pattern: str, matching: str, others: str) -> None:
    compiled = JavaPattern(pattern)
    for text in texts(matching):
        assert compiled.matches(text), text
    for text in texts(others):
        assert not compiled.matches(text), text


def texts(blanks_between: str) -> list[str]:
    return [text for text in blanks_between.split(" ") if blanks_between]


@pytest.mark.parametrize(
    ("pattern", "reason", "index"),
    [
        ("*", "Dangling meta character '*'", 0),
        ("a**", "Dangling meta character '*'", 2),
        (r"\Q\E*a", "Dangling meta character '*'", 4),
        ("(?i)+", "Dangling meta character '+'", 4),
        ("a{", "Illegal repetition", 1),
        ("a{,2}", "Illegal repetition", 1),
        ("a{1", "Unclosed counted closure", 2),
        ("a{2,1}", "Illegal repetition range", 5),
        ("a{99999999999}", "Illegal repetition range", 13),
        ("(a", "Unclosed group", 1),
        ("a)", "Unmatched closing ')'", 1),
        ("[a", "Unclosed character class", 1),
        ("[a-", "Unclosed character class", 2),
        ("[a&&b", "Unclosed character class", 4),
        ("[c-a]", "Illegal character range", 3),
        (r"[a-\d]", "Illegal character range", 4),
        ("[a&&[b]&c]", "A single '&' after an intersection with a set is not supported", 6),
        ("[&&]", "An intersection with nothing is not supported", 2),
        ("\\", "Illegal/unsupported escape sequence", 0),
        (r"a\q", "Illegal/unsupported escape sequence", 2),
        (r"\Qa\E\q", "Illegal/unsupported escape sequence", 6),
        (r"[\b]", "Illegal/unsupported escape sequence", 2),
        (r"\08", "Illegal octal escape sequence", 1),
        (r"\xg", "Illegal hexadecimal escape sequence", 1),
        (r"\x{}", "Illegal hexadecimal escape sequence", 2),
        (r"\x{110000}", "Hexadecimal codepoint is too big", 8),
        (r"\x{41", "Unclosed hexadecimal escape sequence", 4),
        (r"\uD83D\u004", "Illegal Unicode escape sequence", 10),
        (r"\uD83D\u004g", "Illegal Unicode escape sequence", 10),
        (r"\u004", "Illegal Unicode escape sequence", 4),
        (r"\c", "Illegal control escape sequence", 1),
        (r"\Na", "Illegal character name escape sequence", 1),
        (r"\N{a", "Unclosed character name escape sequence", 3),
        (r"\N{NO SUCH}", r"Unknown character name [NO SUCH]", 10),
        (r"\p{L", "Unclosed character family", 3),
        (r"\p{}", "Empty character family", 3),
        (r"\p", "Empty character family", 1),
        (r"\p{Nope}", "Unknown character property name {Nope}", 7),
        (r"\p{IsNope}", "Unknown character property name {IsNope}", 9),
        (r"\p{In}", "Unknown character property name {In}", 5),
        (r"\p{x=y}", "Unknown character property name {x=y}", 6),
        ("(?z)", "Unknown inline modifier", 2),
        ("(?@a)", "Unknown group type", 2),
        ("(?", "Unknown group type", 1),
        ("(?<1>a)", "capturing group name does not start with a Latin letter", 2),
        ("(?<n", "named capturing group is missing trailing '>'", 3),
        ("(?<n>a)(?<n>b)", "Named capturing group <n> is already defined", 11),
        (r"\kn", r"\k is not followed by '<' for named capturing group", 1),
        (r"\k<n>", "named capturing group <n> does not exist", 4),
        ("(?<=a+)b", "A look-behind without an obvious maximum length is not supported", 6),
        (r"(a)(?<=\1)", "A look-behind without an obvious maximum length is not supported", 9),
        (r"\b{g}", "A boundary of graphemes is not supported", 1),
    ],
)
def test_what_java_rejects_is_a_config_error_with_its_place(
    pattern: str, reason: str, index: int
) -> None:
    with pytest.raises(ConfigError) as caught:
        JavaPattern(pattern)
    assert str(caught.value) == f"Invalid pattern '{pattern}': {reason} near index {index}."


def test_what_python_cannot_do_is_a_config_error_too() -> None:
    with pytest.raises(ConfigError, match="is not supported"):
        JavaPattern("(?:" * 3000 + ")" * 3000)


def test_parts_can_be_found() -> None:
    assert JavaPattern("b+").find("abc")
    assert not JavaPattern("b{2}").find("abc")


def test_patterns_travel() -> None:
    pattern = pickle.loads(pickle.dumps(JavaPattern("(?i)a")))
    assert pattern.matches("A")
    assert repr(pattern) == "JavaPattern('(?i)a')"
