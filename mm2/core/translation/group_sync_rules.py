"""
Which of two commits of a group is the later one: that of a flow's source, or that of its target.

A flow that syncs group offsets writes into groups of its target, and so does the opposite flow at
the source. No consumer has read up to such an offset. Whoever syncs a group further has to
distinguish it from what a member or a person has committed; and of two such commits, the later one
counts. So each checkpoint notes what stood on the target when it was made, and how that came about
(ADR 19).

Pure: nothing here knows a clock. Later is what changed after it was read.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Final, NamedTuple, Protocol

NOTHING: Final = -1
"""Stands for a group that has committed nothing."""

_MOST: Final = 8
"""Offsets that may have been given and not been seen yet: more than attempts that overlap."""


_CONFIRMED: Final = "settled"
"""As headers of checkpoints have it."""


class Order(StrEnum):
    """What a group's offset on the target is to the commit on the source."""

    GIVEN = "given"
    """A flow put it there, or nothing stands there: no member has read."""

    EARLIER = "earlier"
    """A member or a person committed it, before the source's commit."""

    UNKNOWN = "unknown"
    """It stood there when the group was first seen."""

    UNSURE = "unsure"
    """A member or a person committed it, at about the time of the source's commit."""

    LATER = "later"
    """A member or a person committed it, after the source's commit."""


class TargetCommit(NamedTuple):
    """
    What stood on the target, as far as that was read when a checkpoint was made, or since.

    Attributes:
        order: what it is to the commit on the source.
        offsets: any of these may stand there; more than one only of those that were given.
        is_confirmed: whether the source was read again after that: what it commits from now on
            is later.
    """

    order: Order
    offsets: tuple[int, ...]
    is_confirmed: bool = False

    def encode(self) -> bytes:
        """The value of a header: ``given 40 -1``, ``later 50 settled``."""
        confirmed = [_CONFIRMED] if self.is_confirmed else []
        return " ".join([self.order, *map(str, self.offsets), *confirmed]).encode()

    @classmethod
    def decode(cls, data: bytes | None) -> TargetCommit | None:
        """Reads what ``encode`` wrote; None for anything else."""
        try:
            order, *rest = (data or b"").decode("ascii").split()
            offsets = tuple(int(each) for each in rest if each != _CONFIRMED)
            return cls(Order(order), offsets, _CONFIRMED in rest)
        except ValueError:
            return None


class GroupCheckpoint(Protocol):
    """A checkpoint, as far as this goes."""

    @property
    def upstream_offset(self) -> int:
        """What the group committed on the source."""

    @property
    def downstream_offset(self) -> int:
        """What that is on the target."""

    @property
    def target_commit(self) -> TargetCommit | None:
        """What stood there; None if it was not read, as by Java's MirrorMaker."""


def order_of(last: GroupCheckpoint, current: int | None) -> Order:
    """
    What a group's offset on the target is to the source's commit.

    Args:
        current: the offset; None for nothing.
    """
    if current is None:
        return Order.GIVEN
    is_there = current == last.downstream_offset
    if last.target_commit is None:
        return Order.GIVEN if is_there else Order.UNKNOWN
    if current in last.target_commit.offsets:
        return last.target_commit.order
    if is_there and last.target_commit.order in (Order.GIVEN, Order.EARLIER, Order.UNKNOWN):
        return Order.GIVEN
    return Order.LATER


def may_be_given(last: GroupCheckpoint, current: int | None) -> bool:
    """
    Whether a sync may put a group to its last checkpoint.

    Forward as Java does (C301), unless what stands there was committed later; back only where
    no member has read since a flow put it there, which Java does not do (C307).
    """
    order = order_of(last, current)
    if current is None or order is Order.GIVEN:
        return current != last.downstream_offset
    return order in (Order.EARLIER, Order.UNKNOWN) and current < last.downstream_offset


def new_target_commit(
    last: GroupCheckpoint | None, upstream: int, current: int | None, hint: Order | None = None
) -> TargetCommit:
    """
    What a new checkpoint notes.

    Args:
        last: the one before it; None if there is none.
        upstream: what the group has committed on the source by itself.
        current: what stands on the target; read after ``upstream``.
        hint: what the opposite flow's checkpoint has about both, see ``inverted``.
    """
    if last is None:
        order = Order.GIVEN if current is None else hint or Order.UNKNOWN
        return TargetCommit(order, (_number(current),))
    order = order_of(last, current)
    if order is Order.GIVEN:
        before = () if last.target_commit is None else last.target_commit.offsets
        return TargetCommit(order, _some((_number(current), last.downstream_offset, *before)))
    if upstream != last.upstream_offset:
        order = _after_another_commit(last, _number(current), hint)
    is_known = last.target_commit is not None and current in last.target_commit.offsets
    return TargetCommit(order, (_number(current),), is_confirmed=is_known)


def seen(last: GroupCheckpoint, current: int | None) -> TargetCommit | None:
    """What reading the target again adds to what a checkpoint notes; None: nothing."""
    if last.target_commit is None or current is None or current in last.target_commit.offsets:
        return None
    return TargetCommit(order_of(last, current), (current,))


def confirmed(target_commit: TargetCommit | None) -> TargetCommit | None:
    """What is known once the source has been read again, and has not committed meanwhile."""
    return None if target_commit is None else target_commit._replace(is_confirmed=True)


def is_echo(offset: int, opposite: GroupCheckpoint | None, last: GroupCheckpoint | None) -> bool:
    """
    Whether the opposite flow put an offset where it stands now on the source.

    Args:
        opposite: the group's last checkpoint of the opposite flow for that partition.
        last: of the flow itself, if it has made one.
    """
    if opposite is None or opposite.target_commit is None:
        return False
    if last is not None and _came_after(last, opposite):
        return False
    return order_of(opposite, offset) is Order.GIVEN


def inverted(opposite: GroupCheckpoint | None, upstream: int, current: int | None) -> Order | None:
    """
    What the opposite flow's last checkpoint has about commits on both sides; None: nothing.

    A group that stands elsewhere than that flow last noted has committed since: later than what
    that flow had seen before, and at an unknown time compared with all else.

    Args:
        opposite: the group's last checkpoint of the opposite flow.
        upstream: what the group has committed on the flow's source, where ``opposite`` leads to.
        current: what it has on the flow's target.
    """
    if opposite is None or opposite.target_commit is None or current is None:
        return None
    if opposite.upstream_offset != current:
        is_known = upstream in opposite.target_commit.offsets
        return Order.LATER if is_known and opposite.target_commit.is_confirmed else Order.UNSURE
    return _INVERSE.get(order_of(opposite, upstream))


def compared(
    last: GroupCheckpoint | None,
    opposite: GroupCheckpoint | None,
    upstream: int,
    current: int | None,
) -> tuple[Order, bool]:
    """
    Which of a group's commits is the later one, when it is to move.

    Args:
        last: the last checkpoint of the flow that it moves along; None if there is none.
        opposite: the last one of the opposite flow.
        upstream: what the group has committed on the origin.
        current: what it has on the destination.

    Returns:
        What the latter is to the former, and whether the former was only given to the group.
    """
    if is_echo(upstream, opposite, last):
        return (Order.GIVEN if current is None else Order.LATER), True
    hint = inverted(opposite, upstream, current)
    order = new_target_commit(last, upstream, current, hint).order
    return (hint or order if order in _OPEN else order), False


_OPEN: Final = (Order.UNKNOWN, Order.UNSURE)
_INVERSE: Final = {
    Order.LATER: Order.EARLIER,
    Order.EARLIER: Order.LATER,
    Order.UNSURE: Order.UNSURE,
}


def _after_another_commit(last: GroupCheckpoint, current: int, hint: Order | None) -> Order:
    """The source has committed since; whatever had been read before is older than that."""
    target_commit = last.target_commit
    if (
        target_commit is not None
        and current in target_commit.offsets
        and target_commit.is_confirmed
    ):
        return Order.EARLIER
    return hint or (Order.UNKNOWN if last.target_commit is None else Order.UNSURE)


def _came_after(last: GroupCheckpoint, opposite: GroupCheckpoint) -> bool:
    """Whether the flow has seen a commit of the source after what the opposite flow noted."""
    target_commit = last.target_commit
    return (
        target_commit is not None
        and target_commit.order is Order.EARLIER
        and opposite.upstream_offset in target_commit.offsets
    )


def _number(offset: int | None) -> int:
    return NOTHING if offset is None else offset


def _some(offsets: Iterable[int]) -> tuple[int, ...]:
    return tuple(dict.fromkeys(offsets))[:_MOST]
