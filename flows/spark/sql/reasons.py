"""
Why Spark fails for a record: an expression that says which part of the user's fails.

``TryEval`` gives null for whatever an expression raises, and no message. So each part is tried by
itself: the innermost that fails although its operands do not is the reason. Only a record that was
failed for is tried so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, Final

from mm2.config.keys.keys_mm2 import SQL
from mm2.config.text.expressions import hide

_MOST_PARTS: Final = 200
"""An expression of more is not divided: each part is written again for each that it is in."""

_SHOWN: Final = 100
"""Characters of an operand's value."""

_CHOOSE: Final = {"if", "iff", "nvl2", "decode"}
"""Functions that do not evaluate all of their operands."""


def kind_of(node: Any) -> str:
    """Which class of Spark's an expression is of."""
    return str(node.getClass().getSimpleName())


def children_of(node: Any) -> list[Any]:
    """The expressions that one is made of."""
    found = node.children()
    return [found.apply(at) for at in range(found.size())]


def nodes_of(node: Any) -> Iterator[Any]:
    """An expression, and all that it is made of."""
    yield node
    for child in children_of(node):
        yield from nodes_of(child)


class SqlReasons:
    """
    Makes such expressions; their results are bytes of UTF-8.

    Args:
        expressions: Spark's package of expressions.
        sequence: makes one of Scala's of a list.
        parsed: makes an expression of a text.
        shows_values: whether a reason has what the operands are for the record; else it names them.
    """

    def __init__(
        self,
        expressions: Any,
        sequence: Callable[[list[Any]], Any],
        parsed: Callable[[str], Any],
        *,
        shows_values: bool,
    ) -> None:
        self._expressions = expressions
        self._sequence = sequence
        self._parsed = parsed
        self._shows_values = shows_values

    def of(self, name: str, text: str, root: Any, *, is_divided: bool) -> Any:
        """
        Why an expression fails; it is not to be asked where it does not.

        Args:
            text: what ``root`` was parsed of.
            is_divided: whether its parts, and what they are made of, may be told.
        """
        whole = self._text(f"{SQL}{name} fails: {hide(text.strip())}")
        if not is_divided or len(list(islice(nodes_of(root), _MOST_PARTS + 1))) > _MOST_PARTS:
            return whole
        tried = self._expressions.TryEval(self._why(name, text, root))
        return self._expressions.Coalesce(self._sequence([tried, whole]))

    def first(self, parts: list[tuple[Any, Any]], otherwise: str) -> Any:
        """The reason of the first expression that fails; parts are expressions with reasons."""
        found = self._text(otherwise)
        for root, reason in reversed(parts):
            found = self._expressions.If(self._fails(root), reason, found)
        return found

    def _why(self, name: str, text: str, node: Any) -> Any:
        found = self._explained(name, text, node)
        for child in reversed(_operands(node)):
            if child.children().size():
                inner = self._why(name, text, child)
                found = self._expressions.If(self._fails(child), inner, found)
        return found

    def _fails(self, node: Any) -> Any:
        """A struct is null only where making it fails."""
        made = self._expressions.CreateNamedStruct(self._sequence([self._parsed("'it'"), node]))
        return self._expressions.IsNull(self._expressions.TryEval(made))

    def _explained(self, name: str, text: str, node: Any) -> Any:
        said = f"{SQL}{name}: {hide(_slice(text, node))} fails"
        operands = [each for each in _operands(node) if kind_of(each) != "Literal"]
        slices = [(each, _slice(text, each)) for each in operands]
        shown = [(each, part) for each, part in slices if hide(part) == part]
        if self._shows_values:
            return self._with_values(said, shown)
        named = ", ".join(part for _, part in shown)
        return self._text(f"{said}; operands: {named}" if named else said)

    def _with_values(self, said: str, shown: list[tuple[Any, str]]) -> Any:
        pieces, word = [self._text(said)], "where"
        for each, part in shown:
            pieces += [self._text(f" {word} {part} is "), self._value(each)]
            word = "and"
        return self._function("concat", pieces)

    def _value(self, node: Any) -> Any:
        """The beginning of what an expression makes, as bytes."""
        text = self._function("string", [node])
        cut = self._function("substring", [text, self._parsed("1"), self._parsed(str(_SHOWN))])
        tried = self._expressions.TryEval(self._function("binary", [cut]))
        return self._expressions.Coalesce(self._sequence([tried, self._text("NULL")]))

    def _function(self, name: str, operands: list[Any]) -> Any:
        found = self._parsed(f"{name}({', '.join(['1'] * len(operands))})")
        return found.withNewChildren(self._sequence(operands))

    def _text(self, text: str) -> Any:
        return self._parsed(f"X'{text.encode().hex()}'")


def _operands(node: Any) -> list[Any]:
    """What an expression evaluates before itself, in that order."""
    if kind_of(node) == "CaseWhen" or (
        kind_of(node) == "UnresolvedFunction" and _function_name(node) in _CHOOSE
    ):
        return []
    return [each for each in children_of(node) if kind_of(each) != "LambdaFunction"]


def _function_name(node: Any) -> str:
    parts = node.nameParts()
    return str(parts.apply(parts.size() - 1)).lower()


def _slice(text: str, node: Any) -> str:
    """The part of a text that an expression was parsed of."""
    origin = node.origin()
    start, stop = origin.startIndex(), origin.stopIndex()
    if not (start.isDefined() and stop.isDefined()):
        return kind_of(node)
    return " ".join(text[int(start.get()) : int(stop.get()) + 1].split())
