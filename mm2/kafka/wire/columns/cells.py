"""
Columns as compiled code has them: laid out as Arrow has them.

The bytes of all cells are side by side; with them go where each begins, and a bit for each that is
not null.
"""

from __future__ import annotations

from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numba import types
from numba.extending import register_jitable
from numpy.typing import NDArray

from mm2.kafka.wire.kernel import Bytes

Starts: TypeAlias = NDArray[np.int32]

READ_ONLY: Final = types.Array(types.uint8, 1, "C", readonly=True)
"""Numba's type of bytes that are only read."""


class Cells(NamedTuple):
    """
    A column of bytes.

    Attributes:
        starts: where each cell begins, and where the last one ends.
        data: of all cells.
        valid: a bit for each cell, 0 for null, the lowest bits first; empty if none is null.
        bit: the number of the first cell's.
    """

    starts: Starts
    data: Bytes
    valid: Bytes
    bit: int


class Rows(NamedTuple):
    """
    Records as columns.

    Attributes:
        firsts: the number of each record's first header, and of what follows the last one's.
    """

    key: Cells
    value: Cells
    firsts: Starts
    names: Cells
    values: Cells


@register_jitable
def edge(starts: Starts, index: int) -> int:
    """Where a cell begins, or the one before it ends: a number of 64 bits, as all others."""
    return np.int64(starts[index])  # type: ignore[return-value]  # that is Numba's int


@register_jitable
def copy_bytes(out: Bytes, to: int, data: Bytes, at: int, size: int) -> None:
    """Copies ``size`` bytes at ``at`` to ``to``."""
    room, bytes_ = out[to : to + size], data[at : at + size]
    for index in range(size):
        room[index] = bytes_[index]
