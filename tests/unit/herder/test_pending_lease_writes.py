"""What a node writes next of its lease, when there is more to say than can be written."""

from __future__ import annotations

import pytest

from mm2.core.leadership.leadership_events import Claim, Release, Renew
from mm2.herder.election.pending_lease import LeaseWrite, PendingLeaseWrite


@pytest.mark.parametrize("waiting", [Release(3), Claim(3)])
async def test_a_renewal_takes_the_place_of_nothing_weightier(waiting: LeaseWrite) -> None:
    slot = PendingLeaseWrite()
    slot.put(waiting)
    slot.put(Renew(2))
    assert await slot.take() == waiting


@pytest.mark.parametrize("later", [Release(3), Claim(3)])
async def test_what_comes_later_makes_a_renewal_needless(later: LeaseWrite) -> None:
    slot = PendingLeaseWrite()
    slot.put(Renew(2))
    slot.put(later)
    assert await slot.take() == later
    slot.put(Renew(3))
    assert await slot.take() == Renew(3), "and then room is there again"


async def test_what_was_given_up_is_not_written() -> None:
    slot = PendingLeaseWrite()
    slot.put(Renew(2))
    slot.clear()
    slot.put(Claim(4))
    assert await slot.take() == Claim(4)


def test_a_word_that_was_taken_waits_no_more() -> None:
    slot = PendingLeaseWrite()
    slot.put(Renew(2))
    assert [slot.next(), slot.next()] == [Renew(2), None]
