"""The page that says where to change what: each answer is there."""

from __future__ import annotations

import re

import pytest

from tests.support.layout import ROOT

_PAGE = (ROOT / "docs" / "contributing" / "where-to-change.md").read_text()
_QUESTIONS = re.findall(r"^(\d+)\. .+\.$", _PAGE, re.MULTILINE)
_ANSWERS = re.findall(r"^\| (\d+) \| `([^`]+)` \| `([^`]+)` \|$", _PAGE, re.MULTILINE)


def test_each_question_has_one_answer() -> None:
    assert len(_QUESTIONS) == 20
    assert len(set(_QUESTIONS)) == 20
    assert [number for number, _, _ in _ANSWERS] == _QUESTIONS


@pytest.mark.parametrize(("file", "name"), [(file, name) for _, file, name in _ANSWERS])
def test_the_file_is_there_and_has_the_name(file: str, name: str) -> None:
    path = ROOT / file
    assert path.is_file(), f"docs/contributing/where-to-change.md names {file}"
    assert re.search(rf"\b{re.escape(name)}\b", path.read_text()), f"{file} has no {name}"
