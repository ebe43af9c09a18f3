"""Fixtures of the unit tests."""

from __future__ import annotations

import pytest

from mm2.core.java_regex import pattern


@pytest.fixture(autouse=True)
def _slow_patterns_end_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seconds of the processor, which no pattern that ends comes near to."""
    monkeypatch.setattr(pattern, "MATCH_WITHIN_S", 0.1)
