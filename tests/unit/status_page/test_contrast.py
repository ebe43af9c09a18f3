"""How far texts stand out, as tests of the page compute it."""

from __future__ import annotations

import pytest

from tests.support.status_page import contrast


def test_contrast_is_that_of_wcag() -> None:
    assert contrast((0, 0, 0), (255, 255, 255)) == pytest.approx(21)
    assert contrast((119, 119, 119), (255, 255, 255)) == pytest.approx(4.48, abs=0.01)
