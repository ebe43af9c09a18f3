"""
The user's Arrow function: what many records become at a time.

A function of a ``pyarrow.RecordBatch`` that returns one, or a class with ``handle(batch)`` and
perhaps ``init(args)``. What becomes of a row must not depend on others: how records are divided
among batches differs each time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import pyarrow as pa
import pyarrow.compute as pc

from mm2.core.transforms.column_schema import SCHEMA, WrongColumns, as_records
from mm2.core.user_objects import load_object
from mm2.errors import ConfigError, TransformError
from mm2.user_code import LOADED_WITHIN_S, ForeignError, foreign

Change = Callable[[pa.RecordBatch], pa.RecordBatch]


def load_function(path: str, arguments: str | None) -> Change:
    """
    The Arrow function under an import path, with what it returns checked.

    Raises:
        ConfigError: it cannot be loaded.
    """
    found = load_object(path)
    if isinstance(found, type):
        made = found()
        if hasattr(made, "init"):
            made.init(arguments or "")
        found = made.handle
    function = cast("Change", found)

    def change(batch: pa.RecordBatch) -> pa.RecordBatch:
        try:
            made = as_records(function(batch))
        except (Exception, SystemExit):
            raise
        except BaseException as error:  # it would be taken for an end of the task
            raise TransformError(f"the function has raised {error!r}") from error
        _check_offsets(batch, made)
        return made

    return change


def try_function(path: str, arguments: str, key: str) -> None:
    """
    Loads the Arrow function of a key, and calls it without a row, in a thread of its own.

    Raises:
        ConfigError: it cannot be loaded, or does not return the columns of ``SCHEMA``.
    """
    try:
        foreign(path).call(lambda: _tried(path, arguments), within_s=LOADED_WITHIN_S)
    except (ForeignError, ConfigError) as problem:
        message = f"Invalid value {path} for {key}: {problem}"
        raise ConfigError(message, key=key, value=path) from problem


def _tried(path: str, arguments: str) -> None:
    change = load_function(path, arguments)
    try:
        change(pa.RecordBatch.from_pylist([], schema=SCHEMA))
    except Exception as error:
        reason = f"it fails for a batch without rows: {type(error).__name__}: {error}"
        raise ConfigError(reason, key=path, value=path) from error


def _check_offsets(before: pa.RecordBatch, made: pa.RecordBatch) -> None:
    """
    Checks that each row has the offset of the record that it was made of, in order.

    Raises:
        WrongColumns: it does not.
    """
    offsets, known = made.column("offset"), before.column("offset")
    if offsets.equals(known):
        return
    is_ascending = pc.all(pc.greater_equal(offsets[1:], offsets[:-1])).as_py() is not False
    is_known = pc.all(pc.is_in(offsets, value_set=known)).as_py() is not False
    if not (is_ascending and is_known):
        raise WrongColumns(
            "column offset must keep for each row the offset of the record that it was made of,"
            " in ascending order"
        )
