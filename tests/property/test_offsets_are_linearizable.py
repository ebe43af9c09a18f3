"""
Several instances of an offset manager that take a log partition from each other at any moment.

The log in this model refuses nobody: not even a fenced producer. So what holds here holds by what
instances compare with the log, and neither by fencing nor by any clock.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    precondition,
    rule,
    run_state_machine_as_test,
)

from mm2.core.model import TopicName, TopicPartition
from mm2.core.offset_manager.commits import OffsetError, StoredOffset
from mm2.core.offset_manager.committed_offset_records import OffsetKey
from mm2.core.offset_manager.log_partition import (
    Confirmation,
    LogPartition,
    LogRole,
)
from mm2.core.offset_manager.offset_table import Change

PLACES = st.integers(0, 5)
"""The how manyeth of the instances to which a step can happen."""

PARTITIONS = [TopicPartition(TopicName("t"), n) for n in range(2)]
GROUPS = st.sampled_from(["g", "h"])
KEYS = st.builds(OffsetKey, GROUPS, st.sampled_from(PARTITIONS))


@dataclass
class Appending:
    """A batch that the log has, of which the instance has not heard."""

    base_offset: int
    changes: list[Change]


@dataclass
class Fetching:
    """A fetch that the log was asked for."""

    group: str
    begun: int
    before: int
    end: int
    term: int


@dataclass(eq=False)
class Simulated:
    """An instance, which may be asleep between any two steps."""

    partition: LogPartition
    read: int = 0
    end: int = 0
    appending: Appending | None = None
    fetching: Fetching | None = None


def can_append(me: Simulated) -> bool:
    return me.partition.commit_error is OffsetError.NONE and me.appending is None


def can_ask(me: Simulated) -> bool:
    return me.partition.fetch_error is OffsetError.NONE and me.fetching is None


def loads(me: Simulated) -> bool:
    return me.partition.role is LogRole.LOADING


def has_sent(me: Simulated) -> bool:
    return me.appending is not None


def has_asked(me: Simulated) -> bool:
    return me.fetching is not None


def any_of(condition: Callable[[Simulated], bool]) -> Callable[[Histories], bool]:
    """Whether there is an instance to which a step can happen."""
    return lambda self: any(map(condition, self.instances))


class Histories(RuleBasedStateMachine):
    """Commits and fetches of groups, while instances take over from each other."""

    partition_type: ClassVar[type[LogPartition]] = LogPartition

    def __init__(self) -> None:
        super().__init__()
        self.log: list[Change | None] = []
        self.instances = [Simulated(self.partition_type()) for _ in range(2)]
        self.visible = 0
        """What a fetch that begins now has to see of the log, at least."""
        self.offset = 0

    def one_of(self, condition: Callable[[Simulated], bool], at: int) -> Simulated:
        fitting = [each for each in self.instances if condition(each)]
        return fitting[at % len(fitting)]

    @precondition(any_of(lambda me: not has_sent(me)))
    @rule(at=PLACES)
    def take(self, at: int) -> None:
        """Fences: a marker is written, and the partition is taken where the log ends then."""
        me = self.one_of(lambda each: not has_sent(each), at)
        me.partition.lose()
        self.log.append(None)
        me.end, me.read = len(self.log), 0
        me.partition.take(me.end)

    @precondition(any_of(loads))
    @rule(at=PLACES, count=st.integers(1, 12))
    def load(self, at: int, count: int) -> None:
        """Loads some records, and then perhaps is done."""
        me = self.one_of(loads, at)
        for log_offset in range(me.read, min(me.read + count, me.end)):
            record = self.log[log_offset]
            if record is not None:
                me.partition.load(*record, log_offset)
        me.read = min(me.read + count, me.end)
        if me.read == me.end:
            me.partition.loaded()

    @precondition(any_of(can_append))
    @rule(at=PLACES, keys=st.lists(KEYS, min_size=1, max_size=3, unique=True), gone=st.booleans())
    def append(self, at: int, keys: list[OffsetKey], gone: bool) -> None:
        """Sends a batch, which the log takes."""
        me = self.one_of(can_append, at)
        changes: list[Change] = []
        for key in keys:
            self.offset += 1
            stored = StoredOffset(offset=self.offset, commit_ms=0)
            changes.append((key, None if gone else stored))
        me.appending = Appending(len(self.log), changes)
        self.log += changes

    @precondition(any_of(has_sent))
    @rule(at=PLACES)
    def hear(self, at: int) -> None:
        """Hears that the batch was taken; whoever committed is told if it counts."""
        me = self.one_of(has_sent, at)
        appending, me.appending = me.appending, None
        assert appending is not None
        if me.partition.appended(appending.base_offset, appending.changes):
            end = appending.base_offset + len(appending.changes)
            self.visible = max(self.visible, end)

    @precondition(any_of(can_ask))
    @rule(at=PLACES, group=GROUPS)
    def ask(self, at: int, group: str) -> None:
        """A fetch comes in, and the log is asked where it ends."""
        me = self.one_of(can_ask, at)
        before = me.partition.next_offset
        me.fetching = Fetching(group, self.visible, before, len(self.log), me.partition.term)

    @precondition(any_of(has_asked))
    @rule(at=PLACES)
    def answer(self, at: int) -> None:
        """The log's answer is there: the fetch is answered from memory, or not at all."""
        me = self.one_of(has_asked, at)
        fetching = me.fetching
        assert fetching is not None
        if me.partition.term != fetching.term:
            me.fetching = None
            return
        confirmation = me.partition.confirm(
            fetching.before, fetching.end, is_appending=me.appending is not None
        )
        if confirmation is Confirmation.WAITING:
            return
        me.fetching = None
        if confirmation is Confirmation.OVERTAKEN:
            me.partition.lose()
            return
        seen = me.partition.table.fetch(fetching.group, None)
        fitting = [
            end
            for end in range(fetching.begun, len(self.log) + 1)
            if self.state(fetching.group, end) == seen
        ]
        assert fitting, f"{seen} was never true since the fetch began"
        self.visible = max(self.visible, fitting[0])

    @precondition(any_of(has_sent))
    @rule(at=PLACES)
    def die(self, at: int) -> None:
        """Killed with a batch on its way, and started again: the log has the batch."""
        dead = self.one_of(has_sent, at)
        self.instances[self.instances.index(dead)] = Simulated(self.partition_type())

    def state(self, group: str, end: int) -> dict[TopicPartition, StoredOffset]:
        """What the log says of a group up to an offset."""
        found: dict[TopicPartition, StoredOffset] = {}
        for record in self.log[:end]:
            if record is not None and record[0].group == group:
                key, stored = record
                found.pop(key.where, None)
                if stored is not None:
                    found[key.where] = stored
        return found


TestHistories = Histories.TestCase


class EarlyTable(LogPartition):
    """Breaks the first rule: applies a batch before it is known where it stands."""

    def appended(self, base_offset: int, changes: Sequence[Change]) -> bool:
        for number, (key, stored) in enumerate(changes):
            self.table.apply(key, stored, base_offset + number)
        self.next_offset = base_offset + len(changes)
        return True


class Trusting(LogPartition):
    """Breaks the second rule: answers whatever the log says of its end."""

    def confirm(self, before: int, end: int, *, is_appending: bool) -> Confirmation:
        del before, end, is_appending
        return Confirmation.CURRENT


class Forgetful(LogPartition):
    """Takes what it has loaded first for the last word."""

    def load(self, key: OffsetKey, stored: StoredOffset | None, log_offset: int) -> None:
        super().load(key, stored, -log_offset)


class Overlooking(LogPartition):
    """Goes on with what it knew when it takes the partition anew."""

    def take(self, end: int) -> None:
        super().take(end)
        self.role = LogRole.LEADING


@pytest.mark.parametrize("broken", [EarlyTable, Trusting, Forgetful, Overlooking])
def test_a_core_that_breaks_a_rule_is_found_out(broken: type[LogPartition]) -> None:
    class Broken(Histories):
        partition_type = broken

    found = settings(max_examples=1_000, derandomize=True, database=None, phases=[Phase.generate])
    with pytest.raises(AssertionError, match="was never true"):
        run_state_machine_as_test(Broken, settings=found)
