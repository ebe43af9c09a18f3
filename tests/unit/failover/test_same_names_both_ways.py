"""Groups that move where both clusters copy a topic to each other under the same name."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

import pytest

from mm2.core.checks import Verdict
from mm2.core.failover.copy_progress import CopyProgress
from mm2.core.failover.group_checks import group_checks
from mm2.core.failover.moving_group import MovingPartition, offsets_to_write
from mm2.core.translation.offset_translation import RunStore
from mm2.core.translation.runs import Logs
from mm2.failover.move_route import MoveRoute
from mm2.failover.move_survey import MoveSurvey
from tests.support.fake_route import (
    FakeSide,
    FirstRecordQuery,
    Known,
    at,
    back,
    both_ways,
    forth,
    runs,
    told,
)

T = at("orders")
IDENTITY = "replication.policy.class = IdentityReplicationPolicy"
HEADERS = "provenance.headers.enabled = true"


class Scene:
    """
    Records of both sides: b0 a0 b1 a1 on B, and b0 a0 a1 on A, where b1 has not come yet.

    On A they stand as a0 b0 a1.
    """

    def __init__(self, folder: Path, committed: int, opposite: RunStore) -> None:
        self._folder = folder
        self.a = FakeSide("A", logs={T: (0, 3)})
        self.b = FakeSide("B", logs={T: (0, 4)})
        self.a.put("g", {T: committed})
        self.known = Known(CopyProgress({T: 2}), told(T, 0, 3, (0, 1, 1), (2, 3, 1)))
        self.opposite = Known(runs=opposite)
        self.more: tuple[str, ...] = ()

    @property
    def route(self) -> MoveRoute:
        return both_ways(self._folder, self.a, self.b, self.known, self.opposite, *self.more)

    async def moves(self) -> tuple[MovingPartition, Verdict, str]:
        """Where the group goes on; the verdict about it, and what that costs."""
        return await moves(self.route, self.a, self.b)


async def moves(
    route: MoveRoute, a: FakeSide, b: FakeSide, name: str = "translation"
) -> tuple[MovingPartition, Verdict, str]:
    (group,) = await MoveSurvey(route, FirstRecordQuery(a, b)).read(["g"])
    (place,) = group.partitions
    assert [each.offset for each in offsets_to_write(group).values()] == [place.new_offset]
    (check,) = [each for each in group_checks(group, planned=True) if each.name == name]
    return place, check.verdict, check.cost or ""


@pytest.mark.parametrize(
    ("told_to", "expected", "again"),
    [(1, 1, "up to 3 records are read again"), (2, 2, "up to 2 records are read again")],
    ids=["the flow back has told of b0 only", "it has told that it left a0 out"],
)
async def test_what_has_not_come_from_the_other_side_is_not_skipped(
    tmp_path: Path, told_to: int, expected: int, again: str
) -> None:
    """With A->B alone the group would go on at 4, behind b1."""
    scene = Scene(tmp_path, 3, told(T, 0, told_to, (0, 1, 1)))
    place, verdict, cost = await scene.moves()
    assert (place.new_offset, place.is_exact) == (expected, False)
    assert (verdict, cost) == (Verdict.CAUTION, again)


async def test_the_group_goes_on_exactly_where_all_of_both_sides_is_read(tmp_path: Path) -> None:
    scene = Scene(tmp_path, 3, told(T, 0, 4, (0, 1, 1)))
    scene.b.logs[T] = (0, 4)
    place, verdict, cost = await scene.moves()
    assert (place.new_offset, place.is_exact) == (4, True), "b1 was left out, or is an aborted one"
    assert (verdict, cost) == (Verdict.GO, "")


async def test_the_group_goes_on_exactly_where_only_one_side_has_written(tmp_path: Path) -> None:
    """The flow back has left out all there is: as if it were not there."""
    scene = Scene(tmp_path, 2, told(T, 0, 4))
    place, verdict, _ = await scene.moves()
    assert (place.new_offset, place.is_exact, verdict) == (3, True, Verdict.GO)


@pytest.mark.parametrize("is_back", [False, True], ids=["away", "home"])
@pytest.mark.parametrize(
    ("committed", "told_to", "expected"),
    [(3, 3, (3, True)), (2, 3, (2, True)), (3, 2, (0, None))],
    ids=["at the end", "before it", "not all of the log is told of"],
)
async def test_the_side_that_is_left_has_written_nothing(
    tmp_path: Path,
    committed: int,
    told_to: int,
    expected: tuple[int, bool | None],
    *,
    is_back: bool,
) -> None:
    """All records are the other side's own, also when the group came from there."""
    sides = FakeSide("A", logs={T: (0, 3)}), FakeSide("B", logs={T: (0, 3)})
    sides[is_back].put("g", {T: committed})
    writes, reads = told(T, 0, 3, (0, 0, 3)), told(T, 0, told_to)
    known, opposite = (writes, reads) if is_back else (reads, writes)
    route = both_ways(
        tmp_path,
        *sides,
        Known(CopyProgress({T: 2}), known),
        Known(CopyProgress({T: 2}), opposite),
        is_back=is_back,
    )
    place, verdict, _ = await moves(route, *sides)
    assert place.new_offset == expected[0]
    assert verdict is (Verdict.GO if expected[1] else Verdict.NO_GO)


async def test_what_one_side_wrote_last_does_not_come_again(tmp_path: Path) -> None:
    """A wrote ten records and then B ten; all are copied, and read on A."""
    a, b = FakeSide("A", logs={T: (0, 20)}), FakeSide("B", logs={T: (0, 20)})
    a.put("g", {T: 20})
    known = Known(CopyProgress({T: 19}), told(T, 0, 20, (0, 0, 10)))
    opposite = Known(runs=told(T, 0, 20, (10, 10, 10)))
    place, verdict, _ = await moves(both_ways(tmp_path, a, b, known, opposite), a, b)
    assert (place.new_offset, place.is_exact, verdict) == (20, True, Verdict.GO)
    late = Known(runs=told(T, 0, 15, (10, 10, 5)))
    place, verdict, _ = await moves(both_ways(tmp_path, a, b, known, late), a, b)
    assert (place.new_offset, verdict) == (15, Verdict.CAUTION)


async def test_both_sides_have_the_records_in_another_order(tmp_path: Path) -> None:
    """The group has read b0 and b1 on A, but not a1: on B this is a0 a1 b0 b1."""
    scene = Scene(tmp_path, 3, told(T, 0, 4, (2, 1, 2)))
    scene.a.logs[T] = 0, 4
    scene.known = Known(CopyProgress({T: 3}), told(T, 0, 4, (0, 0, 1), (3, 1, 1)))
    place, verdict, cost = await scene.moves()
    assert (place.new_offset, place.is_exact) == (1, False)
    assert (verdict, cost) == (Verdict.CAUTION, "up to 3 records are read again")


async def test_it_is_the_same_for_a_group_that_comes_home(tmp_path: Path) -> None:
    """It has read b0 and b1 on B; a0 and a1 are on A only."""
    a, b = FakeSide("A", logs={T: (0, 4)}), FakeSide("B", logs={T: (0, 2)})
    b.put("g", {T: 2})
    known = Known(runs=told(T, 0, 0))
    opposite = Known(CopyProgress({T: 1}), told(T, 0, 2, (0, 2, 2)))
    route = both_ways(tmp_path, a, b, known, opposite, is_back=True)
    place, verdict, _ = await moves(route, a, b)
    assert (place.new_offset, verdict) == (0, Verdict.CAUTION)


_FORMER = runs(T, (0, 1, 1), logs=Logs(UUID(int=1), UUID(int=2)))


@pytest.mark.parametrize(
    "opposite",
    [RunStore(), told(T, 1, 4), _FORMER, told(T, 2, 3, (2, 4, 1))],
    ids=["nothing", "not from the start of the log", "of former topics", "only of later copies"],
)
async def test_where_nothing_is_known_of_the_other_flow_the_group_does_not_move(
    tmp_path: Path, opposite: RunStore
) -> None:
    scene = Scene(tmp_path, 3, opposite)
    scene.a.ids["orders"] = scene.b.ids["orders"] = UUID(int=3)
    place, verdict, cost = await scene.moves()
    assert (place.is_known, place.new_offset) == (False, 0)
    assert verdict is Verdict.NO_GO
    assert cost == "the group begins at the start of the log: up to 4 records are read again"


@pytest.mark.parametrize("is_back", [False, True])
async def test_a_flow_that_may_be_in_another_file_is_asked_for(
    tmp_path: Path, is_back: bool
) -> None:
    """Headers of provenance say that there may be one."""
    scene = Scene(tmp_path, 3, RunStore())
    known = Known(CopyProgress({T: 2}), told(T, 0, 3, (0, 0, 3)))
    scene.b.put("g", {T: 3})
    way = back if is_back else forth
    route = way(tmp_path, scene.a, scene.b, known, IDENTITY, HEADERS)
    assert await _is_asked_for_other_flows(route, scene)


@pytest.mark.parametrize("flow", ["A->B", "B->A"])
async def test_origins_that_come_by_other_flows_are_not_accounted_for(
    tmp_path: Path, flow: str
) -> None:
    """A third cluster's records may be on both sides, by flows that have no part in the move."""
    scene = Scene(tmp_path, 3, told(T, 0, 4, (0, 1, 1)))
    assert not await _is_asked_for_other_flows(scene.route, scene)
    scene.more = (f"{flow}.provenance.origins = {flow[0]}",)
    assert await _is_asked_for_other_flows(scene.route, scene)


async def _is_asked_for_other_flows(route: MoveRoute, scene: Scene) -> bool:
    (group,) = await MoveSurvey(route, FirstRecordQuery(scene.a, scene.b)).read(["g"])
    checks = [each for each in group_checks(group, planned=True) if each.name == "other-flows"]
    assert all(each.verdict is Verdict.NO_GO and each.cost for each in checks)
    return bool(checks)


async def test_names_that_change_need_no_other_file(tmp_path: Path) -> None:
    scene = Scene(tmp_path, 3, RunStore())
    scene.b.logs = {at("A.orders"): (0, 3)}
    known = Known(CopyProgress({T: 2}), told(T, 0, 3, (0, 0, 3)))
    place, verdict, _ = await moves(
        forth(tmp_path, scene.a, scene.b, known, HEADERS), scene.a, scene.b
    )
    assert (place.new_offset, verdict) == (3, Verdict.GO)
