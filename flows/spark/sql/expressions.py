"""
The user's expressions of SQL: what Spark's parser and analyser say of them.

An expression is written of one record's columns, and evaluated for all records of a row: Spark has
``transform`` for that, in whose lambda function each name of a column becomes a field of the
lambda's variable. The tree of the expression is changed, not its text.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from contextlib import suppress
from typing import Any, Final

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from flows.source.transform.sql_chain import LITERALS
from flows.source.transform.sql_columns import FAILED, LEFT_OUT, MADE, STAYS
from flows.spark.sql.reasons import SqlReasons, children_of, kind_of, nodes_of
from mm2.config.keys.keys_mm2 import SQL
from mm2.config.text.expressions import RESOLVED, hide
from mm2.errors import ConfigError

COLUMNS: Final = {
    "key": "BINARY",
    "value": "BINARY",
    "headers": "ARRAY<STRUCT<key: STRING, value: BINARY>>",
    "timestamp": "TIMESTAMP",
    "topic": "STRING",
    "partition": "INT",
    "offset": "BIGINT",
}
"""What expressions may name, with its type."""

_BYTES: Final = ("string", "binary", "void")
_RESULTS: Final = {
    "where": ("boolean",),
    "key": _BYTES,
    "value": _BYTES,
    "headers": ("array<struct<key:string,value:binary>>",),
    "timestamp": ("timestamp",),
    "topic": ("string",),
    "partition": ("int",),
}
_WRITTEN: Final = {"void": "NULL"}
_RECORD: Final = "mm2_record"
_CHOICE: Final = "choice"
_NAMES: Final = ("UnresolvedAttribute", "UnresolvedNamedLambdaVariable")
_LAMBDA: Final = "LambdaFunction"
_STARS: Final = ("UnresolvedStar", "UnresolvedStarExceptOrReplace", "UnresolvedStarWithColumns")
_LITERAL: Final = "Literal"
_SHOWN_BY: Final = ("spark.eventLog.enabled", "spark.ui.enabled")
_SHOWN: Final = (
    f"Spark would show what a provider gives: write it as a text, '${{...}}', where no constant is"
    f" needed, or set {' and '.join(_SHOWN_BY)} to false"
)
_PLACE: Final = re.compile(r"\(line (\d+), pos (\d+)\)|line (\d+) pos (\d+)")


class SqlExpressions:
    """
    The expressions of a flow in a session of Spark's; calls block.

    Args:
        texts: by the column of the copy, or ``where``.
        provided: keys of those that have values of providers.
        shows_values: whether the reason why Spark fails for a record may have parts of the record.

    Attributes:
        literals: what ``made`` reads from the column ``LITERALS``, since Spark shows literals.
    """

    def __init__(
        self,
        session: SparkSession,
        texts: Mapping[str, str],
        provided: Collection[str] = (),
        *,
        shows_values: bool = False,
    ) -> None:
        self._session = session
        self._texts = texts
        self._only_chooses = texts.keys() == {"where"}
        conf = session.sparkContext.getConf()
        is_shown = any(str(conf.get(key)).strip().lower() == "true" for key in _SHOWN_BY)
        self._to_hide = [name for name in texts if is_shown and f"{SQL}{name}" in provided]
        self.literals: list[str] = []
        jvm: Any = session.sparkContext._jvm  # noqa: SLF001 - PySpark has no parser of its own
        self._jvm = jvm
        self._catalyst = jvm.org.apache.spark.sql.catalyst
        self._provided = provided
        self._reasons = SqlReasons(
            self._catalyst.expressions, self._sequence, self._parsed, shows_values=shows_values
        )

    def check(self) -> None:
        """
        Has Spark analyse each.

        Raises:
            ConfigError: one is wrong, is of another type than its column, or does not always make
                the same of the same record.
        """
        record = self._record()
        for name, text in self._texts.items():
            try:
                found = record.selectExpr(f"{text}\n")
            except Py4JJavaError as error:
                raise _mistake(name, text, _first_line(error)) from None
            if reason := self._refused(name, record, found):
                raise _mistake(name, text, reason)
        if self._to_hide:
            self._check_hidden(record.selectExpr("*", f"CAST(NULL AS ARRAY<STRING>) AS {LITERALS}"))

    def _check_hidden(self, record: Any) -> None:
        for name, text in self._texts.items():
            literals: list[str] = []
            tree = self._without_literals(self._parsed(f"{text}\n"), literals)
            left = str(tree.toString())
            try:
                record._jdf.select(self._sequence([self._column(tree)]))  # noqa: SLF001 - as above
            except Py4JJavaError:
                raise _mistake(name, text, _SHOWN) from None
            if name in self._to_hide and (not literals or hide(left) != left):
                raise _mistake(name, text, _SHOWN)

    def _refused(self, name: str, record: Any, found: Any) -> str:
        plan = found._jdf.queryExecution().analyzed()  # noqa: SLF001 - as above
        before = record._jdf.queryExecution().analyzed()  # noqa: SLF001
        expressions = plan.expressions()
        if expressions.size() != 1 or any(
            kind_of(each) in _STARS for each in nodes_of(self._parsed(self._texts[name]))
        ):
            return "one expression is needed: name the columns"
        if kind_of(plan) != "Project" or not plan.child().sameResult(before):
            return "it depends on other records: an aggregate, a window or a generator"
        expression = expressions.apply(0)
        patterns = self._catalyst.trees.TreePattern
        if expression.containsPattern(patterns.PLAN_EXPRESSION()):
            return "a subquery reads what is no record"
        if not expression.deterministic() or expression.containsPattern(patterns.CURRENT_LIKE()):
            return "it is not always the same for the same record: use the record's columns"
        kind, wanted = expression.dataType().catalogString(), _RESULTS[name]
        if kind not in wanted:
            options = " or ".join(_WRITTEN.get(each, each.upper()) for each in wanted)
            return f"it is {kind.upper()}, and must be {options}: write CAST(... AS ...)"
        return ""

    def columns(self) -> list[str]:
        """The columns of a record that the expressions name, at least one, in a fixed order."""
        named = {
            _parts(each)[0].lower()
            for text in self._texts.values()
            for each in nodes_of(self._parsed(text))
            if kind_of(each) in _NAMES
        }
        return [name for name in COLUMNS if name in named] or ["offset"]

    def made(self, records: str, name: str) -> Any:
        """
        A column of Spark's: for each struct of the array ``records`` what becomes of the record.

        Where expressions only choose records it is ``STAYS``, ``LEFT_OUT``, or the reason why it
        cannot be told. Otherwise it is a struct. Its field ``made`` is null if the record is to be
        left out. If that cannot be told its field ``failed`` has the reason, and is null otherwise.
        """
        where = f"({self._texts.get('where', 'true')}\n)"
        if self._only_chooses:
            choice = f"if({where}, {_bytes(STAYS)}, {_bytes(LEFT_OUT)})"
            made, failed = f"named_struct('{_CHOICE}', {choice})", self._reason()
        else:
            named = [name for name in self._texts if name != "where"]
            copy = ", ".join(f"'{column}', {self._copied(column)}" for column in named)
            made = f"'{MADE}', if({where}, named_struct({copy}), NULL)"
            made = f"named_struct({made}, '{FAILED}', CAST(NULL AS BINARY))"
            failed = self._failed(self._reason())
        text = f"transform({records}, {_RECORD} -> {made})"
        whole = self._of_records(self._parsed_hidden(text), frozenset(), failed)
        return getattr(self._column(whole), "as")(name)

    def _failed(self, reason: Any) -> Any:
        """What becomes of a record for which this is the reason, as a struct."""
        failed = self._parsed(f"named_struct('{MADE}', NULL, '{FAILED}', NULL)")
        *names, _ = children_of(failed)
        return failed.withNewChildren(self._sequence([*names, reason]))

    def _reason(self) -> Any:
        """Why Spark fails for a record, of columns as the user writes them."""
        parts = []
        for name, text in self._texts.items():
            root = self._parsed_hidden(f"{text}\n")
            is_divided = f"{SQL}{name}" not in self._provided
            reason = self._reasons.of(name, text, root, is_divided=is_divided)
            if is_divided and not self._is_known(reason):
                reason = self._reasons.of(name, text, root, is_divided=False)
            parts.append((root, reason))
        return self._reasons.first(parts, "Spark fails for all columns together")

    def _is_known(self, expression: Any) -> bool:
        """Whether Spark can evaluate what was made of parts of the user's expression."""
        with suppress(Py4JJavaError):
            self._record()._jdf.select(self._sequence([self._column(expression)]))  # noqa: SLF001 - as above
            return True
        return False

    def _record(self) -> Any:
        """A row that has a record's columns."""
        columns = (f"CAST(NULL AS {kind}) AS `{name}`" for name, kind in COLUMNS.items())
        return self._session.range(0).selectExpr(*columns)

    def _parsed_hidden(self, text: str) -> Any:
        expression = self._parsed(text)
        return self._without_literals(expression, self.literals) if self._to_hide else expression

    def _column(self, expression: Any) -> Any:
        return self._jvm.org.apache.spark.sql.classic.ExpressionUtils.column(expression)

    def _copied(self, column: str) -> str:
        text = f"({self._texts[column]}\n)"
        return f"CAST({text} AS BINARY)" if column in {"key", "value"} else text

    def _parsed(self, text: str) -> Any:
        # Not the session's: that one puts variables of the process in the place of ${env:...}.
        return self._catalyst.parser.CatalystSqlParser().parseExpression(text)

    def _without_literals(self, expression: Any, found: list[str]) -> Any:
        """The same, with texts that hold what providers gave as items of a column."""
        if kind_of(expression) == _LITERAL and expression.dataType().catalogString() == "string":
            text = str(expression.value())
            if not RESOLVED.within([text]):
                return expression
            found.append(text)
            return self._parsed(f"{LITERALS}[{len(found) - 1}]")
        children = [self._without_literals(child, found) for child in children_of(expression)]
        return expression.withNewChildren(self._sequence(children)) if children else expression

    def _of_records(self, expression: Any, bound: frozenset[str], failed: Any = None) -> Any:
        """
        The same with fields of a record for columns; ``bound`` are variables of lambdas.

        Args:
            failed: what a record becomes that the outermost lambda fails for, of columns, too.
        """
        kind = kind_of(expression)
        if kind in _NAMES:
            parts = _parts(expression)
            if not bound or parts[0].lower() in bound or parts[0].lower() not in COLUMNS:
                return expression
            variable = self._catalyst.expressions.UnresolvedNamedLambdaVariable
            return variable(self._sequence([_RECORD, *parts]))
        children = children_of(expression)
        if kind == _LAMBDA:
            within = bound | {_parts(each)[0].lower() for each in children[1:]}
            body = self._of_records(children[0], within)
            children[0] = body if bound else self._tried(body, self._of_records(failed, within))
        else:
            children = [self._of_records(child, bound, failed) for child in children]
        return expression.withNewChildren(self._sequence(children)) if children else expression

    def _tried(self, made: Any, failed: Any) -> Any:
        """What a record becomes; what an expression raises would end the task."""
        # Only a struct: of what else is tried, the optimizer moves parts out of ``TryEval``.
        tried = self._catalyst.expressions.TryEval(made)
        if self._only_chooses:
            extract = self._catalyst.analysis.UnresolvedExtractValue
            tried = extract(tried, self._parsed(f"'{_CHOICE}'"))
        return self._catalyst.expressions.Coalesce(self._sequence([tried, failed]))

    def _sequence(self, items: list[Any]) -> Any:
        return self._jvm.PythonUtils.toSeq(items)


def _parts(name: Any) -> list[str]:
    found = name.nameParts()
    return [str(found.apply(at)) for at in range(found.size())]


def _bytes(data: bytes) -> str:
    return f"X'{data.hex()}'"


def _first_line(error: Py4JJavaError) -> str:
    """The first line of what Spark says that says something, with the place that it names."""
    java = error.java_exception
    lines = [line.strip() for line in str(java.getMessage()).splitlines()]
    first = next(filter(None, lines), str(java.getClass().getSimpleName()))
    if (place := _PLACE.search("\n".join(lines))) and place[0] not in first:
        return f"{first} ({place[0]})"
    return first


def _mistake(name: str, text: str, reason: str) -> ConfigError:
    key = f"{SQL}{name}"
    message = hide(f"{key} = {text}: {reason}. Correct the expression, or remove the key")
    return ConfigError(message, key=key, value=hide(text))
