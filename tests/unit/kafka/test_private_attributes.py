"""aiokafka's private attributes are left alone, so that its next version is no surprise."""

from __future__ import annotations

from pathlib import Path

import mm2.kafka

_MODULES = Path(mm2.kafka.__file__).parent


def test_none_but_the_producer_that_can_be_given_up_needs_private_attributes() -> None:
    """Ruff refuses private attributes, except on lines that say why (SLF001)."""
    found = {
        path.relative_to(_MODULES).as_posix()
        for path in _MODULES.rglob("*.py")
        if "SLF001" in path.read_text()
    }
    assert found == {"writer.py"}
