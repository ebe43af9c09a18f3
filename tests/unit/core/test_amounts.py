"""Numbers as people read them."""

from __future__ import annotations

import pytest

from mm2.core.amounts import UNKNOWN, bytes_text, count_text


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (999.7, "1.0 kB"),
        (1_234_000, "1.2 MB"),
        (37_400_000, "37 MB"),
        (5e18, "5000 PB"),
        (None, UNKNOWN),
    ],
)
def test_bytes_have_a_unit_of_their_size(amount: float | None, text: str) -> None:
    assert bytes_text(amount) == text


def test_counts_have_groups_of_digits() -> None:
    assert (count_text(1_204_003.4), count_text(0), count_text(None)) == ("1,204,003", "0", UNKNOWN)
