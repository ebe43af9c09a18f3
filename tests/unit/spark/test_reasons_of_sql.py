"""Why Spark's SQL fails for a record: values of it are told only where they may be logged."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, Final

import pytest

from flows.spark.engine import SparkEngine
from flows.spark.spark_job import SparkJob, submit
from flows.spark.sql.reasons import SqlReasons
from mm2.config.connector_settings import TransformSettings
from mm2.config.text.expressions import RESOLVED
from tests.support.configs import flow_of
from tests.support.specs import sample_spec

_SALT: Final = "p3pper-of-the-test"


class _Node:
    """An expression of Spark's that stands in a text."""

    def __init__(self, kind: str, children: list[_Node], text: str = "", part: str = "") -> None:
        self.kind, self.items = kind, children
        start = text.find(part) if part else -1
        self._range = (start, start + len(part) - 1)

    def getClass(self) -> Any:  # noqa: N802 - Java's name
        return SimpleNamespace(getSimpleName=lambda: self.kind)

    def children(self) -> Any:
        return SimpleNamespace(size=lambda: len(self.items), apply=self.items.__getitem__)

    def origin(self) -> Any:
        start, stop = map(_option, self._range)
        return SimpleNamespace(startIndex=lambda: start, stopIndex=lambda: stop)

    def withNewChildren(self, children: list[_Node]) -> _Node:  # noqa: N802
        return _Node(self.kind, children)

    def all(self) -> list[_Node]:
        return [self, *(each for child in self.items for each in child.all())]


def _option(at: int) -> Any:
    return SimpleNamespace(isDefined=lambda: at >= 0, get=lambda: at)


class _Expressions:
    """Spark's package of them."""

    def __getattr__(self, kind: str) -> Any:
        return lambda *made: _Node(
            kind, [each for one in made for each in (one if isinstance(one, list) else [one])]
        )


def _reason(text: str, root: _Node, *, shows_values: bool) -> tuple[list[str], list[str]]:
    """Its constant texts, and the functions of operands."""
    parsed = lambda text: _Node(text, [])  # noqa: E731
    reasons = SqlReasons(_Expressions(), list, parsed, shows_values=shows_values)
    kinds = [each.kind for each in reasons.of("value", text, root, is_divided=True).all()]
    texts = [bytes.fromhex(each[2:-1]).decode() for each in kinds if each.startswith("X'")]
    return texts, [each for each in kinds if each.endswith("(1)")]


_TEXT: Final = "key + 1 + offset"


def _sum() -> _Node:
    names = [_Node("UnresolvedAttribute", [], _TEXT, each) for each in ("key", "offset")]
    return _Node("Add", [names[0], _Node("Literal", [], _TEXT, "1"), names[1]], _TEXT, _TEXT)


def test_operands_are_named_and_their_values_left_out() -> None:
    texts, functions = _reason(_TEXT, _sum(), shows_values=False)
    assert texts == [
        f"transforms.sql.value: {_TEXT} fails; operands: key, offset",
        f"transforms.sql.value fails: {_TEXT}",
    ]
    assert functions == []


def test_values_of_operands_are_told_where_they_may_be() -> None:
    texts, functions = _reason(_TEXT, _sum(), shows_values=True)
    told = [each for each in texts if each != "NULL"]
    assert told[:3] == [
        f"transforms.sql.value: {_TEXT} fails",
        " where key is ",
        " and offset is ",
    ]
    assert functions == ["binary(1)", "string(1)"] * 2


@pytest.mark.parametrize("shows_values", [False, True])
def test_an_operand_that_has_what_a_provider_gave_is_not_named(*, shows_values: bool) -> None:
    RESOLVED.remember(_SALT, "${file:x:salt}")
    text = f"CAST('{_SALT}' || 'a' AS INT)"
    made = _Node("Concat", [], text, f"'{_SALT}' || 'a'")
    texts, functions = _reason(text, _Node("Cast", [made], text, text), shows_values=shows_values)
    assert texts[0] == "transforms.sql.value: CAST('${file:x:salt}' || 'a' AS INT) fails"
    assert functions == ["concat(1)"] * shows_values


@pytest.mark.parametrize("may_be_logged", [False, True])
async def test_the_flow_says_whether_values_may_be_logged(
    monkeypatch: pytest.MonkeyPatch, *, may_be_logged: bool
) -> None:
    errors = flow_of({"errors.log.include.messages": str(may_be_logged).lower()}).source.errors
    spec = sample_spec(errors=errors, transforms=TransformSettings(sql_value="key"))
    engine, jobs = SparkEngine({}, task=lambda _: {}), list[SparkJob[Any]]()

    async def run_job(job: SparkJob[Any]) -> dict[str, int]:
        jobs.append(job)
        return {}

    monkeypatch.setattr(engine, "run_job", run_job)
    await engine.run(spec)
    asked: list[bool] = []

    def run_with_sql(*_: object, shows_values: bool) -> None:
        asked.append(shows_values)

    monkeypatch.setattr("flows.spark.sql.job.run_with_sql", run_with_sql)
    context: Any = SimpleNamespace(
        setJobGroup=lambda *_, **__: None, setLocalProperty=lambda *_: None
    )
    submit(context, jobs[0])
    assert asked == [may_be_logged]
