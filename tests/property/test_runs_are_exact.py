"""
Whatever happens to a flow: an exact translation is the first unread record, any other is before it.

The model is a source log with gaps, a task that copies it, its kills and restarts, somebody else
who copies it too and writes offset syncs only, and a reader of the topics of both. That of runs may
have been compacted.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from mm2.core.internal_records import OffsetSync
from mm2.core.model import TopicName, TopicPartition
from mm2.core.translation.offset_sync_store import OffsetSyncStore
from mm2.core.translation.offset_translation import OffsetTranslation, RunStore
from mm2.core.translation.run_codec import decode_key, decode_value, encode_key, encode_value
from mm2.core.translation.run_retention import StoredRuns
from mm2.core.translation.run_tracker import RunTracker
from mm2.core.translation.runs import Block, Logs, Run, TaskTenure

WHERE = TopicPartition(TopicName("t"), 0)
COUNTS = st.integers(1, 6)


@dataclass(frozen=True)
class Copy:
    """A record of the remote log; ``upstream`` is None for a commit marker or an older topic's."""

    upstream: int | None
    is_marker: bool = False


class FlowOfRuns(RuleBasedStateMachine):
    """One partition."""

    most = 12
    is_transactional = False

    def __init__(self) -> None:
        super().__init__()
        self.logs = Logs(UUID(int=1), UUID(int=1))
        self.source: list[bool] = []
        self.remote: list[Copy] = []
        self.topic: list[tuple[bytes, bytes | None]] = []
        self.syncs = OffsetSyncStore(must_read_to_end=False)
        self.syncs.backlog_read()
        self.evidence: list[OffsetSync] = []
        self.is_anew = False
        self.committed = self.turn = 0
        self.late: list[Block] = []
        self.begin()

    def begin(self) -> None:
        self.turn += 1
        tenure = TaskTenure(1, self.turn, 0, self.turn)
        self.tracker = RunTracker(full=3, is_transactional=self.is_transactional, tenure=tenure)
        self.tracker.begin(self.committed)
        self.position = self.committed
        self.has_told = False

    @rule(count=COUNTS, is_gap=st.booleans())
    def produce(self, count: int, is_gap: bool) -> None:
        """The source grows by records, or by what is never copied: nobody reads it, or takes it."""
        self.source += [not is_gap] * count

    @rule(count=st.integers(1, 12))
    def copy(self, count: int) -> None:
        """The task goes on."""
        taken = self._records(count)
        for offset in taken:
            self.tracker.add(Run(offset, len(self.remote), 1), self.logs)
            self._copy(offset)
            self.has_told = False
        if taken and self.is_transactional:
            self.remote.append(Copy(None, is_marker=True))

    @rule()
    def copy_without_knowing_where(self) -> None:
        """A duplicate is acknowledged, and the broker does not know its offset any more."""
        if taken := self._records(2):
            self.remote += map(Copy, taken)
            self.tracker.lose(taken[0], taken[-1] + 1)
            self.has_told = False

    @rule()
    def publish(self) -> None:
        """What is new goes to the topic of runs."""
        self.tracker.cover(self.position)
        blocks = self.tracker.take()
        self._write(blocks)
        self.has_told = True
        if any(block.runs for block in blocks):
            self.evidence = []

    @rule()
    def fail_to_publish(self) -> None:
        """The topic cannot be written just now."""
        self.tracker.cover(self.position)
        self.tracker.give_back(self.tracker.take())

    @rule()
    def commit(self) -> None:
        """Runs are written before the position."""
        self.publish()
        self.committed = self.position

    @rule()
    def commit_alone(self) -> None:
        """They could not be written in time."""
        self.committed = self.position

    @rule(unanswered=st.integers(0, 3))
    def kill(self, unanswered: int) -> None:
        """The next task begins at the committed position; the last batch may have arrived."""
        self.late = self.tracker.take()
        self.remote += map(Copy, self._records(unanswered))
        self.begin()

    @rule()
    def wake_up(self) -> None:
        """A task that was only paused, and given up as dead, writes what it still had to say."""
        if self.has_told:  # Before, nobody can know that it has lost the partition.
            self._write(self.late)
            self.late = []

    @rule(unanswered=st.integers(0, 3))
    def kill_and_find(self, unanswered: int) -> None:
        """The next task finds what the killed one had copied, if that is all there is."""
        self.kill(unanswered)
        expected = [n for n in range(self.committed, len(self.source)) if self.source[n]]
        tail = [(at, c.upstream) for at, c in enumerate(self.remote) if not c.is_marker]
        while tail and tail[0][1] != self.committed:
            tail = tail[1:]
        if [upstream for _, upstream in tail] == expected[: len(tail)]:
            for at, upstream in tail:
                assert upstream is not None
                self.tracker.add(Run(upstream, at, 1), self.logs)
                self.position = upstream + 1

    @rule(back=COUNTS)
    def reset(self, back: int) -> None:
        """Somebody has records copied again."""
        self.commit()
        self.committed = max(0, self.committed - back)
        self.begin()

    @rule()
    def recreate_source(self) -> None:
        """Another topic under the same name; the copies of the former one stay."""
        self.publish()
        self.logs = Logs(UUID(int=self._source_id() + 1), self.logs.remote)
        self.is_anew = True
        self.source, self.committed = [], 0
        self.remote = [Copy(None, c.is_marker) for c in self.remote]
        self.topic_is_told_anew()

    @rule()
    def recreate_remote(self) -> None:
        """The copy is made again from the start."""
        self.publish()
        self.logs = Logs(self.logs.source, UUID(int=self._remote_id() + 1))
        self.is_anew = True
        self.remote, self.committed = [], 0
        self.topic_is_told_anew()

    def topic_is_told_anew(self) -> None:
        """Until the first block about new topics nobody can know of them."""
        self.begin()
        self.source += [True]
        self.copy(1)
        self.publish()

    @rule(count=st.integers(1, 3))
    def others_copy(self, count: int) -> None:
        """Java's MirrorMaker goes on where our task had committed, and then ours again."""
        self._others_copy(count)

    @rule()
    def others_recreate_remote(self) -> None:
        """Java's MirrorMaker makes the copy anew from our position on, and then ours goes on."""
        self.publish()
        self.source += [True]
        self.committed = self.position
        self.logs = Logs(self.logs.source, UUID(int=self._remote_id() + 1))
        self.is_anew = True
        self.remote = []
        self.evidence = self._others_copy(len(self.source))

    @rule(data=st.data())
    def compact(self, data: st.DataObject) -> None:
        """Of the older part of the topic the last record of each key is left."""
        self._compact(data.draw(st.integers(0, len(self.topic))))

    def _compact(self, end: int) -> None:
        keys = [key for key, _ in self.topic]
        self.topic = [
            each for n, each in enumerate(self.topic) if n >= end or each[0] not in keys[n + 1 :]
        ]

    @rule()
    def tidy(self) -> None:
        """What nobody needs is taken back; whoever reads from now on knows as much as before."""
        self._compact(len(self.topic))
        stored, before = StoredRuns(self.most), self._read_runs().of(WHERE)
        for key, value in self.topic:
            name = decode_key(key)[1]
            stored.handle(name, None if value is None else decode_value(name, value))
        for name, block in stored.due(0, 0):
            value = None if block is None else encode_value(block)
            self.topic.append((encode_key(WHERE, *name), value))
        self._compact(len(self.topic))
        after = self._read_runs().of(WHERE)
        since = [None if runs is None else runs.exact_since for runs in (before, after)]
        assert since[0] == since[1], "tidying has lost what was exact"

    @rule()
    def upgrade(self) -> None:
        """What is there was written by a release whose keys had no tags; a task of ours comes."""
        names = {decode_key(key)[1] for key, _ in self.topic}
        if len({name.start for name in names}) < len(names):
            return  # There, such keys are taken for each other.
        self.commit()
        self.topic = [
            (encode_key(WHERE, decode_key(key)[1].start), value and b"\x02" + value[1:])
            for key, value in self.topic
        ]
        self.topic_is_told_anew()
        self.tidy()

    @invariant()
    def nothing_told_is_a_lie(self) -> None:
        """For every offset of either log."""
        if not {*self.evidence} <= {*self.syncs.slots(WHERE)}:
            return  # That the copy was made anew cannot be known any more.
        runs = self._read_runs()
        self.alone = OffsetTranslation(self.syncs)
        # Brokers before 2.8 know no ids.
        live = {WHERE.topic: self.logs} if self.turn % 2 else {}
        translation = OffsetTranslation(self.syncs, runs, live)
        self.no_translation_lies(translation)
        self.no_way_back_lies(translation)

    def no_translation_lies(self, translation: OffsetTranslation) -> None:
        """For every offset of the source."""
        for upstream in range(len(self.source) + 2):
            if (found := translation.explain(WHERE, upstream)) is None or found.offset < 0:
                continue
            if self.is_anew and found == self.alone.explain(WHERE, upstream):
                continue  # Java's syncs do not know that they are about a former topic.
            assert found.offset <= len(self.remote), f"{upstream} lies beyond the end"
            for record in range(upstream, min(self.position, len(self.source))):
                last = self._last_copy(record)
                assert last is None or found.offset <= last, f"{upstream} skips {record}"
            if found.exact and self.has_told:
                assert self._are_one(found.offset, upstream), f"{upstream} reads again"

    def no_way_back_lies(self, translation: OffsetTranslation) -> None:
        """For every offset of the copy."""
        for downstream in range(len(self.remote) + 1):
            if (found := translation.reverse(WHERE, downstream)) is None or not self.has_told:
                continue
            if self.is_anew and found == self.alone.reverse(WHERE, downstream):
                continue
            read = {copy.upstream for copy in self.remote[:downstream]}
            unread = {copy.upstream for copy in self.remote[downstream:]} - read - {None}
            assert all(u is None or u >= found.offset for u in unread), f"{downstream} skips"
            if found.exact:
                assert self._are_one(downstream, found.offset), f"{downstream} repeats"

    def _read_runs(self) -> RunStore:
        runs = RunStore(self.most)
        for record in self.topic:
            runs.handle(*record)
        runs.backlog_read()
        return runs

    def _write(self, blocks: Iterable[Block]) -> None:
        self.topic += [(encode_key(WHERE, *b.name), encode_value(b)) for b in blocks]

    def _others_copy(self, count: int) -> list[OffsetSync]:
        self.begin()
        syncs = [self._copy(offset) for offset in self._records(count)]
        self.committed = self.position
        self.begin()
        return syncs

    def _copy(self, offset: int) -> OffsetSync:
        sync = OffsetSync(WHERE, offset, len(self.remote))
        self.syncs.handle(sync)
        self.remote.append(Copy(offset))
        return sync

    def _records(self, count: int) -> list[int]:
        """Moves the position past so many offsets; returns those of records."""
        first, self.position = self.position, min(self.position + count, len(self.source))
        return [offset for offset in range(first, self.position) if self.source[offset]]

    def _last_copy(self, upstream: int) -> int | None:
        copies = [at for at, copy in enumerate(self.remote) if copy.upstream == upstream]
        return copies[-1] if copies else None

    def _are_one(self, downstream: int, upstream: int) -> bool:
        """Whether readers of both logs read the same record next, or will when it is copied."""
        read, first = self._read(downstream), self._first(upstream)
        return read == first or (read is None and first is not None and first >= self.position)

    def _read(self, downstream: int) -> int | None:
        """What a consumer of the copy reads first."""
        records = [copy.upstream for copy in self.remote[downstream:] if not copy.is_marker]
        return records[0] if records else None

    def _first(self, upstream: int) -> int | None:
        """The first record from there on that was copied."""
        copied = {copy.upstream for copy in self.remote} - {None}
        return min((c for c in copied if c is not None and c >= upstream), default=None)

    def _source_id(self) -> int:
        assert self.logs.source is not None
        return self.logs.source.int

    def _remote_id(self) -> int:
        assert self.logs.remote is not None
        return self.logs.remote.int


class FlowOfTransactions(FlowOfRuns):
    """Each copying leaves a commit marker behind it."""

    is_transactional = True


FlowOfRuns.TestCase.settings = settings(max_examples=50, stateful_step_count=25, deadline=None)
FlowOfTransactions.TestCase.settings = FlowOfRuns.TestCase.settings
TestRuns = FlowOfRuns.TestCase
TestRunsOfTransactions = FlowOfTransactions.TestCase
