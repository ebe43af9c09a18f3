"""Compiled code that looks at each record counts no references to arrays: it can make none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numba import njit, types
from numba.core.errors import NumbaError
from numba.extending import register_jitable

from mm2.kafka.wire.kernel import Numbers, without_allocation

_ROWS = types.Array(types.int64, 2, "C")


def _sum(rows: Numbers) -> int:
    total = 0
    for index in range(len(rows)):
        row = rows[index]
        total += row[0]
    return total


def _made(rows: Numbers) -> int:
    return len(np.empty(len(rows), np.int64))


def _compiled(inner: Any) -> Any:
    def whole(rows: Numbers) -> int:
        return inner(rows)  # type: ignore[no-any-return]

    return njit((_ROWS,))(whole)


def test_parts_of_arrays_are_looked_at() -> None:
    machine = _compiled(without_allocation(_sum))
    assert machine(np.array([[1, 2], [3, 4]])) == 4


def test_numba_refuses_to_make_an_array_where_it_counts_none() -> None:
    with pytest.raises(NumbaError, match="Only accept returning of array passed"):
        _compiled(without_allocation(_made))


def test_it_makes_one_where_it_counts() -> None:
    machine = _compiled(register_jitable(lambda rows: len(np.empty(len(rows), np.int64))))
    assert machine(np.array([[1, 2], [3, 4]])) == 2
