"""
Reads ``sasl.jaas.config``: the login module's name and options as Java writes them.

    org.apache.kafka.common.security.plain.PlainLoginModule required username="u" password="p";

Java: ``org.apache.kafka.common.security.JaasConfig``. Messages never quote the text: it holds
passwords.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from mm2.errors import ConfigError

KEY: Final = "sasl.jaas.config"
_FLAGS: Final = frozenset({"required", "requisite", "sufficient", "optional"})

_TOKEN: Final = re.compile(
    r"""
      (?P<space> \s+ | //[^\n\r]* | /\*.*?\*/ )
    | (?P<quoted> "(?:[^"\\\n\r]|\\.)*" | '(?:[^'\\\n\r]|\\.)*' )
    | (?P<sign> [=;] )
    | (?P<word> [^\s=;"']+ )
    """,
    re.VERBOSE | re.DOTALL,
)
_ESCAPE: Final = re.compile(r"\\([0-3][0-7]{0,2}|[0-7]{1,2}|.)", re.DOTALL)
_NAMED: Final = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


@dataclass(frozen=True, slots=True)
class LoginModule:
    """
    One login module.

    Attributes:
        options: its options; they hold secrets, so the object does not print them.
    """

    name: str
    options: Mapping[str, str]

    def __repr__(self) -> str:
        return f"LoginModule({self.name}, options {sorted(self.options)})"


def parse_jaas(text: str) -> LoginModule:
    """
    Reads the one login module of a client.

    Raises:
        ConfigError: the text is no login module, or there are several.
    """
    tokens = list(_tokens(text))
    entry, rest = _split_entry(tokens)
    if rest:
        raise _mistake("it must hold exactly one login module, and it holds several")
    match entry:
        case [name, flag, *options] if flag.lower() in _FLAGS:
            return LoginModule(_plain(name), dict(_options(options)))
    raise _mistake("it must begin with a class and a flag such as 'required'")


def _tokens(text: str) -> Iterator[str]:
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise _mistake("a quotation mark is never closed")
        position = match.end()
        if match.lastgroup == "quoted":
            # A leading NUL marks what was quoted, so that ";" and "=" within are no signs.
            yield "\0" + _ESCAPE.sub(_unescape, match[0][1:-1])
        elif match.lastgroup != "space":
            yield match[0]


def _unescape(match: re.Match[str]) -> str:
    code = match[1]
    return chr(int(code, 8)) if code.isdigit() and code < "8" else _NAMED.get(code, code)


def _split_entry(tokens: list[str]) -> tuple[list[str], list[str]]:
    if ";" not in tokens:
        raise _mistake("it must end with a semicolon")
    end = tokens.index(";")
    return tokens[:end], tokens[end + 1 :]


def _options(tokens: list[str]) -> Iterator[tuple[str, str]]:
    while tokens:
        match tokens:
            case [name, "=", value, *rest] if value != "=":
                yield _plain(name), _plain(value)
                tokens = rest
            case _:
                raise _mistake(f"the option {_plain(tokens[0])!r} needs '=' and a value")


def _plain(token: str) -> str:
    return token.removeprefix("\0")


def _mistake(what: str) -> ConfigError:
    return ConfigError(f"{KEY} cannot be read: {what}.", key=KEY)
