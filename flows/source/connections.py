"""The clients and writers of a task, opened with its producer id."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Final

from flows.source.publish.run_publisher import BATCH_BYTES
from flows.source.send.producer_id import take_identity
from flows.source.task_lease import TaskLease
from mm2.kafka.client_settings import aiokafka_settings
from mm2.kafka.wire.identity import ProducerIdentity
from mm2.kafka.wire.wire_client import WireClient
from mm2.kafka.writer import Writer
from mm2.protocol.bundle_spec import BundleSpec

_COMPRESSION: Final = "snappy"
"""Of reports: a third of their bytes, for a microsecond a partition; any broker and node has it."""

Connect = Callable[[str, Mapping[str, object]], WireClient]
"""Makes the client of the target from its alias and settings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Connections:
    """
    The clients of one run of a bundle; made by ``open_connections``.

    Attributes:
        identity: the bundle's producer id on the target.
        writer: a producer of the target for progress.
        syncs_writer: a producer of the cluster that holds the offset-syncs topic.
    """

    source: WireClient
    target: WireClient
    identity: ProducerIdentity
    writer: Writer
    syncs_writer: Writer | None


async def open_connections(
    spec: BundleSpec, lease: TaskLease, stack: AsyncExitStack, connect: Connect
) -> Connections:
    """
    Connects to both clusters and takes over the bundle's producer id.

    ``stack`` closes them; ``connect`` makes the client of the target.

    Raises:
        Fenced: another leader has the bundle, or no node leads.
        ClusterError: a cluster cannot be reached.
    """
    source = WireClient(spec.flow.source, aiokafka_settings(spec.source))
    target = connect(spec.flow.target, aiokafka_settings(spec.target))
    writer = Writer(spec.flow.target, spec.target, compression=_COMPRESSION, turn=lease.until_valid)
    syncs_writer = _syncs_writer(spec, lease)
    for client in (source, target):
        stack.push_async_callback(client.close)
    # No task copies the bundle's partitions meanwhile: all connections open at once.
    async with asyncio.TaskGroup() as group:
        group.create_task(source.start(), name="source")
        taking = group.create_task(take_identity(spec, target), name="target")
        for each in (writer, syncs_writer):
            if each is not None:
                group.create_task(stack.enter_async_context(each), name="writer")
    return Connections(
        source=source,
        target=target,
        identity=taking.result(),
        writer=writer,
        syncs_writer=syncs_writer,
    )


def _syncs_writer(spec: BundleSpec, lease: TaskLease) -> Writer | None:
    if spec.offset_syncs is None:
        return None
    return Writer(
        spec.offset_syncs.cluster,
        spec.offset_syncs.properties,
        batch_bytes=BATCH_BYTES,
        turn=lease.until_valid,
    )
