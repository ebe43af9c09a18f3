"""
Whether a consumer group may move to another cluster, and what that costs.

A planned move translates every offset exactly or is refused. An unplanned one, after the origin is
lost, takes the last checkpoints and names what is read again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from mm2.core.checks import Check, first_few
from mm2.core.failover.moving_group import (
    IDLE_STATES,
    MovingGroup,
    MovingPartition,
    WithoutCheckpoint,
)
from mm2.core.translation.group_sync_rules import Order


def group_checks(moving: MovingGroup, *, planned: bool) -> Iterator[Check]:
    """
    Checks one group: its state on both sides, and each of its partitions.

    With ``planned`` the origin answers, and nothing but exact offsets will do.
    """
    group = moving.group
    if moving.is_of_other_type:
        # Whether it has members is not known either: such groups are described otherwise.
        sentence = "is a share or streams group: what it commits is not ours to move"
        yield Check.no_go("type", group, sentence)
    yield _origin_state(moving, planned=planned)
    yield _destination_state(moving)
    if not moving.partitions:
        missing = "has no offsets of mirrored topics" if planned else "has no checkpoints"
        yield Check.no_go("offsets", group, missing)
    if moving.not_mirrored:
        names = first_few(map(str, moving.not_mirrored))
        yield Check.caution("offsets", group, f"also reads what is not mirrored: {names}")
    if moving.unplaced:
        yield _without_checkpoint(
            moving,
            group,
            f"has no checkpoint of {first_few(moving.unplaced)}: if it reads there, "
            "auto.offset.reset decides where it begins",
            cost="with latest, what is there already is never read",
        )
    for part in moving.partitions:
        if part.has_no_checkpoint:
            yield _guess(moving, part)
        else:
            yield from _partition_checks(group, part, planned=planned)


def _without_checkpoint(moving: MovingGroup, subject: str, sentence: str, *, cost: str) -> Check:
    if moving.without_checkpoint is WithoutCheckpoint.REFUSE:
        return Check.no_go("unplaced", subject, sentence, cost=cost)
    return Check.caution("unplaced", subject, sentence, cost=cost)


def _guess(moving: MovingGroup, part: MovingPartition) -> Check:
    count = part.end - part.start
    where, cost = "start", f"up to {count} records are read again"
    if moving.without_checkpoint is WithoutCheckpoint.LATEST:
        where, cost = "end", f"up to {count} records are never read"
    sentence = f"there is no checkpoint: the group begins at the {where} of the log"
    return _without_checkpoint(moving, f"{moving.group} {part.destination}", sentence, cost=cost)


def _origin_state(moving: MovingGroup, *, planned: bool) -> Check:
    state = moving.origin_state
    if state is None and not planned:
        return Check.caution("origin", moving.group, "not known: the origin does not answer")
    if state is None or state in IDLE_STATES:
        return Check.go("origin", moving.group, "has no members")
    return Check.no_go(
        "origin",
        moving.group,
        f"is {state} where it comes from",
        remedy="stop its consumers first",
        cost="what its members read from now on is read again",
    )


def _destination_state(moving: MovingGroup) -> Check:
    state = moving.destination_state
    if state is None or state in IDLE_STATES:
        return Check.go("destination", moving.group, "has no members")
    sentence = f"is {state} where it goes"
    remedy = "only its members can commit there; stop them first"
    return Check.no_go("destination", moving.group, sentence, remedy=remedy)


def _partition_checks(group: str, part: MovingPartition, *, planned: bool) -> Iterator[Check]:
    subject = f"{group} {part.destination}"
    if not part.exists:
        sentence = "the copy is not there yet"
        yield Check.no_go("copied", subject, sentence, remedy="does the flow run?")
        return
    if part.keeps_target_offset:
        yield _keeping(subject, part)
        return
    if part.to_copy:
        yield Check.no_go(
            "copied",
            subject,
            f"up to {part.to_copy} records that the group has read are not copied yet",
            cost=f"they are read again: up to {part.to_copy} records",
        )
    else:
        yield _translation(subject, part, planned=planned)
    if part.has_other_flows:
        yield _other_flows(subject, planned=planned)
    if part.is_known:
        yield from _log_checks(subject, part)
    if part.target_offset is not None and part.target_offset > part.new_offset:
        yield _setting_back(subject, part, part.target_offset)


def _other_flows(subject: str, *, planned: bool) -> Check:
    sentence = (
        "records of other clusters may come to this topic by flows that have no part in this: "
        "headers of provenance are on, and the file has no flow back, or one that names origins"
    )
    cost = "those that the group has not read may never be read"
    if not planned:
        return Check.caution("other-flows", subject, sentence, cost=cost)
    remedy = "if only the flow back is missing, use a file that has both, under their aliases"
    return Check.no_go("other-flows", subject, sentence, remedy=remedy, cost=cost)


_KEEPS: Final = {
    Order.LATER: "was committed later",
    Order.UNSURE: "was committed at about the same time",
    Order.UNKNOWN: "may have been committed later",
}
_IS_FURTHER: Final = {
    Order.GIVEN: "a flow synced that offset, and the group has read nothing",
    Order.EARLIER: "it had committed that before it went back",
    Order.UNSURE: "both were committed at about the same time",
    Order.UNKNOWN: "whether it has read so far there, or has gone back since, is not known",
    Order.LATER: "that was committed later",
}


def _keeping(subject: str, part: MovingPartition) -> Check:
    why = _KEEPS.get(part.order, "")
    if part.is_synced:
        why = "is where it has read: where it comes from, a flow has synced its offset"
    offsets = f"at {part.target_offset}, not at {part.mapped_offset}"
    sentence = f"the group stays there {offsets}: that {why}"
    if part.order not in (Order.UNKNOWN, Order.UNSURE):
        return Check.caution("progress", subject, sentence, cost=None)
    again = 0 if part.target_offset is None else part.mapped_offset - part.target_offset
    cost = f"up to {again} records are read again"
    if part.origin is None:
        return Check.caution("progress", subject, sentence, cost=cost)
    return Check.no_go("progress", subject, sentence, cost=cost)


def _setting_back(subject: str, part: MovingPartition, current: int) -> Check:
    further = f"the group is further there, at {current}, than {part.new_offset}"
    sentence = f"{further}: {_IS_FURTHER[part.order]}"
    again = f"up to {current - part.new_offset} records are read again"
    if not part.may_go_back:
        return Check.no_go("progress", subject, sentence, cost=again)
    cost = None if part.order is Order.GIVEN else again
    return Check.caution("progress", subject, sentence, cost=cost)


def _translation(subject: str, part: MovingPartition, *, planned: bool) -> Check:
    again = f"up to {max(0, part.end - part.new_offset)} records are read again"
    if not part.is_opposite_known:
        sentence = (
            "a flow copies this topic the other way, and what the group has read of its copies "
            "is not known: some records might never be read"
        )
        cost = f"the group begins at the start of the log: {again}"
        remedy = "does that flow run, with offset syncs and runs?"
        return Check.no_go("translation", subject, sentence, remedy=remedy, cost=cost)
    if not part.is_known:
        sentence = (
            f"offset {part.committed} cannot be translated: it is older than all that is "
            "known of the copy, or nothing is"
        )
        cost = f"the group begins at the start of the log: {again}"
        return Check.no_go("translation", subject, sentence, cost=cost)
    if part.is_exact:
        sentence = f"offset {part.committed} is exactly {part.new_offset} there"
        return Check.go("translation", subject, sentence)
    if part.read_again:
        sentence = (
            f"offset {part.committed} is {part.new_offset} there or later: flows copy this topic "
            "both ways, and the lower of both translations counts"
        )
        cost = f"up to {part.read_again} records are read again"
        return Check.caution("translation", subject, sentence, cost=cost)
    sentence = f"offset {part.committed} is {part.new_offset} there or later: not known exactly"
    if planned:
        return Check.no_go("translation", subject, sentence, cost=again)
    return Check.caution("translation", subject, sentence, cost=again)


def _log_checks(subject: str, part: MovingPartition) -> Iterator[Check]:
    assert part.translated is not None  # noqa: S101 - the caller has checked it
    offset = part.translated.offset
    if offset < part.start:
        yield Check.no_go(
            "log",
            subject,
            f"offset {offset} is gone: the log begins at {part.start}",
            cost=f"up to {part.start - offset} records are never read",
        )
    elif offset > part.end:
        yield Check.no_go(
            "log",
            subject,
            f"offset {offset} is not there, the log ends at {part.end}",
            remedy="was the topic created again?",
            cost="records may be read again, or never",
        )
