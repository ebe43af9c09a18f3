"""Workers that change one connector at the same time: who was told yes prevails, in all eyes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from mm2.connect.config_state import ConfigState, Replacing, replacing
from mm2.core.connect.config_records import (
    Base,
    ConnectorConfig,
    ConnectorTarget,
    Entry,
    TargetState,
)

_NAME = "m"
_WORKERS = st.integers(0, 2)
_VALUES = st.integers(0, 2)
_STATES = st.sampled_from(TargetState)
_ROUNDS = 50
"""So many rounds of all workers end all that is under way, or nothing ever does."""

_Written = tuple[Entry, Base | None]
_State = tuple[Mapping[str, str] | None, TargetState | None]


@dataclass
class _Change:
    """
    What a worker was asked for.

    Attributes:
        before: the configuration that it was made from.
        new: the new one.
        entries: what goes with it.
        steps: what is written.
        copies: where it stands in the topic, each time that it was written.
        writing: what is to be written next, and up to where its worker had read.
        waits_for: what was written, until its verdict is known.
        answer: what whoever has asked was told.
    """

    before: Mapping[str, str] | None
    new: ConnectorConfig
    entries: list[Entry]
    steps: Replacing
    copies: list[range] = field(default_factory=list)
    writing: tuple[Sequence[Entry], int] | None = None
    waits_for: range | None = None
    answer: bool | None = None


class _Worker:
    """Follows the topic, and is steered by nobody else."""

    def __init__(self) -> None:
        self.contents = ConfigState()
        self.verdicts: list[bool] = []
        self.change: _Change | None = None

    def read(self, log: Sequence[_Written], most: int) -> None:
        for at in range(len(self.verdicts), min(len(log), len(self.verdicts) + most)):
            entry, base = log[at]
            self.verdicts.append(self.contents.take(entry, at, base))

    def begin(self, new: ConnectorConfig, entries: list[Entry], *, is_new: bool) -> _Change:
        before = None if is_new else self.contents.configs.get(_NAME)
        steps = replacing(lambda: self.contents, before, new, entries)
        self.change = change = _Change(before, new, entries, steps)
        self._step(None)
        return change

    def write(self, log: list[_Written], times: int) -> None:
        """Writes what is due; once more, if the first answer is lost."""
        if (change := self.change) is None or change.writing is None:
            return
        entries, read = change.writing
        for _ in range(times):
            offsets = range(len(log), len(log) + len(entries))
            log += [(each, Base(read, place)) for place, each in enumerate(entries)]
            if entries == [*change.entries, change.new]:
                change.copies.append(offsets)
        change.writing, change.waits_for = None, offsets

    def go_on(self) -> None:
        """Does what comes next, once it has read what it wrote."""
        if (change := self.change) is None or (offsets := change.waits_for) is None:
            return
        if offsets[-1] < len(self.verdicts):
            change.waits_for = None
            self._step(all(self.verdicts[at] for at in offsets))

    def _step(self, verdict: bool | None) -> None:
        change = self.change
        assert change is not None
        try:
            entries = next(change.steps) if verdict is None else change.steps.send(verdict)
            change.writing = entries, len(self.verdicts) - 1
        except StopIteration as end:
            change.answer, self.change = end.value, None


class Workers(RuleBasedStateMachine):
    """Three workers of a group, and the topic that has its connectors."""

    def __init__(self) -> None:
        super().__init__()
        self.log: list[_Written] = []
        self.workers = [_Worker() for _ in range(3)]
        self.changes: list[_Change] = []

    @rule(worker=_WORKERS, value=_VALUES)
    def put(self, worker: int, value: int) -> None:
        new = ConnectorConfig(_NAME, {"v": str(value)})
        if self.workers[worker].contents.configs.get(_NAME) is not None:
            self.begin(worker, new, [], is_new=False)

    @rule(worker=_WORKERS, value=_VALUES, state=_STATES)
    def create(self, worker: int, value: int, state: TargetState) -> None:
        entries: list[Entry] = [ConnectorTarget(_NAME, state)]
        self.begin(worker, ConnectorConfig(_NAME, {"v": str(value)}), entries, is_new=True)

    def begin(
        self, worker: int, new: ConnectorConfig, entries: list[Entry], *, is_new: bool
    ) -> None:
        if self.workers[worker].change is None:
            self.changes.append(self.workers[worker].begin(new, entries, is_new=is_new))

    @rule(worker=_WORKERS, times=st.sampled_from([1, 1, 1, 2]))
    def write(self, worker: int, times: int) -> None:
        self.workers[worker].write(self.log, times)

    @rule(worker=_WORKERS, most=st.integers(1, 4))
    def read(self, worker: int, most: int) -> None:
        self.workers[worker].read(self.log, most)

    @rule(worker=_WORKERS)
    def go_on(self, worker: int) -> None:
        self.workers[worker].go_on()

    @rule(state=_STATES)
    def steer(self, state: TargetState) -> None:
        """Somebody pauses, stops or resumes it, whatever its configuration is."""
        self.log.append((ConnectorTarget(_NAME, state), None))

    @rule()
    def delete(self) -> None:
        self.log += [(ConnectorConfig(_NAME, None), None), (ConnectorTarget(_NAME, None), None)]

    def teardown(self) -> None:
        for _ in range(_ROUNDS):
            for worker in self.workers:
                worker.write(self.log, 1)
                worker.read(self.log, len(self.log))
                worker.go_on()
            if all(worker.change is None for worker in self.workers):
                break
        else:
            raise AssertionError("somebody waits for ever")
        for worker in self.workers:
            worker.read(self.log, len(self.log))
        self.check_answers()
        self.check_that_all_see_the_same()

    def cuts(self) -> list[int]:
        """Where compaction may have ended: batches are not torn apart."""
        firsts = [base is None or base.place == 0 for _, base in self.log]
        return [*(at for at, is_first in enumerate(firsts) if is_first), len(self.log)]

    def check_answers(self) -> None:
        """A refused change makes no difference, nor does what was written to say what is right."""
        states = list(_states(self.log))
        own = {at for change in self.changes for copy in change.copies for at in copy}
        for change in self.changes:
            moves = [(states[copy[0]], states[copy[-1] + 1]) for copy in change.copies]
            if not change.answer:
                assert all(before == after for before, after in moves)
                continue
            wanted = [each.state for each in change.entries if isinstance(each, ConnectorTarget)]
            # Whoever was overtaken by a pause and then by a deletion has written it again.
            assert any(
                before[0] in (change.before, change.new.config)
                and after[0] == change.new.config
                and (not wanted or after[1] is wanted[0])
                for before, after in moves
            )
        for at, (_, base) in enumerate(self.log):
            assert base is None or at in own or states[at] == states[at + 1]

    def check_that_all_see_the_same(self) -> None:
        """Workers, those who come after old entries are gone, and those who know no bases."""
        right = _state(self.workers[0].contents)
        others = [
            *(worker.contents for worker in self.workers),
            *(_read(_compacted(self.log, cut)) for cut in self.cuts()),
            _read((at, entry, None) for at, (entry, _) in enumerate(self.log)),
        ]
        assert [_state(each) for each in others] == [right] * len(others)


def _state(contents: ConfigState) -> _State:
    return contents.configs.get(_NAME), contents.targets.get(_NAME)


def _states(log: Sequence[_Written]) -> Iterable[_State]:
    """How things are before each entry and after the last."""
    contents = ConfigState()
    for at, (entry, base) in enumerate(log):
        yield _state(contents)
        contents.take(entry, at, base)
    yield _state(contents)


def _compacted(log: Sequence[_Written], cut: int) -> Iterable[tuple[int, Entry, Base | None]]:
    """What is left when of all before an offset only the last about each thing is kept."""
    last = {type(entry): at for at, (entry, _) in enumerate(log[:cut])}
    for at, (entry, base) in enumerate(log):
        is_tombstone = entry in (ConnectorConfig(_NAME, None), ConnectorTarget(_NAME, None))
        if at >= cut or (last[type(entry)] == at and not is_tombstone):
            yield at, entry, base


def _read(entries: Iterable[tuple[int, Entry, Base | None]]) -> ConfigState:
    contents = ConfigState()
    for at, entry, base in entries:
        contents.take(entry, at, base)
    return contents


TestWorkers = Workers.TestCase
TestWorkers.settings = settings(max_examples=50, stateful_step_count=30, deadline=None)
