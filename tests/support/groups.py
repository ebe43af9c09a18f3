"""What tests of consumer groups ask of brokers."""

from __future__ import annotations

import pytest

from tests.support.providers import have_new_groups

needs_new_groups = pytest.mark.skipif(
    not have_new_groups(), reason="brokers before 4.0 know the new consumer protocol as a preview"
)
PROTOCOLS = ("classic", pytest.param("consumer", marks=needs_new_groups))
"""Of consumer groups, as ``group.protocol`` names them; a parameter of tests."""
