"""What the tasks of a comparison are given, and what they return."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from mm2.core.model import SourceAndTarget, TopicName, TopicPartition
from mm2.core.verification.comparison_result import ComparisonResult, Difference
from mm2.core.verification.last_values import LastValueRules
from mm2.core.verification.ranges import ComparedRange


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedPart:
    """
    What one task compares.

    Attributes:
        range: offsets on both sides.
        last_values: rules, if only the last records of keys are compared; None: all records are.
    """

    where: TopicPartition
    remote_topic: TopicName
    range: ComparedRange
    last_values: LastValueRules | None = None

    @property
    def finds_altered_only(self) -> bool:
        """Whether any record may be missing: what is found to be equal says nothing of the rest."""
        return self.range.rules.tolerates_compaction and self.last_values is None


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonSpec:
    """
    What all tasks of a comparison are given.

    Attributes:
        source: Java's client properties for reading the source, passwords among them.
        target: the same for the target.
        source_committed: whether the flow copies committed records only.
        most_plain: bytes that may come out of one batch.
        most: differences that a part keeps.
    """

    flow: SourceAndTarget
    source: Mapping[str, str] = field(repr=False)
    target: Mapping[str, str] = field(repr=False)
    source_committed: bool
    most_plain: int
    digest_key: tuple[int, int] = field(repr=False)
    most: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PartResult:
    """
    How a part came out.

    Attributes:
        part: its place in the list of parts.
        result: what was found; None if it could not be read.
        is_unreachable: whether a cluster did not answer, or refused.
        not_confirmed: the first differences, where it could not be looked at them again.
    """

    part: int
    result: ComparisonResult | None = None
    failure: str = ""
    is_unreachable: bool = False
    not_confirmed: tuple[Difference, ...] = ()
