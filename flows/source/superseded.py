"""
Whether a bundle's leader still leads, from the control topic.

A task checks this before it takes its producer id from the target, because that fences the task
that has it: a node that wakes up, and restarts its tasks before it has read that it leads no more,
would interrupt those of the new leader.
"""

from __future__ import annotations

from mm2.errors import Fenced, SchemaError
from mm2.kafka.logs.read_log import read_to_end
from mm2.kafka.logs.records import Record
from mm2.protocol.bundle_spec import BundleSpec
from mm2.protocol.control_codec import ControlRecord, NewerRecord, decode_control
from mm2.protocol.control_records import Assignment, Lease


def entry_of(record: Record) -> ControlRecord | None:
    """
    The record of the control topic; of a lease of a newer release, epoch and owner.

    Raises:
        SchemaError: it cannot be understood.
    """
    try:
        return decode_control(record.key, record.value)
    except NewerRecord as error:
        if error.lease is None:
            raise
        return error.lease


def raise_if_superseded(spec: BundleSpec, entry: Lease | Assignment) -> None:
    """
    Ends the task whose leader leads no more.

    Raises:
        Fenced: a higher epoch leads the flow, or no node does.
    """
    if entry.epoch > spec.epoch:
        raise Fenced(str(spec.flow), f"epoch {entry.epoch} leads the flow now")
    if isinstance(entry, Lease) and entry.epoch == spec.epoch and entry.is_released:
        raise Fenced(str(spec.flow), f"epoch {entry.epoch} leads the flow no more")


async def check_leader(spec: BundleSpec) -> None:
    """
    Reads who leads the flow now.

    Raises:
        Fenced: not the leader that has started the bundle.
        ClusterError: the target does not answer, or refuses.
    """
    records = await read_to_end(spec.flow.target, spec.target, spec.control_topic, newest_only=True)
    for record in records:
        try:
            entry = entry_of(record)
        except SchemaError:
            # The follower of the topic logs it.
            continue
        if isinstance(entry, Lease | Assignment):
            raise_if_superseded(spec, entry)
