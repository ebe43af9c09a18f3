"""
What was seen of the copies: what is missing, repeated, out of order, and for how long nothing came.

The records of each partition carry the numbers 0, 1, 2, ... in this order.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True, kw_only=True)
class Seen:
    """
    One partition's copy, as a reader has come to know it.

    Within a copy only two steps are in order: the next number, or one that was there before, as
    when a task goes on from where its predecessor had last committed. A step over numbers is not,
    even if they were seen before: some reader has then read them in another order.

    Attributes:
        next: all numbers below it have been seen, but for those that are missing.
        missing: numbers that were stepped over and have not been seen since.
        repeated: how many were seen once more.
        disordered: how many steps were out of order.
        newest_s: when something new was seen last.
        gap_s: the longest time between two new ones, since ``measure``.
        delay_s: the greatest age at which one was seen first, since ``measure``.
    """

    next: int = 0
    missing: set[int] = field(default_factory=set)
    repeated: int = 0
    disordered: int = 0
    newest_s: float = 0.0
    gap_s: float = 0.0
    delay_s: float = 0.0
    _last: int = -1

    def see(self, number: int, now_s: float, age_s: float) -> None:
        """
        Takes in the next record of the copy.

        Args:
            number: that it carries.
            now_s: when it was seen.
            age_s: since it was written to the source.
        """
        if number > self._last + 1:
            self.disordered += 1
            self.missing.update(range(self.next, number))
        if number >= self.next:
            self.next = number + 1
            self._arrived(now_s, age_s)
        elif number in self.missing:
            self.missing.discard(number)
            self._arrived(now_s, age_s)
        else:
            self.repeated += 1
        self._last = number

    def measure(self, now_s: float) -> None:
        """Forgets how long gaps and delays were until now."""
        self.newest_s = max(self.newest_s, now_s)
        self.gap_s = self.delay_s = 0.0

    def _arrived(self, now_s: float, age_s: float) -> None:
        self.gap_s = max(self.gap_s, now_s - self.newest_s)
        self.delay_s = max(self.delay_s, age_s)
        self.newest_s = now_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Toll:
    """
    What some partitions have suffered, summed up or at worst.

    Attributes:
        missing: numbers.
        repeated: records.
        disordered: steps.
        gap_s: the longest time without anything new in a partition.
        delay_s: the greatest age of something new.
    """

    missing: int = 0
    repeated: int = 0
    disordered: int = 0
    gap_s: float = 0.0
    delay_s: float = 0.0

    def since(self, earlier: Toll) -> Toll:
        """What has come in addition; gap and delay stay what they are."""
        return Toll(
            missing=self.missing - earlier.missing,
            repeated=self.repeated - earlier.repeated,
            disordered=self.disordered - earlier.disordered,
            gap_s=self.gap_s,
            delay_s=self.delay_s,
        )


def toll_of(partitions: list[Seen]) -> Toll:
    """The toll of some partitions."""
    return Toll(
        missing=sum(len(each.missing) for each in partitions),
        repeated=sum(each.repeated for each in partitions),
        disordered=sum(each.disordered for each in partitions),
        gap_s=max((each.gap_s for each in partitions), default=0.0),
        delay_s=max((each.delay_s for each in partitions), default=0.0),
    )
