"""
Reads .properties files exactly as ``java.util.Properties`` does, and keeps the line of each key.

The syntax is javaproperties' business, except for one class of input in which it differs from Java:
a line that begins an entry and holds only blanks and one backslash. Such a line is rewritten before
it is parsed.
"""

from __future__ import annotations

import io
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import javaproperties

from mm2.errors import ConfigError

# One alternative for each thing that can begin where an entry may begin; each takes its line end
# along, so that scanning from match to match always stands at such a place.
_PIECES: Final = re.compile(
    r"""
    # Blanks and one backslash, which end the file: an empty key.
    (?P<last> [ \t\f]* \\ [\r\n]? \Z )
    # Followed by anything else, Java goes on below as if nothing had been there.
    | [ \t\f]* \\ (?P<end> \r\n | \r | \n )
    # A comment, which never continues.
    | [ \t\f]* [#!] [^\r\n]* (?: \r\n | \r | \n | \Z )
    # An entry with its continuations.
    | (?: [^\\\r\n] | \\ (?: \r\n | [\s\S] ) )* \\? (?: \r\n | \r | \n | \Z )
    """,
    re.VERBOSE,
)
_LINE_END: Final = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class PropertiesFile:
    """
    What one file says: for each key the value that counts, the last, and where that stands.

    Attributes:
        lines: by key, counted from 1.
        repeated: all lines of each key that is given more than once.
    """

    values: Mapping[str, str]
    lines: Mapping[str, int] = field(default_factory=dict)
    repeated: Mapping[str, Sequence[int]] = field(default_factory=dict)
    name: str | None = None


def parse(data: bytes, *, name: str | None = None) -> PropertiesFile:
    """
    Parses the bytes of a .properties file as ``Properties.load(InputStream)`` does (C003).

    The bytes are ISO-8859-1.

    Raises:
        ConfigError: an escape of four digits is malformed, the only thing that Java refuses.
    """
    return parse_text(data.decode("iso-8859-1"), name=name)


def parse_text(text: str, *, name: str | None = None) -> PropertiesFile:
    """Parses text already decoded, as ``Properties.load(Reader)`` does."""
    values: dict[str, str] = {}
    lines: defaultdict[str, list[int]] = defaultdict(list)
    line = 1
    source = io.StringIO(_PIECES.sub(_rewrite, text), newline="")
    try:
        for element in javaproperties.parse(source):
            if isinstance(element, javaproperties.KeyValue):
                values[element.key] = element.value
                lines[element.key].append(line)
            line += len(_LINE_END.findall(element.source))
    except javaproperties.InvalidUEscapeError as error:
        raise ConfigError(
            f"malformed escape {error.escape}: four hexadecimal digits must follow \\u", line=line
        ) from error
    return PropertiesFile(
        values=values,
        lines={key: each[-1] for key, each in lines.items()},
        repeated={key: each for key, each in lines.items() if len(each) > 1},
        name=name,
    )


def load(path: Path) -> PropertiesFile:
    """
    Reads and parses the file at ``path``.

    Raises:
        ConfigError: the file cannot be read, or is malformed.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror or error}") from error
    return parse(data, name=str(path))


def _rewrite(piece: re.Match[str]) -> str:
    """Turns a lonely backslash into the blank line, or the empty key, that Java makes of it."""
    end: str | None = piece["end"]
    if end is not None:
        return end
    return "=" if piece["last"] is not None else piece[0]
