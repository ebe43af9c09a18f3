"""What a move comes to when something is missing or goes wrong on the way."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from mm2.client.checkpoints import RemoteCheckpoint
from mm2.core.checkpoint import CommittedOffset
from mm2.core.codec import Checkpoint
from mm2.core.failover import group_verdicts, offsets_to_write
from mm2.core.model import GroupId
from mm2.core.verdicts import Outcome
from mm2.errors import AuthenticationFailed, NotAuthorized, Unavailable
from mm2.failover.checkpoints import Checkpoints
from mm2.failover.move import Move, Plan, Wishes
from tests.support.fake_sides import COPY, ORIGINAL, FakeSide, fake_route


def _source(*groups: str) -> FakeSide:
    return FakeSide(
        {ORIGINAL: (0, 100)}, {each: {ORIGINAL: CommittedOffset(50)} for each in groups}
    )


def _target() -> FakeSide:
    return FakeSide({COPY: (0, 100)})


def _stopping(plan: Plan) -> dict[str, str]:
    return {each.check: each.reason for each in plan.verdicts if each.outcome is Outcome.NO_GO}


@pytest.mark.parametrize("planned", [True, False])
@pytest.mark.parametrize("forced", [True, False])
def test_to_move_no_group_is_not_done(tmp_path: Path, *, planned: bool, forced: bool) -> None:
    """No checkpoints, no leave to see groups: nothing moves, and nobody may think it has."""
    source = _source()
    source.refusal = None if planned else Unavailable("A", "no answer")
    wishes = Wishes(groups=None, is_planned=planned, forced=forced)
    plan = asyncio.run(Move(fake_route(tmp_path, source, _target()), wishes, print).execute())
    assert not plan.is_done
    assert list(_stopping(plan)) == ["groups"]


@pytest.mark.parametrize(
    "refusal", [AuthenticationFailed("A", "expired"), NotAuthorized("A", "no right"), None]
)
def test_a_cluster_that_refuses_us_is_not_lost(
    tmp_path: Path, refusal: AuthenticationFailed | NotAuthorized | None
) -> None:
    source = _source()
    source.refusal = refusal
    route = fake_route(tmp_path, source, _target())
    plan = asyncio.run(Move(route, Wishes(groups=("g",), is_planned=False), print).plan())
    assert _stopping(plan)["origin"].startswith("answers")
    given_up = Wishes(groups=("g",), is_planned=False, gives_up=True)
    assert "origin" not in _stopping(asyncio.run(Move(route, given_up, print).plan()))


@pytest.mark.parametrize("on_target", [True, False])
def test_a_streams_group_does_not_move(tmp_path: Path, *, on_target: bool) -> None:
    """Brokers list its offsets, and do not describe it: it seems to have no members."""
    source, target = _source("g", "other"), _target()
    (target if on_target else source).others.add("g")
    route = fake_route(tmp_path, source, target)
    plan = asyncio.run(Move(route, Wishes(groups=("g",), forced=True), print).execute())
    assert list(_stopping(plan)) == ["type"]
    assert not target.groups
    assert asyncio.run(Move(route, Wishes(groups=("other",)), print).execute()).is_done


def test_after_a_disaster_a_group_that_has_read_on_stays_where_it_is(tmp_path: Path) -> None:
    target = _target()
    target.groups["ahead"] = {COPY: CommittedOffset(90)}
    checkpoints = {
        GroupId(group): {
            COPY: RemoteCheckpoint(
                checkpoint=Checkpoint(GroupId(group), COPY, 30, 30, "", True), timestamp_ms=1
            )
        }
        for group in ("ahead", "behind")
    }
    look = Checkpoints(fake_route(tmp_path, _source(), target)).look
    ahead, behind = asyncio.run(look(["ahead", "behind"], checkpoints, 2))
    assert "progress" in {each.check for each in group_verdicts(ahead, planned=False)}
    assert offsets_to_write(ahead) == {}
    assert offsets_to_write(behind) == {COPY: CommittedOffset(30)}
