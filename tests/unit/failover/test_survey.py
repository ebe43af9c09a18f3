"""Where groups stand on both sides, and what is the same to a reader."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

import pytest

from mm2.core.checks import is_go
from mm2.core.failover.copy_progress import CopyProgress
from mm2.core.failover.group_checks import group_checks
from mm2.core.failover.moving_group import MovingPartition
from mm2.core.positions.log_identity import Lineage
from mm2.core.translation.runs import Logs
from mm2.failover.copy_lag import lag_of
from mm2.failover.move_route import MoveRoute
from mm2.failover.move_survey import MoveSurvey
from tests.support.fake_route import FakeSide, FirstRecordQuery, Known, at, back, forth, runs

SOURCE, COPY = at("orders"), at("A.orders")
OLD, NEW = UUID(int=1), UUID(int=2)
IDENTITY = "replication.policy.class = IdentityReplicationPolicy"


def sides(source: tuple[int, int], copy: tuple[int, int]) -> tuple[FakeSide, FakeSide]:
    return FakeSide("A", logs={SOURCE: source}), FakeSide("B", logs={COPY: copy})


async def places(route: MoveRoute, a: FakeSide, b: FakeSide, *groups: str) -> list[MovingPartition]:
    facts = await MoveSurvey(route, FirstRecordQuery(a, b)).read(groups or ("g",))
    return [place for each in facts for place in each.partitions]


async def moves(route: MoveRoute, a: FakeSide, b: FakeSide) -> bool:
    (facts,) = await MoveSurvey(route, FirstRecordQuery(a, b)).read(["g"])
    return is_go(group_checks(facts, planned=True))


@pytest.mark.parametrize("side", ["source", "remote"])
@pytest.mark.parametrize("knows", ["runs", "positions"])
async def test_runs_of_a_topic_that_is_no_more_count_for_nothing(
    tmp_path: Path, side: str, knows: str
) -> None:
    a, b = sides((0, 1000), (0, 1000))
    a.put("g", {SOURCE: 5})
    a.ids["orders"], b.ids["A.orders"] = (NEW, OLD) if side == "source" else (OLD, NEW)
    lineage = Lineage(topic_id=OLD, remote_id=OLD) if knows == "positions" else Lineage()
    logs = Logs(OLD, OLD) if knows == "runs" else Logs()
    known = Known(
        CopyProgress({SOURCE: 999}, {SOURCE: lineage}), runs(SOURCE, (0, 0, 1000), logs=logs)
    )
    (place,) = await places(forth(tmp_path, a, b, known), a, b)
    assert not place.is_known
    assert not await moves(forth(tmp_path, a, b, known), a, b)


async def test_a_position_beyond_the_end_is_of_another_log(tmp_path: Path) -> None:
    a, b = sides((0, 10), (0, 1000))
    a.put("g", {SOURCE: 5})
    known = Known(CopyProgress({SOURCE: 999}), runs(SOURCE, (0, 0, 1000)))
    (place,) = await places(forth(tmp_path, a, b, known), a, b)
    assert not place.is_known


async def test_runs_of_these_topics_count(tmp_path: Path) -> None:
    a, b = sides((0, 100), (0, 100))
    a.put("g", {SOURCE: 5})
    a.ids["orders"], b.ids["A.orders"] = NEW, OLD
    lineage = Lineage(topic_id=NEW, remote_id=OLD)
    known = Known(
        CopyProgress({SOURCE: 99}, {SOURCE: lineage}),
        runs(SOURCE, (0, 0, 100), logs=Logs(NEW, OLD)),
    )
    (place,) = await places(forth(tmp_path, a, b, known), a, b)
    assert (place.new_offset, place.is_exact) == (5, True)


async def test_on_the_way_back_former_topics_count_for_nothing_either(tmp_path: Path) -> None:
    a, b = sides((0, 1000), (0, 1000))
    b.put("g", {COPY: 5})
    a.ids["orders"] = NEW
    known = Known(runs=runs(SOURCE, (0, 0, 1000), logs=Logs(OLD, None)))
    (place,) = await places(back(tmp_path, a, b, known), a, b)
    assert not place.is_known


async def test_a_quiet_partition_behind_a_marker_goes_there_and_back(tmp_path: Path) -> None:
    """The copy has no marker where the source has one: 100 there is 99 here, to a reader."""
    a, b = sides((0, 100), (0, 99))
    a.gaps.add((SOURCE, 99))
    a.put("g", {SOURCE: 100})
    known = Known(CopyProgress({SOURCE: 98}), runs(SOURCE, (0, 0, 99)))
    (there,) = await places(forth(tmp_path, a, b, known), a, b)
    assert (there.new_offset, there.is_exact) == (99, True)
    b.put("g", {COPY: 99})
    (home,) = await places(back(tmp_path, a, b, known), a, b)
    assert (home.new_offset, home.is_exact) == (100, True)
    assert await moves(back(tmp_path, a, b, known), a, b)


async def test_a_group_that_is_further_by_records_is_told_so(tmp_path: Path) -> None:
    a, b = sides((0, 100), (0, 100))
    a.put("g", {SOURCE: 50})
    b.put("g", {COPY: 51})
    known = Known(CopyProgress({SOURCE: 99}), runs(SOURCE, (0, 0, 100)))
    (place,) = await places(forth(tmp_path, a, b, known), a, b)
    assert (place.new_offset, place.target_offset) == (50, 51)
    assert not await moves(forth(tmp_path, a, b, known), a, b)


async def test_records_of_others_behind_the_copies_are_not_waited_for(tmp_path: Path) -> None:
    """Producers on B have written them: no flow will ever bring them to A."""
    a = FakeSide("A", logs={SOURCE: (0, 100)})
    b = FakeSide("B", logs={SOURCE: (0, 110)})
    b.put("g", {SOURCE: 110})
    route = back(tmp_path, a, b, Known(runs=runs(SOURCE, (0, 0, 100))), IDENTITY)
    (place,) = await places(route, a, b)
    assert place.to_copy == 0
    assert (place.new_offset, place.is_exact) == (100, False)


async def test_all_groups_are_looked_at_together(tmp_path: Path) -> None:
    numbers = range(10)
    a = FakeSide("A", logs={at("t", n): (0, 100) for n in numbers})
    b = FakeSide("B", logs={at("A.t", n): (0, 99) for n in numbers})
    groups = [f"g{n}" for n in range(40)]
    for group in groups:
        a.put(group, {at("t", n): 100 for n in numbers})
    known = Known(CopyProgress({at("t", n): 98 for n in numbers}))
    found = await places(forth(tmp_path, a, b, known), a, b, *groups)
    assert [place.to_copy for place in found] == [1] * 400
    assert len([look for look in a.looks if look]) == 1
    assert not b.looks or not any(b.looks)


@pytest.mark.parametrize(
    ("copied", "lineage"),
    [(999, Lineage()), (9, Lineage(topic_id=OLD))],
    ids=["a position beyond the end", "another topic"],
)
async def test_of_a_log_made_anew_nothing_counts_as_copied(
    tmp_path: Path, copied: int, lineage: Lineage
) -> None:
    a, b = sides((0, 10), (0, 1000))
    a.ids["orders"] = NEW
    known = Known(CopyProgress({SOURCE: copied}, {SOURCE: lineage}))
    assert await lag_of(forth(tmp_path, a, b, known), FirstRecordQuery(a, b)) == {SOURCE: 10}


async def test_what_is_copied_is_no_lag(tmp_path: Path) -> None:
    a, b = sides((0, 10), (0, 10))
    a.ids["orders"] = NEW
    known = Known(CopyProgress({SOURCE: 9}, {SOURCE: Lineage(topic_id=NEW)}))
    assert await lag_of(forth(tmp_path, a, b, known), FirstRecordQuery(a, b)) == {SOURCE: 0}
