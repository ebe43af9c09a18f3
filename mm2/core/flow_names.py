"""
What a flow calls its own things on the target: topics, groups, and the connector of its positions.

Dedicated nodes name them after the source cluster, as Java's MirrorMaker does. A connector in a
Connect worker has names of its own, so that several may mirror between the same two clusters.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import Final

from mm2.core.model import SOURCE_CONNECTOR, GroupId, SourceAndTarget
from mm2.core.positions.exactly_once import MIRROR_GROUP_PREFIX, mirror_group

_LONGEST_LABEL: Final = 150
"""Topics have at most 249 characters, ours some beside the label."""

_NOT_FOR_TOPICS: Final = re.compile(r"[^a-zA-Z0-9._-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowNames:
    """
    The names that a flow uses on its target.

    Attributes:
        label: tells it from all others that a node runs.
        connector: whose positions they are in Connect's records; begins transactional ids, too.
        control_topic: leases, assignments and what operators want.
        progress_topic: what tasks report.
        positions_group: the group without members that holds positions exactly once (KIP-656).
        election_group: the group of the nodes that may lead.
    """

    label: str
    connector: str
    control_topic: str
    progress_topic: str
    positions_group: GroupId
    election_group: GroupId


def dedicated_names(flow: SourceAndTarget, *, group_id: str) -> FlowNames:
    """The names of a flow of dedicated nodes, whose ``group.id`` is Java's."""
    return FlowNames(
        label=str(flow),
        connector=SOURCE_CONNECTOR,
        control_topic=f"mm2-control.{flow.source}.internal",
        progress_topic=f"mm2-progress.{flow.source}.internal",
        positions_group=mirror_group(flow),
        election_group=GroupId(group_id),
    )


def connector_names(connector: str, *, group_id: str) -> FlowNames:
    """
    The names of one connector of a Connect worker.

    Args:
        group_id: the worker's, which keeps equal connectors of several Connect clusters apart.
    """
    part = topic_label(f"{group_id}.{connector}")
    return FlowNames(
        label=connector,
        connector=connector,
        control_topic=f"mm2-control.{part}.internal",
        progress_topic=f"mm2-progress.{part}.internal",
        positions_group=GroupId(f"{MIRROR_GROUP_PREFIX}{group_id}-{connector}"),
        election_group=GroupId(f"{group_id}-{connector}"),
    )


def topic_label(text: str) -> str:
    """
    The text as a part of topic names, where few characters may stand.

    Different texts have different labels: what cannot be kept is told apart by a digest.
    """
    kept = _NOT_FOR_TOPICS.sub("-", text)[:_LONGEST_LABEL]
    if kept == text:
        return text
    return f"{kept}-{hashlib.sha256(text.encode()).hexdigest()[:12]}"
