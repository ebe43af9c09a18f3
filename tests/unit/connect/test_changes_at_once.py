"""Of several changes of one configuration at the same time, the first one in the topic is right."""

from __future__ import annotations

import pytest

from mm2.connect.config_state import ConfigState
from mm2.core.connect.config_records import (
    Base,
    ConnectorConfig,
    ConnectorTarget,
    Entry,
    TargetState,
)

_OLD, _NEW, _OTHER = (ConnectorConfig("m", {"name": "m", "by": by}) for by in ("1", "2", "3"))
_STOPPED = ConnectorTarget("m", TargetState.STOPPED)


def _verdicts(contents: ConfigState, *entries: tuple[Entry, Base | None]) -> list[bool]:
    return [contents.take(entry, at, base) for at, (entry, base) in enumerate(entries)]


@pytest.mark.parametrize("first", [[], [(_OLD, None)]])
def test_a_record_that_is_there_twice_is_no_change_of_somebody_else(
    first: list[tuple[Entry, Base | None]],
) -> None:
    """A lost answer made a new connector a conflict, and it ran though it was to be stopped."""
    base, contents = Base(len(first) - 1), ConfigState()
    assert all(_verdicts(contents, *first, (_NEW, base), (_NEW, base)))
    assert contents.configs["m"] == _NEW.config
    assert _verdicts(contents := ConfigState(), *first, (_OTHER, base), (_NEW, base))[-2:] == [
        True,
        False,
    ]
    assert contents.configs["m"] == _OTHER.config
    assert contents.is_ambiguous("m")


def test_the_last_of_three_changes_does_not_bring_a_refused_one_back() -> None:
    contents = ConfigState()
    changes: list[tuple[Entry, Base | None]] = [
        (ConnectorConfig("m", {"by": by}), Base(0)) for by in "abc"
    ]
    assert _verdicts(contents, (_OLD, None), *changes) == [True, True, False, False]
    assert contents.configs["m"] == {"by": "a"}


def test_what_was_granted_without_knowing_of_what_came_too_late_is_ambiguous() -> None:
    """Whoever reads this when compaction has left the late one takes it for late itself."""
    late = ConnectorConfig("m", {"by": "late"})
    log: list[tuple[Entry, Base | None]] = [
        (_OLD, None),
        (_NEW, Base(0)),
        (late, Base(0)),
        (_OTHER, Base(1)),
    ]
    contents = ConfigState()
    assert _verdicts(contents, *log) == [True, True, False, True]
    assert contents.is_ambiguous("m")
    again: list[tuple[Entry, Base]] = [
        (entry, Base(3, place)) for place, entry in enumerate(contents.entries("m"))
    ]
    compacted = ConfigState()
    for at, (entry, base) in list(enumerate([*log, *again]))[2:]:
        compacted.take(entry, at, base)
    assert compacted.configs == {"m": _OTHER.config}
    for at, (entry, base) in enumerate(again, start=len(log)):
        assert contents.take(entry, at, base)
    assert not contents.is_ambiguous("m")
    assert contents.configs == {"m": _OTHER.config}


def test_a_refused_connector_takes_its_wanted_state_with_it() -> None:
    contents = ConfigState()
    nothing = Base(-1), Base(-1, 1)
    running = ConnectorTarget("m", TargetState.STARTED)
    pairs: list[tuple[Entry, Entry]] = [(_STOPPED, _NEW), (running, _OTHER)]
    entries: list[tuple[Entry, Base | None]] = [
        each for pair in pairs for each in zip(pair, nothing, strict=True)
    ]
    assert _verdicts(contents, *entries) == [True, True, False, False]
    assert contents.state("m") is TargetState.STOPPED
    assert contents.entries("m") == [_STOPPED, _NEW]


def test_what_is_wanted_of_a_connector_counts_whatever_its_configuration_is() -> None:
    contents = ConfigState()
    assert _verdicts(contents, (_OLD, None), (_NEW, Base(0)), (_STOPPED, None)) == [True] * 3
    assert contents.state("m") is TargetState.STOPPED
