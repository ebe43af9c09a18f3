"""
Whether a bundle's leader still leads, as the control topic says.

A task looks before it takes its identity to the target's brokers, because that takes it away from
whoever has it: a node that wakes up, and starts its tasks again before it has read that it leads no
more, would interrupt those of the new leader.
"""

from __future__ import annotations

from mm2.errors import Fenced, SchemaError
from mm2.kafka.logs.read_log import read_to_end
from mm2.kafka.logs.records import Record
from mm2.protocol.bundle_spec import BundleSpec
from mm2.protocol.control_records import Assignment, Entry, Lease, NewerRecord, decode


def entry_of(record: Record) -> Entry | None:
    """
    What a record of the control topic says; of a lease of a newer release, whose it is.

    Raises:
        SchemaError: it cannot be understood.
    """
    try:
        return decode(record.key, record.value)
    except NewerRecord as error:
        if error.lease is None:
            raise
        return error.lease


def raise_if_superseded(spec: BundleSpec, entry: Lease | Assignment) -> None:
    """
    Ends the task whose leader leads no more.

    Raises:
        Fenced: a higher epoch leads the flow, or nobody.
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
            # Who follows the topic says so.
            continue
        if isinstance(entry, Lease | Assignment):
            raise_if_superseded(spec, entry)
