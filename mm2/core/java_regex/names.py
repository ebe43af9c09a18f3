r"""Sets with names: ``\p{Alpha}``, ``\p{Lu}``, ``\p{IsLatin}``, ``\p{javaDigit}`` and so on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import regex  # type: ignore[import-untyped]  # publishes no types

from mm2.core.java_regex.sets import ANY, UNICODE_SPACE, UNICODE_WORD

_IGNORABLE: Final = "\\x00-\\x08\\x0E-\\x1B\\x7F-\\x9F\\p{Cf}"
_GRAPH: Final = "[^\\p{Z}\\p{Cc}\\p{Cs}\\p{Cn}]"
_BLANK: Final = "[\\t\\p{Zs}]"

_ASCII: Final[Mapping[str, str]] = {
    "ASCII": "[\\x00-\\x7F]",
    "Alnum": "[a-zA-Z0-9]",
    "Alpha": "[a-zA-Z]",
    "Blank": "[ \\t]",
    "Cntrl": "[\\x00-\\x1F\\x7F]",
    "Digit": "[0-9]",
    "Graph": "[!-~]",
    "Lower": "[a-z]",
    "Print": "[ -~]",
    "Punct": "[!-/:-@\\[-`{-~]",
    "Space": "[ \\t\\n\\x0B\\f\\r]",
    "Upper": "[A-Z]",
    "XDigit": "[0-9a-fA-F]",
}

_CATEGORIES: Final[Mapping[str, str]] = {
    **{f"C{kind}": f"\\p{{gc=C{kind}}}" for kind in "cfnos"},
    **{f"L{kind}": f"\\p{{gc=L{kind}}}" for kind in "lmotu"},
    **{f"M{kind}": f"\\p{{gc=M{kind}}}" for kind in "cen"},
    **{f"N{kind}": f"\\p{{gc=N{kind}}}" for kind in "dlo"},
    **{f"P{kind}": f"\\p{{gc=P{kind}}}" for kind in "cdefios"},
    **{f"S{kind}": f"\\p{{gc=S{kind}}}" for kind in "ckmo"},
    **{f"Z{kind}": f"\\p{{gc=Z{kind}}}" for kind in "lps"},
    **{kind: f"\\p{{gc={kind}}}" for kind in "CLMNPSZ"},
    "LC": "[\\p{Lu}\\p{Ll}\\p{Lt}]",
    "LD": "[\\p{L}\\p{Nd}]",
    "L1": "[\\x00-\\xFF]",
    "all": ANY,
}

_JAVA: Final[Mapping[str, str]] = {
    "javaLowerCase": "\\p{Lowercase}",
    "javaUpperCase": "\\p{Uppercase}",
    "javaAlphabetic": "\\p{Alphabetic}",
    "javaIdeographic": "\\p{Ideographic}",
    "javaTitleCase": "\\p{Lt}",
    "javaDigit": "\\p{Nd}",
    "javaDefined": "\\P{Cn}",
    "javaLetter": "\\p{L}",
    "javaLetterOrDigit": "[\\p{L}\\p{Nd}]",
    "javaJavaIdentifierStart": "[\\p{L}\\p{Nl}\\p{Sc}\\p{Pc}]",
    "javaJavaIdentifierPart": (
        f"[\\p{{L}}\\p{{Nl}}\\p{{Sc}}\\p{{Pc}}\\p{{Nd}}\\p{{Mc}}\\p{{Mn}}{_IGNORABLE}]"
    ),
    "javaUnicodeIdentifierStart": "[\\p{ID_Start}\\u2E2F]",
    "javaUnicodeIdentifierPart": f"[\\p{{ID_Continue}}\\u2E2F{_IGNORABLE}]",
    "javaIdentifierIgnorable": f"[{_IGNORABLE}]",
    "javaSpaceChar": "\\p{Z}",
    "javaWhitespace": "[[\\p{Z}\\t-\\r\\x1C-\\x1F]--[\\xA0\\u2007\\u202F]]",
    "javaISOControl": "\\p{Cc}",
    "javaMirrored": "\\p{Bidi_Mirrored}",
}

_UNICODE_POSIX: Final[Mapping[str, str]] = {
    "ALPHA": "\\p{Alphabetic}",
    "LOWER": "\\p{Lowercase}",
    "UPPER": "\\p{Uppercase}",
    "SPACE": UNICODE_SPACE,
    "PUNCT": "\\p{P}",
    "XDIGIT": "[\\p{Nd}\\p{Hex_Digit}]",
    "ALNUM": "[\\p{Alphabetic}\\p{Nd}]",
    "CNTRL": "\\p{Cc}",
    "DIGIT": "\\p{Nd}",
    "BLANK": _BLANK,
    "GRAPH": _GRAPH,
    "PRINT": f"[[{_GRAPH}{_BLANK}]--\\p{{Cc}}]",
}

_BINARY: Final[Mapping[str, str]] = {
    "ALPHABETIC": "\\p{Alphabetic}",
    "LETTER": "\\p{L}",
    "IDEOGRAPHIC": "\\p{Ideographic}",
    "LOWERCASE": "\\p{Lowercase}",
    "UPPERCASE": "\\p{Uppercase}",
    "TITLECASE": "\\p{Lt}",
    "WHITE_SPACE": UNICODE_SPACE,
    "WHITESPACE": UNICODE_SPACE,
    "CONTROL": "\\p{Cc}",
    "PUNCTUATION": "\\p{P}",
    "HEX_DIGIT": "[\\p{Nd}\\p{Hex_Digit}]",
    "HEXDIGIT": "[\\p{Nd}\\p{Hex_Digit}]",
    "ASSIGNED": "\\P{Cn}",
    "NONCHARACTER_CODE_POINT": "\\p{Noncharacter_Code_Point}",
    "NONCHARACTERCODEPOINT": "\\p{Noncharacter_Code_Point}",
    "WORD": UNICODE_WORD,
    "JOIN_CONTROL": "\\p{Join_Control}",
    "JOINCONTROL": "\\p{Join_Control}",
}

_ALL_CASES: Final = "[\\p{Lowercase}\\p{Uppercase}\\p{Lt}]"
_ANY_CASE: Final[Mapping[str, str]] = {
    **dict.fromkeys([_ASCII["Lower"], _ASCII["Upper"]], _ASCII["Alpha"]),
    **dict.fromkeys([_CATEGORIES[f"L{kind}"] for kind in "ult"], _CATEGORIES["LC"]),
    **dict.fromkeys([_BINARY[f"{kind}CASE"] for kind in ("LOWER", "UPPER", "TITLE")], _ALL_CASES),
}
"""What sets that are about one case become where cases make no difference."""

_KEYS: Final[Mapping[str, str]] = {
    "sc": "script",
    "script": "script",
    "blk": "block",
    "block": "block",
}


def named_set(name: str, *, unicode: bool, any_case: bool) -> str | None:
    """
    Returns the set that Java knows by ``name``, or None.

    Args:
        unicode: whether the flag ``U`` gives the names of POSIX their meaning in Unicode.
        any_case: whether the flag ``i`` makes no difference of cases.
    """
    found = _named(name, unicode=unicode)
    return _ANY_CASE.get(found, found) if any_case and found else found


def _named(name: str, *, unicode: bool) -> str | None:
    key, equals, value = name.partition("=")
    if equals:
        return _keyed(key.lower(), value)
    if name.startswith("In"):
        return _queried("block", name[2:])
    if name.startswith("Is"):
        short = name[2:]
        binary = _BINARY.get(short.upper()) or _UNICODE_POSIX.get(short.upper())
        return binary or _defined(short) or _queried("script", short)
    return (unicode and _UNICODE_POSIX.get(name.upper())) or _defined(name)


def _keyed(key: str, value: str) -> str | None:
    if key in {"gc", "general_category"}:
        return _defined(value)
    return _queried(_KEYS[key], value) if key in _KEYS else None


def _defined(name: str) -> str | None:
    return _CATEGORIES.get(name) or _ASCII.get(name) or _JAVA.get(name)


def _queried(kind: str, value: str) -> str | None:
    """Asks the ``regex`` module whether it knows a script or block of this name."""
    query = f"\\p{{{kind}={value}}}"
    if not value.replace("_", "").replace("-", "").replace(" ", "").isalnum():
        return None
    try:
        regex.compile(query, regex.VERSION1)
    except regex.error:
        return None
    return query
