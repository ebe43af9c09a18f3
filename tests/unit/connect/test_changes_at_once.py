"""Of several changes of one configuration at the same time, the first one in the topic is right."""

from __future__ import annotations

import pytest

from mm2.connect.contents import Contents, is_first
from mm2.core.connect_configs import ConnectorConfig, Entry

_OLD, _NEW, _OTHER = (ConnectorConfig("m", {"name": "m", "by": by}) for by in ("1", "2", "3"))


def _last_undo(*entries: Entry) -> Entry:
    contents = Contents()
    for entry in entries:
        undo = contents.inverse(entry)
        contents.take(entry)
    assert undo is not None
    return undo


@pytest.mark.parametrize("before", [None, _OLD])
def test_a_record_that_is_there_twice_is_no_change_of_somebody_else(
    before: ConnectorConfig | None,
) -> None:
    """A lost answer made a new connector a conflict, and it ran though it was to be stopped."""
    first = [] if before is None else [before]
    made_from = None if before is None else before.config
    assert is_first(_last_undo(*first, _NEW), made_from, _NEW)
    assert is_first(_last_undo(*first, _NEW, _NEW), made_from, _NEW)
    assert not is_first(_last_undo(*first, _OTHER, _NEW), made_from, _NEW)
