"""
Where a task continues: at what the target has committed, and nothing else.

Positions stand in Connect's records and, exactly once, in the offsets of the mirror's group too.
Only what is committed counts, so what an earlier task left open is waited for; it has been fenced,
and is being aborted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import structlog

from mm2.core.model import TopicName, TopicPartition
from mm2.core.positions.exactly_once import latest_positions
from mm2.core.positions.log_identity import Lineage
from mm2.core.positions.stored_positions import may_be_about, newest_records
from mm2.errors import Unavailable
from mm2.kafka.cluster_client import ClusterClient
from mm2.kafka.groups.coordinators import Coordinators
from mm2.kafka.logs.read_log import read_to_end
from mm2.kafka.wire.requests.list_offsets import LATEST
from mm2.kafka.wire.wire_client import WireClient
from mm2.protocol.bundle_spec import BundleSpec

log = structlog.get_logger()

_CHECK_EVERY_S: Final = 0.02
_SHOWN: Final = 10
_ANSWER_WITHIN_S: Final = 30.0
_STABLE_WITHIN_S: Final = 75.0
"""Longer than abandoned transactions stay open: 60 s, by Kafka's default."""


@dataclass(frozen=True, slots=True)
class Resumed:
    """
    Where one partition goes on.

    Attributes:
        offset: upstream offset of the last record that the target has.
        is_complete: whether all places that store the position agree.
        elsewhere_ms: time of its newest record in another partition of the positions topic than it
            is written to; -1 for none.
        is_contested: partitions of the positions topic have different positions.
    """

    offset: int
    lineage: Lineage
    is_complete: bool
    elsewhere_ms: int = -1
    is_contested: bool = False


async def read_positions(
    spec: BundleSpec, target: WireClient, partitions: Mapping[TopicPartition, TopicName]
) -> dict[TopicPartition, Resumed]:
    """
    Reads the stored positions of a bundle's partitions; those without one are left out.

    The target's client must track the positions topic; ``partitions`` maps to remote topics.

    Raises:
        Unavailable: exactly once, a transaction hides positions; they may be seen later.
        ClusterError: the target does not answer, or refuses.
    """
    source, count = spec.flow.source, _partitions_of(spec, target)
    await _wait_until_stable(spec, target, count)
    found = await read_to_end(
        spec.flow.target,
        spec.target,
        spec.offsets_topic,
        newest_only=True,
        accepts=may_be_about(source, spec.connector, partitions),
    )
    newest = newest_records(found, source, spec.connector, partitions=count)
    stored, lineages = newest.offsets, newest.lineages()
    group = await _group_offsets(spec, partitions)
    if contested := sorted(newest.contested & partitions.keys()):
        chosen = {str(where): stored[where] for where in contested[:_SHOWN]}
        log.warning(
            "positions.contested",
            topic=spec.offsets_topic,
            partitions=len(contested),
            chosen=chosen,
        )

    def resumed(where: TopicPartition, offset: int) -> Resumed:
        is_complete = stored.get(where) == offset and (
            spec.exactly_once is None or group.get(where) == offset + 1
        )
        return Resumed(
            offset,
            lineages.get(where, Lineage()),
            is_complete,
            newest.elsewhere_ms.get(where, -1),
            where in newest.contested,
        )

    positions = latest_positions(stored, lineages, group)
    return {where: resumed(where, at) for where, at in positions.items() if where in partitions}


async def _group_offsets(
    spec: BundleSpec, partitions: Mapping[TopicPartition, TopicName]
) -> dict[TopicPartition, int]:
    """By source partition; the group knows the remote ones."""
    if spec.exactly_once is None:
        return {}
    link = ClusterClient(spec.flow.target, spec.target)
    try:
        coordinators = Coordinators(link, _ANSWER_WITHIN_S)
        offsets = await coordinators.offsets(spec.exactly_once.group)
    finally:
        await link.close()
    remotes = {p: TopicPartition(remote, p.partition) for p, remote in partitions.items()}
    return {p: offsets[remote].offset for p, remote in remotes.items() if remote in offsets}


def _partitions_of(spec: BundleSpec, target: WireClient) -> int:
    """
    Returns how many partitions the positions topic has, whatever is configured.

    Raises:
        Unavailable: the metadata do not have it.
    """
    if count := target.partitions_of(spec.offsets_topic):
        return count
    raise Unavailable(spec.flow.target, f"no partitions of {spec.offsets_topic} are known")


async def _wait_until_stable(spec: BundleSpec, target: WireClient, count: int) -> None:
    """
    A reader of committed records would stop before the first one that is undecided.

    At least once it may: what later positions cover would be copied again.
    """
    topic = TopicName(spec.offsets_topic)
    where = [TopicPartition(topic, number) for number in range(count)]
    ends: dict[TopicPartition, int] = {}
    try:
        async with asyncio.timeout(_STABLE_WITHIN_S):
            while True:
                ends |= await target.list_offsets((w for w in where if w not in ends), LATEST)
                # A partition without a leader gives no answer, and may have positions.
                if len(ends) == len(where) and await _is_stable(target, ends):
                    return
                await asyncio.sleep(_CHECK_EVERY_S)
    except TimeoutError as error:
        log.warning("positions.unstable", topic=topic, within_s=_STABLE_WITHIN_S)
        if spec.exactly_once is not None:
            message = f"a transaction on {topic} stays open; what it hides would be copied twice"
            raise Unavailable(spec.flow.target, message) from error


async def _is_stable(target: WireClient, ends: Mapping[TopicPartition, int]) -> bool:
    stable = await target.list_offsets(ends, LATEST, read_committed=True)
    return all(stable.get(where, 0) >= end for where, end in ends.items())
