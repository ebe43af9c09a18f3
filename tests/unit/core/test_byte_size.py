"""Sizes as people write them."""

from __future__ import annotations

import pytest

from mm2.core.byte_size import parse_size


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("10MB", 10_000_000),
        ("10 mb", 10_000_000),
        ("10MiB", 10 * 1024**2),
        ("1.5GiB", 3 * 2**29),
        ("2TB", 2 * 10**12),
        ("1kB", 1000),
        ("512B", 512),
        ("10485760", 10_485_760),
    ],
)
def test_sizes_are_read_with_units_and_without(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize(
    "text", ["", "MB", "1.5", "-1", "-1MB", "1e3MB", "0.5B", "10M", "10 Mbit", "٣MB x"]
)
def test_others_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="must be"):
        parse_size(text)
