"""Partitions that change hands, whatever happens in between: never in two tasks at a time."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from mm2.core.balancing.partition_handover import Handover
from mm2.core.model import TopicName, TopicPartition

_BUNDLES = 3
_PARTITIONS = [TopicPartition(TopicName("t"), number) for number in range(6)]
_PLACES = st.lists(st.none() | st.integers(0, _BUNDLES - 1), min_size=6, max_size=6)


class Tasks(RuleBasedStateMachine):
    """A leader's handover, and tasks that see the newest assignment whenever they look."""

    def __init__(self) -> None:
        super().__init__()
        self.handover = Handover()
        self.told: list[tuple[int, set[TopicPartition]]] = [(0, set()) for _ in range(_BUNDLES)]
        self.copying: list[set[TopicPartition]] = [set() for _ in range(_BUNDLES)]
        self.done = [0] * _BUNDLES
        self.wanted: list[set[TopicPartition]] = [set() for _ in range(_BUNDLES)]
        self.idle = set(range(_BUNDLES))

    def strive(self) -> None:
        """Goes on, and writes the assignments that changed."""
        for bundle in self.handover.converge(self.wanted, self.idle):
            self.told[bundle] = (self.handover.generation, set(self.handover.held[bundle]))

    @rule(places=_PLACES)
    def want(self, places: list[int | None]) -> None:
        """The leader decides anew, also while partitions are on their way."""
        self.wanted = [
            {p for p, place in zip(_PARTITIONS, places, strict=True) if place == bundle}
            for bundle in range(_BUNDLES)
        ]
        self.strive()

    @rule(bundle=st.integers(0, _BUNDLES - 1))
    def obey(self, bundle: int) -> None:
        """A task drains, commits and takes on; it may have missed assignments in between."""
        self.idle.discard(bundle)
        self.done[bundle], partitions = self.told[bundle]
        self.copying[bundle] = set(partitions)

    @rule(bundle=st.integers(0, _BUNDLES - 1))
    def report(self, bundle: int) -> None:
        """What a task has done becomes known, at some time."""
        if self.handover.carried_out(bundle, self.done[bundle]):
            self.strive()

    @rule(bundle=st.integers(0, _BUNDLES - 1))
    def crash(self, bundle: int) -> None:
        """A task ends; the next one sees the newest assignment, when it looks."""
        self.copying[bundle] = set()

    @invariant()
    def no_partition_is_copied_twice(self) -> None:
        """What tasks copy, and what they are told and have not looked at yet, are disjoint."""
        for one in range(_BUNDLES):
            for other in range(one):
                mine = self.copying[one] | self.told[one][1]
                assert not mine & (self.copying[other] | self.told[other][1])

    def teardown(self) -> None:
        """Once all tasks have reported twice, everything is where it is wanted."""
        for _ in range(2):
            for bundle in range(_BUNDLES):
                self.obey(bundle)
                self.report(bundle)
        for bundle in range(_BUNDLES):
            self.obey(bundle)
        assert self.copying == self.wanted
        assert not self.handover.is_pending or self.report_all_free()

    def report_all_free(self) -> bool:
        """Partitions that nobody wants any more are let go of as well."""
        for bundle in range(_BUNDLES):
            self.report(bundle)
        return not self.handover.is_pending


TestTasks = Tasks.TestCase
TestTasks.settings = settings(max_examples=150, stateful_step_count=30, deadline=None)
