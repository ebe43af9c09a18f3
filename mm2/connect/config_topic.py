"""Makes the topic that holds a group's connectors, and refuses one that could lose them."""

from __future__ import annotations

from typing import Final

from mm2.core.model import TopicName
from mm2.errors import FatalError
from mm2.kafka.admin import Admin
from mm2.kafka.cleanup_policy import CLEANUP_POLICY, COMPACT, cleanup_policy

KEY: Final = "config.storage.topic"


async def prepare_config_topic(admin: Admin, name: str, *, replication_factor: int) -> None:
    """
    Creates the topic if it does not exist, and checks one that does.

    Settings that may not be described are taken to be right, as Connect does (``TopicAdmin``).

    Raises:
        FatalError: its records would go after a while, or have no order.
        ClusterError: the cluster does not answer, or refuses.
    """
    is_new = await admin.create_internal_topic(
        name,
        partitions=1,
        replication_factor=replication_factor,
        configs={CLEANUP_POLICY: COMPACT},
    )
    if is_new:
        return
    topic = TopicName(name)
    known = await admin.describe_topics([topic])
    if topic in known and known[topic].partitions != 1:
        raise FatalError(
            f"{KEY} = {name}: the topic has {known[topic].partitions} partitions, between which"
            " changes of a connector have no order. Name a topic of one partition, or one that is"
            " not there yet"
        )
    if (policy := await cleanup_policy(admin, topic)) not in {None, COMPACT}:
        raise FatalError(
            f"{KEY} = {name}: the topic has {CLEANUP_POLICY} = {policy}, so that connectors would"
            f" be gone after a while. Set {CLEANUP_POLICY} = compact, or name a topic that is not"
            " there yet"
        )
