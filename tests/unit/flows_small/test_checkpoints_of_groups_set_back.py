"""Groups that somebody sets back, on either side, between rounds of checkpoints and syncs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from flows.checkpoint.checkpoint_store import CheckpointStore
from flows.checkpoint.emission import CheckpointSelector, Emission
from flows.checkpoint.group_offset_sync import GroupOffsetSync, StoreNotes
from mm2.core.filters import build_topic_filter
from mm2.core.internal_records import Checkpoint
from mm2.core.model import ClusterAlias, TopicPartition
from mm2.core.policy import build_policy
from mm2.core.translation.checkpoint_rules import Renaming
from mm2.core.translation.group_sync_rules import Order, TargetCommit
from mm2.core.translation.offset_translation import MappedOffset
from mm2.core.translation.returned_groups import ReturningGroups, SyncedOffsets
from mm2.core.translation.reverse_translation import Copies
from mm2.core.translation.runs import UNKNOWN_LOGS, Logs
from tests.support.configs import A_TO_B
from tests.support.fake_groups import FakeGroups
from tests.support.followed import G1, at, following
from tests.support.virtual_time import run

HERE, THERE = at("t"), at("A.t")


class Same:
    """Copies have the offsets of their originals."""

    def explain(self, partition: TopicPartition, upstream: int) -> MappedOffset:
        del partition
        return MappedOffset(upstream, exact=True)

    def logs(self, partition: TopicPartition) -> Logs:
        del partition
        return UNKNOWN_LOGS


@dataclass
class Flow:
    """A flow between two clusters in memory, whose group reads one topic."""

    source: FakeGroups = field(default_factory=lambda: FakeGroups("A"))
    target: FakeGroups = field(default_factory=lambda: FakeGroups("B", ends={THERE: 1000}))
    opposite: SyncedOffsets = field(default_factory=SyncedOffsets)
    is_told: bool = True
    writes: bool = True
    meanwhile: Callable[[], None] = lambda: None

    def __post_init__(self) -> None:
        policy = build_policy({"source.cluster.alias": "A", "target.cluster.alias": "B"})
        renaming = Renaming(A_TO_B, policy, build_topic_filter({"topics": "t"}))
        groups = following(self.source)
        groups.current = frozenset({G1})
        self.store = CheckpointStore()
        self.opposite.backlog_read()
        copies = Copies(ClusterAlias("B"), policy, lambda _: False)
        choice = CheckpointSelector(
            renaming, Same(), self.store, ReturningGroups(copies, self.opposite)
        )
        self.emission = Emission(
            self.source,
            self.target,
            groups=groups,
            choice=choice,
            outbox=self,
            until_caught_up=self.until_caught_up,
        )
        notes = StoreNotes(self.store, self.emission.one_at_a_time, self.write)
        self._sync = GroupOffsetSync(self.target, groups, self.store, notes=notes)

    async def until_caught_up(self) -> bool:
        self.meanwhile()
        return self.is_told

    async def write(self) -> int:
        due = self.store.unsent() if self.writes else []
        for each in due:
            self.store.sent(each)
        return len(due)

    def here(self, offset: int) -> None:
        """Somebody commits on the source, and checkpoints are made."""
        self.source.put(G1, {HERE: offset})
        run(self.emission.round())

    def there(self, offset: int) -> None:
        """Somebody commits on the target, and checkpoints are made."""
        self.target.put(G1, {THERE: offset})
        run(self.emission.round())

    def synced(self) -> int | None:
        """Where the group stands on the target after a round of syncs."""
        run(self._sync.round())
        found = self.target.offsets.get(G1, {}).get(THERE)
        return None if found is None else found.offset

    @property
    def last(self) -> Checkpoint:
        """The group's checkpoint."""
        return self.store.of_group(G1)[THERE]


def test_where_nobody_reads_a_group_follows_back() -> None:
    flow = Flow()
    flow.here(90)
    assert flow.synced() == 90
    flow.here(10)
    assert flow.synced() == 10
    assert flow.last.target_commit == TargetCommit(Order.GIVEN, (10,))


def test_what_somebody_sets_on_the_target_stays_until_the_source_goes_on() -> None:
    flow = Flow()
    flow.here(90)
    flow.synced()
    flow.there(30)
    assert flow.synced() == 30
    assert flow.last.target_commit == TargetCommit(Order.LATER, (30,))
    run(flow.emission.round())
    flow.here(95)
    assert flow.synced() == 95


def test_a_group_that_has_read_on_the_target_does_not_follow_back() -> None:
    flow = Flow()
    flow.here(50)
    flow.synced()
    flow.there(80)
    flow.synced()
    run(flow.emission.round())
    flow.here(20)
    assert flow.synced() == 80
    assert flow.last.target_commit == TargetCommit(Order.EARLIER, (80,), is_confirmed=True)


def test_of_what_changes_at_once_on_both_sides_nothing_is_overruled() -> None:
    flow = Flow()
    flow.here(50)
    flow.synced()
    flow.target.put(G1, {THERE: 30})
    flow.here(60)
    assert flow.synced() == 30
    assert flow.last.target_commit == TargetCommit(Order.UNSURE, (30,))


def test_a_group_that_was_set_back_before_it_first_committed_here_is_not_moved_forward() -> None:
    """The opposite flow has told of where it was before, and not yet of that."""
    flow = Flow()
    later = TargetCommit(Order.LATER, (410,))
    flow.opposite.note(Checkpoint(G1, HERE, 258, 258, target_commit=later))
    flow.target.put(G1, {THERE: 211})
    flow.here(410)
    assert flow.synced() == 211
    assert flow.last.target_commit == TargetCommit(Order.UNSURE, (211,))


def test_what_the_opposite_flow_gave_makes_no_checkpoint() -> None:
    flow = Flow()
    given = TargetCommit(Order.GIVEN, (40,))
    flow.opposite.note(Checkpoint(G1, HERE, 70, 40, target_commit=given))
    flow.here(40)
    assert not flow.store.groups()
    flow.here(41)
    assert flow.last.upstream_offset == 41


def test_what_the_opposite_flow_sets_back_while_it_is_read_makes_no_checkpoint() -> None:
    """Somebody has set the group back on the target: what was given before is not given again."""

    def set_back() -> None:
        given = TargetCommit(Order.GIVEN, (50,))
        flow.opposite.note(Checkpoint(G1, HERE, 50, 50, target_commit=given))
        flow.source.put(G1, {HERE: 50})

    flow = Flow(meanwhile=set_back)
    flow.opposite.note(Checkpoint(G1, HERE, 80, 80, target_commit=TargetCommit(Order.GIVEN, (80,))))
    flow.target.put(G1, {THERE: 50})
    flow.here(80)
    assert not flow.store.groups()
    flow.meanwhile = lambda: None
    flow.here(50)
    assert not flow.store.groups()
    flow.here(60)
    assert flow.last.upstream_offset == 60


def test_a_group_that_goes_on_meanwhile_has_its_checkpoint() -> None:
    flow = Flow(meanwhile=lambda: flow.source.put(G1, {HERE: 41}))
    flow.here(40)
    assert flow.last.upstream_offset == 40


def test_until_it_is_known_what_was_given_no_checkpoint_is_made() -> None:
    flow = Flow(is_told=False)
    flow.here(40)
    assert not flow.store.groups()
    flow.is_told = True
    flow.here(40)
    assert flow.last.upstream_offset == 40


def test_only_what_the_topic_has_is_given() -> None:
    """Else nobody could tell after a crash that it was."""
    flow = Flow(writes=False)
    flow.here(40)
    assert flow.synced() is None
    flow.writes = True
    run(flow.emission.round())
    assert flow.synced() == 40


def test_without_leave_to_look_at_the_targets_groups_checkpoints_are_as_javas() -> None:
    flow = Flow()
    flow.target.failing = {G1}
    flow.here(40)
    assert flow.last.target_commit is None
