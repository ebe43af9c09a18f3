"""A secret leaves in no text, whatever stands beside it and however it is written there."""

from __future__ import annotations

import html
import json
from collections.abc import Callable
from typing import Final
from urllib.parse import quote, quote_plus

from hypothesis import given, settings
from hypothesis import strategies as st

from mm2.core.hide_secrets import Screen, secrets_of

_SHOWN: Final = "\0"
_BESIDE: Final = st.text(st.sampled_from("\n\r\t !\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~€"), max_size=4)
_SECRETS: Final = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters=_SHOWN), min_size=1
).filter(str.strip) | st.text("abu07\n\"'\\%-_ä", min_size=1, max_size=8).filter(str.strip)
_PART: Final = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters=_SHOWN), max_size=3
) | st.text("abu07\n\"'\\%-_ä", max_size=3)
_WAYS: Final[dict[str, Callable[[str], str]]] = {
    "plain": str,
    "Python": repr,
    "bytes of Python": lambda text: repr(text.encode()),
    "JSON": json.dumps,
    "JSON with letters of all kinds": lambda text: json.dumps(text, ensure_ascii=False),
    "JAAS": lambda text: text.replace("\\", "\\\\").replace('"', '\\"'),
    "URL": lambda text: quote(text, safe=""),
    "form": quote_plus,
    "HTML": html.escape,
}
_WAY: Final = st.sampled_from(sorted(_WAYS))


@given(secret=_SECRETS, before=_BESIDE, after=_BESIDE)
def test_a_secret_beside_punctuation_does_not_leave(secret: str, before: str, after: str) -> None:
    hidden = Screen(secrets_of(secret, _SHOWN)).hide(f"{before}{secret}{after}")
    assert secret not in hidden
    assert _SHOWN in hidden


@settings(max_examples=400)
@given(
    ways=st.tuples(_WAY, _WAY), secret=st.tuples(_PART, _PART), beside=st.tuples(_BESIDE, _BESIDE)
)
def test_nor_does_it_when_it_is_quoted_or_escaped(
    ways: tuple[str, str], secret: tuple[str, str], beside: tuple[str, str]
) -> None:
    """No escape has a Z in it: one that is left is the secret's."""
    hidden = "Z".join(secret)
    text = hidden.join(beside)
    for way in ways:
        text = _WAYS[way](text)
    assert "Z" not in Screen(secrets_of(hidden, _SHOWN)).hide(text)


@given(secret=st.text("abyz0189äß", min_size=1), before=_BESIDE, after=_BESIDE)
def test_what_stands_beside_it_stays(secret: str, before: str, after: str) -> None:
    screen = Screen(secrets_of(secret, _SHOWN))
    assert screen.hide(f"{before}{secret}{after}") == f"{before}{_SHOWN}{after}"


@given(lines=st.lists(st.text("abcdef+/=", min_size=4, max_size=20), min_size=1, max_size=5))
def test_no_line_of_a_secret_leaves(lines: list[str]) -> None:
    screen = Screen(secrets_of("\n".join(lines) + "\n", _SHOWN))
    for line in lines:
        assert line not in screen.hide(f"cannot read '{line}'")
