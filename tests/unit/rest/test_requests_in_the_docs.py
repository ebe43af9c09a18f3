"""Every request that the documentation shows is one that a node answers."""

from __future__ import annotations

import re
import shlex
from urllib.parse import parse_qs, urlsplit

import pytest

from mm2.rest.openapi import ROUTES
from mm2.rest.routes import Route
from tests.support.shown_commands import PAGES, inline_code, shell_lines

_PORT = ":8083/"
_NAMED = re.compile(r"(GET|PUT|POST|PATCH|DELETE) (/[^ ]*)$")
_OF_OTHERS = {"/mode"}
"""What a Schema Registry answers."""


def _curls() -> list[tuple[str, str]]:
    found = ((page.name, line) for page in PAGES for line in shell_lines(page))
    return [
        *dict.fromkeys(each for each in found if each[1].startswith("curl ") and _PORT in each[1])
    ]


def _named() -> list[tuple[str, str]]:
    found = ((page.name, code) for page in PAGES for code in inline_code(page))
    return [*dict.fromkeys(each for each in found if _NAMED.match(each[1]))]


@pytest.mark.parametrize(("page", "line"), _curls())
def test_curl_asks_for_what_there_is(page: str, line: str) -> None:
    is_whole = line.count("'") % 2 == 0
    words = shlex.split(line if is_whole else line.rpartition("'")[0])
    (place,) = (word for word in words if _PORT in word)
    method = words[words.index("-X") + 1] if "-X" in words else "GET"
    asked = urlsplit(place if "//" in place else f"http://{place}")
    route = _route(method, asked.path)
    assert route is not None, page
    assert {*parse_qs(asked.query)} <= {each.name for each in route.query}


@pytest.mark.parametrize(("page", "code"), _named())
def test_a_request_in_a_sentence_is_one_that_there_is(page: str, code: str) -> None:
    match = _NAMED.match(code)
    assert match is not None
    path = urlsplit(match[2]).path
    assert path in _OF_OTHERS or _route(match[1], path) is not None, page


def _route(method: str, path: str) -> Route | None:
    """What answers a request."""
    return next(
        (
            route
            for route in ROUTES
            if route.method == method
            and re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", route.path), path)
        ),
        None,
    )


def test_there_are_some() -> None:
    assert len(_curls()) > 7
    assert len(_named()) > 7
