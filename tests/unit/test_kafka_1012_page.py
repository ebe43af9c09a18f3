"""The page on the tests of KAFKA-1012: each test that it names is there."""

from __future__ import annotations

import re

import pytest

from tests.support.layout import ROOT

_PAGE = (ROOT / "docs" / "contributing" / "tests-of-kafka-1012.md").read_text()
_NAMED = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?` \|$", _PAGE, re.MULTILINE)


def test_each_row_names_a_test() -> None:
    assert len(_NAMED) == len(re.findall(r"^\| ", _PAGE, re.MULTILINE)) - 1


@pytest.mark.parametrize(("file", "name"), _NAMED)
def test_the_test_is_there(file: str, name: str) -> None:
    assert re.search(rf"def {name or 'test_'}\w*\(", (ROOT / file).read_text())
