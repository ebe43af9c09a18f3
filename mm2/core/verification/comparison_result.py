"""What a comparison has found: how many records, and the first that differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum

from mm2.core.verification.record_table import FIELDS, RecordTable


class Kind(StrEnum):
    """How a record and its copy differ."""

    LOST = "lost"
    DUPLICATED = "duplicated"
    REORDERED = "reordered"
    ALTERED = "altered"
    ADDED = "added"


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """
    One difference.

    Attributes:
        source_offset: of the source record; None if there is none.
        remote_offset: of the record in the remote topic; None if there is none.
        fields: what differs, of ``FIELDS``; only of an altered record.
        digests: of key, value and headers together on both sides, in hexadecimal digits; "-" where
            there is no record. They are made with a key that each run draws anew.
    """

    kind: Kind
    source_offset: int | None = None
    remote_offset: int | None = None
    fields: tuple[str, ...] = ()
    digests: tuple[str, str] = ("-", "-")


def difference(
    kind: Kind,
    source: tuple[RecordTable, int] | None,
    remote: tuple[RecordTable, int] | None,
) -> Difference:
    """A difference of a kind between two records, each of which is a place in a table."""
    fields: tuple[str, ...] = ()
    if kind is Kind.ALTERED and source and remote:
        pairs = zip(FIELDS, source[0].row(source[1]), remote[0].row(remote[1]), strict=True)
        fields = tuple(name for name, here, there in pairs if here != there)
        if remote[0].append_times[remote[1]]:
            fields = tuple(name for name in fields if name != "timestamp")
    return Difference(
        kind=kind,
        source_offset=_offset(source),
        remote_offset=_offset(remote),
        fields=fields,
        digests=(_digest(source), _digest(remote)),
    )


def _offset(record: tuple[RecordTable, int] | None) -> int | None:
    return None if record is None else int(record[0].offsets[record[1]])


def _digest(record: tuple[RecordTable, int] | None) -> str:
    return "-" if record is None else f"{int(record[0].contents[record[1]]):016x}"


@dataclass(slots=True)
class ComparisonResult:
    """
    What was compared, and how it came out.

    Attributes:
        differences: the first ones, ``most`` at most.
        behind: source records behind the position, which have no copies yet.
        not_comparable: records of either side whose counterparts retention has deleted, that lie
            at the edges of a sample, or at other places than their counterparts where compaction
            may have moved these.
        compacted: records that compaction has taken from one side.
        most: differences that are kept.
    """

    most: int = 20
    source_records: int = 0
    remote_records: int = 0
    equal: int = 0
    counts: Counter[Kind] = field(default_factory=Counter)
    differences: list[Difference] = field(default_factory=list)
    behind: int = 0
    not_comparable: int = 0
    compacted: int = 0

    @property
    def differs(self) -> bool:
        """Whether there is any difference."""
        return self.counts.total() > 0

    def note(self, found: Iterable[Difference]) -> None:
        """Counts differences, and keeps them if they are among the first."""
        for each in found:
            self.counts[each.kind] += 1
            if len(self.differences) < self.most:
                self.differences.append(each)

    def note_all(self, kind: Kind, table: RecordTable, *, of_source: bool) -> None:
        """Counts each record of a table as a difference that has one side only."""
        kept = min(len(table), max(0, self.most - len(self.differences)))
        for at in range(kept):
            record = (table, at)
            self.differences.append(
                difference(kind, record if of_source else None, None if of_source else record)
            )
        if len(table):
            self.counts[kind] += len(table)

    def add(self, other: ComparisonResult) -> None:
        """Takes in what was found in a later part of the same partition."""
        self.source_records += other.source_records
        self.remote_records += other.remote_records
        self.equal += other.equal
        self.counts.update(other.counts)
        room = max(0, self.most - len(self.differences))
        self.differences += other.differences[:room]
        self.behind += other.behind
        self.not_comparable += other.not_comparable
        self.compacted += other.compacted
