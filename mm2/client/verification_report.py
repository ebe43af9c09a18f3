"""The results of a comparison's tasks, put together by partition and by topic."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from flows.verify.comparison_spec import PartResult
from mm2.client.plan_verification import VerificationPlan
from mm2.core.model import TopicName, TopicPartition
from mm2.core.verification.comparison_result import ComparisonResult, Difference, Kind

Row: TypeAlias = Mapping[str, str | int | bool | None]

_NOT_SUMMED: Final = frozenset({"topic", "partition", "compared", "differs"})


@dataclass(frozen=True, slots=True, kw_only=True)
class VerificationReport:
    """
    What was found of a flow.

    Attributes:
        topics: a row of counts for each topic of the source.
        partitions: the same for each partition.
        differences: the first ones, behind all others those that are not confirmed.
        is_unreachable: whether clusters are the reason.
    """

    topics: list[Row]
    partitions: list[Row]
    differences: list[Row]
    failures: list[str]
    is_unreachable: bool
    differs: bool

    @property
    def summary(self) -> str:
        """One sentence."""
        equal = sum(int(row["equal"] or 0) for row in self.topics)
        behind = sum(int(row["behind"] or 0) for row in self.topics)
        found = sum(int(row[kind] or 0) for row in self.topics for kind in Kind)
        missing = sum(int(row["without_copy"] or 0) for row in self.topics)
        text = f"{equal} records are equal, {found} differences"
        if others := sum(not row["compared"] for row in self.topics):
            text += f", {others} topics not compared"
        if missing:
            text += f", {missing} partitions without a remote partition"
        return f"{text}; {behind} records are not copied yet." if behind else f"{text}."


def verification_report(
    plan: VerificationPlan, results: Sequence[PartResult], most: int
) -> VerificationReport:
    """Puts the results of all parts together."""
    found, failures, is_unreachable = _by_partition(plan, results, most)
    loose = {part.where for part in plan.parts if part.finds_altered_only}
    loose |= {plan.parts[each.part].where for each in results if each.result is None}
    partitions = [
        _row(where, result, is_compared=where not in loose and _compares_records(result))
        for where, result in sorted(found.items())
    ]
    partitions += [_row(where, ComparisonResult(), without_copy=1) for where in plan.without_copy]
    shown = [
        *_differences({where: each.differences for where, each in found.items()}),
        *_differences(_not_confirmed(plan, results), is_confirmed=False),
    ]
    return VerificationReport(
        topics=[_sum(topic, partitions) for topic in plan.topics],
        partitions=partitions,
        differences=shown[:most],
        failures=failures,
        is_unreachable=is_unreachable,
        differs=any(row["differs"] for row in partitions),
    )


def _by_partition(
    plan: VerificationPlan, results: Iterable[PartResult], most: int
) -> tuple[dict[TopicPartition, ComparisonResult], list[str], bool]:
    found: dict[TopicPartition, ComparisonResult] = {}
    failures: list[str] = []
    is_unreachable = False
    for each in sorted(results, key=lambda result: result.part):
        where = plan.parts[each.part].where
        whole = found.setdefault(where, ComparisonResult(most=most))
        if each.result is None:
            failures.append(each.failure)
            is_unreachable |= each.is_unreachable
        else:
            whole.add(each.result)
    return found, list(dict.fromkeys(failures)), is_unreachable


def _not_confirmed(
    plan: VerificationPlan, results: Iterable[PartResult]
) -> Mapping[TopicPartition, Sequence[Difference]]:
    """By partition: one that is compared by its keys has one part."""
    return {plan.parts[each.part].where: each.not_confirmed for each in results}


def _compares_records(result: ComparisonResult) -> bool:
    """Whether retention has left any record on both sides, if records were read."""
    return result.equal > 0 or result.not_comparable == 0


def _row(
    where: TopicPartition,
    result: ComparisonResult,
    *,
    without_copy: int = 0,
    is_compared: bool = True,
) -> Row:
    return {
        "topic": where.topic,
        "partition": where.partition,
        "source": result.source_records,
        "remote": result.remote_records,
        "equal": result.equal,
        **{kind.value: result.counts[kind] for kind in Kind},
        "behind": result.behind,
        "not_comparable": result.not_comparable,
        "compacted": result.compacted,
        "without_copy": without_copy,
        "compared": is_compared,
        "differs": result.differs or bool(without_copy),
    }


def _sum(topic: TopicName, partitions: Iterable[Row]) -> Row:
    rows = [row for row in partitions if row["topic"] == topic]
    names = _row(TopicPartition(topic, 0), ComparisonResult()).keys() - _NOT_SUMMED
    sums = {name: sum(int(row[name] or 0) for row in rows) for name in sorted(names)}
    compared = all(row["compared"] for row in rows)
    differs = any(row["differs"] for row in rows)
    return {
        "topic": topic,
        "partitions": len(rows),
        **sums,
        "compared": compared,
        "differs": differs,
    }


def _differences(
    found: Mapping[TopicPartition, Sequence[Difference]], *, is_confirmed: bool = True
) -> Iterator[Row]:
    """Rows in the order of partitions and offsets."""
    for where, differences in sorted(found.items()):
        for each in sorted(differences, key=_place):
            yield {**_difference(where, each), "confirmed": is_confirmed}


def _difference(where: TopicPartition, found: Difference) -> Row:
    return {
        "topic": where.topic,
        "partition": where.partition,
        "kind": found.kind.value,
        "source_offset": found.source_offset,
        "remote_offset": found.remote_offset,
        "fields": ",".join(found.fields) or None,
        "source_digest": found.digests[0],
        "remote_digest": found.digests[1],
    }


def _place(found: Difference) -> int:
    return (found.remote_offset if found.source_offset is None else found.source_offset) or 0
