"""What is told of a comparison when its parts are put together."""

from __future__ import annotations

from flows.verify.comparison_spec import ComparedPart, ComparisonSpec, PartResult
from mm2.client.plan_verification import VerificationPlan
from mm2.client.verification_report import Row, VerificationReport, verification_report
from mm2.core.model import ClusterAlias, SourceAndTarget, TopicName, TopicPartition
from mm2.core.verification.comparison_result import ComparisonResult, Difference, Kind
from mm2.core.verification.last_values import LastValueRules
from mm2.core.verification.ranges import ComparedRange
from mm2.core.verification.stream_comparison import ComparisonRules

_TOPIC, _REMOTE = TopicName("t"), TopicName("A.t")
_SPEC = ComparisonSpec(
    flow=SourceAndTarget(ClusterAlias("A"), ClusterAlias("B")),
    source={},
    target={},
    source_committed=False,
    most_plain=1,
    digest_key=(1, 2),
    most=20,
)


def _part(partition: int, rules: LastValueRules | None, *, is_compacted: bool) -> ComparedPart:
    return ComparedPart(
        where=TopicPartition(_TOPIC, partition),
        remote_topic=_REMOTE,
        range=ComparedRange(
            source=(0, 1),
            remote=(0, 1),
            rules=ComparisonRules(tolerates_compaction=is_compacted),
        ),
        last_values=rules,
    )


def _report(parts: list[ComparedPart], results: list[ComparisonResult]) -> VerificationReport:
    plan = VerificationPlan(spec=_SPEC, parts=parts, topics={_TOPIC: _REMOTE}, without_copy=[])
    found = [PartResult(part=at, result=each) for at, each in enumerate(results)]
    return verification_report(plan, found, 20)


def _compared(rows: list[Row]) -> list[object]:
    return [row["compared"] for row in rows]


def test_a_sample_of_a_large_compacted_partition_does_not_say_that_it_is_equal() -> None:
    by_key = _part(0, LastValueRules(pending_from=1), is_compacted=True)
    drawn = _part(1, None, is_compacted=True)
    report = _report([by_key, drawn], [ComparisonResult(equal=1), ComparisonResult(equal=1)])
    assert _compared(report.partitions) == [True, False]
    assert _compared(report.topics) == [False]
    assert "1 topics not compared" in report.summary


def test_a_partition_of_which_retention_has_left_nothing_in_common_was_not_compared() -> None:
    plain = _part(0, None, is_compacted=False)
    assert _compared(_report([plain], [ComparisonResult(not_comparable=5)]).partitions) == [False]
    some = ComparisonResult(equal=1, not_comparable=5)
    assert _compared(_report([plain], [some]).partitions) == [True]
    assert _compared(_report([plain], [ComparisonResult()]).partitions) == [True]


def test_a_partition_of_which_a_part_failed_is_not_said_to_be_equal() -> None:
    parts = [_part(partition, None, is_compacted=False) for partition in (0, 1, 1)]
    plan = VerificationPlan(spec=_SPEC, parts=parts, topics={_TOPIC: _REMOTE}, without_copy=[])
    equal = [PartResult(part=at, result=ComparisonResult(equal=1)) for at in (0, 1)]
    failed = PartResult(part=2, failure="t-1: 1 differences are not confirmed")
    report = verification_report(plan, [*equal, failed], 20)
    assert _compared(report.partitions) == [True, False]
    assert _compared(report.topics) == [False]
    assert report.failures == ["t-1: 1 differences are not confirmed"]
    assert not report.is_unreachable


def test_differences_that_are_not_confirmed_are_listed_behind_the_others() -> None:
    parts = [_part(partition, None, is_compacted=False) for partition in (0, 1)]
    plan = VerificationPlan(spec=_SPEC, parts=parts, topics={_TOPIC: _REMOTE}, without_copy=[])
    suspected = tuple(Difference(kind=Kind.LOST, source_offset=at) for at in (5, 3))
    failed = PartResult(part=0, failure="not confirmed", not_confirmed=suspected)
    sure = ComparisonResult(differences=[Difference(kind=Kind.LOST, source_offset=9)])
    report = verification_report(plan, [failed, PartResult(part=1, result=sure)], 2)
    listed = [
        (row["partition"], row["source_offset"], row["confirmed"]) for row in report.differences
    ]
    assert listed == [(1, 9, True), (0, 3, False)]
    assert not report.differs
