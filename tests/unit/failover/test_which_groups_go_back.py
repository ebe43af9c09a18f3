"""Which groups come home when all do."""

from __future__ import annotations

import pytest

from mm2.core.failover.failback_selection import belongs_to_failback
from mm2.core.failover.moving_group import MovingGroup
from mm2.core.internal_records import Checkpoint
from mm2.core.model import GroupId
from mm2.core.translation.checkpoint_rules import CommittedOffset
from mm2.core.translation.returned_groups import SyncedOffsets
from tests.support.fake_route import at

COPY = at("A.orders")


def carried(*groups: str) -> SyncedOffsets:
    found = SyncedOffsets()
    for group in groups:
        found.note(Checkpoint(GroupId(group), COPY, 100, 90, ""))
    found.backlog_read()
    return found


@pytest.mark.parametrize(
    ("state", "offset", "groups", "expected"),
    [
        ("STABLE", 90, ["g"], False),
        ("STABLE", 91, ["g"], True),
        ("EMPTY", 90, ["g"], True),
        ("DEAD", 90, ["g"], True),
        (None, 90, ["other"], False),
        (None, 90, ["g"], True),
        (None, 90, [], True),
        ("STABLE", 90, [], True),
    ],
    ids=[
        "it was only carried along, and reads at home",
        "it has read on, and has members at home: to be refused, not passed over",
        "it is idle at home",
        "its offsets have expired at home",
        "home does not know it, nor does the flow: it was never there",
        "home has forgotten it, the flow has not",
        "the flow makes no checkpoints",
        "the flow makes no checkpoints, and it has members at home",
    ],
)
def test_those_that_left(
    state: str | None, offset: int, groups: list[str], *, expected: bool
) -> None:
    facts = MovingGroup(group="g", origin_state="EMPTY", destination_state=state)
    assert belongs_to_failback(facts, {COPY: CommittedOffset(offset)}, carried(*groups)) is expected
