"""
Keeps what expressions stand for out of messages.

A connector's configuration comes over REST from people who may not see what the worker's providers
can read; what is wrong with a value is said of the expression, as it was written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Final

from mm2.connect.worker import WorkerConfig
from mm2.errors import ClusterError, ConfigError, ConfigErrors

_EXPRESSION: Final = re.compile(r"\$\{[^}]*\}")
_LEAST_IN_WORDS: Final = 4
"""What is shorter is no secret within a word, and would make messages unreadable."""


class Expressions:
    """
    The expressions of a connector's configuration, and of its worker's.

    Args:
        config: the connector's, as written.
        worker: the worker's, whose providers count.
    """

    def __init__(self, config: Mapping[str, str], worker: WorkerConfig) -> None:
        self._config = config
        written = [*worker.raw.values(), *config.values()]
        expressions = {each for value in written for each in _EXPRESSION.findall(value)}
        self._values: dict[str, str] = {}
        for expression in sorted(expressions):
            self._values |= _parts(expression, worker)

    def hide(self, text: str) -> str:
        """The text with expressions in the place of what they stand for."""
        for value in sorted(self._values, key=len, reverse=True):
            pattern = re.escape(value)
            if len(value) < _LEAST_IN_WORDS:
                pattern = rf"(?<!\w){pattern}(?!\w)"
            text = re.sub(pattern, partial(_constant, self._values[value]), text)
        return text

    @contextmanager
    def hiding(self) -> Iterator[None]:
        """Has what goes wrong within be said without a value that an expression stands for."""
        try:
            yield
        except ConfigErrors as errors:
            raise self.hidden_in(errors) from None
        except ConfigError as error:
            raise self._hidden_in(error) from None
        except ClusterError as error:
            error.args = (self.hide(str(error)),)
            raise

    def hidden_in(self, errors: ConfigErrors) -> ConfigErrors:
        """The same mistakes without a value that an expression stands for."""
        return ConfigErrors([self._hidden_in(each) for each in errors.problems])

    def _hidden_in(self, error: ConfigError) -> ConfigError:
        message, own = self.hide(error.message), self._config.get(error.key or "", "")
        has_expression = _EXPRESSION.search(own) is not None
        if has_expression:
            # The message may say the value in part, in other words or beside what was written.
            message = f"{error.key} = {own}: what this stands for is not valid"
        return ConfigError(
            message,
            key=error.key,
            value=own if has_expression else error.value,
            line=error.line,
            suggestion=error.suggestion if message == error.message else None,
        )


def _parts(expression: str, worker: WorkerConfig) -> dict[str, str]:
    """What an expression stands for, and the parts of it of which a message may speak."""
    try:
        value = worker.providers().resolve_all({"": expression})[""]
    except ConfigError:
        return {}
    if value == expression:
        return {}
    parts = {part.strip() for part in (value, *value.split(","))}
    return dict.fromkeys(filter(None, parts), expression)


def _constant(text: str, _: re.Match[str]) -> str:
    """What stands in the place of a match, whatever escapes it has in it."""
    return text
