"""
Replication policies: what a topic of one cluster is called on another, and what a name tells.

A policy is Java's ``ReplicationPolicy``. It answers from names alone, so every node and every tool
that shares the configuration comes to the same answer.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Final

from mm2.core.model import ClusterAlias, TopicName
from mm2.core.plugin import Plugin, build

POLICY_KEY: Final = "replication.policy.class"
SEPARATOR_KEY: Final = "replication.policy.separator"
INTERNAL_SEPARATOR_KEY: Final = "replication.policy.internal.topic.separator.enabled"
SOURCE_ALIAS_KEY: Final = "source.cluster.alias"
DEFAULT_SEPARATOR: Final = "."
HEARTBEATS_TOPIC: Final = TopicName("heartbeats")


class ReplicationPolicy(Plugin, ABC):
    """
    Names remote topics and takes such names apart (Java: ``ReplicationPolicy``).

    The user's own policy extends this class, can be created without arguments, and answers the
    three abstract questions; the other answers follow from them.
    """

    @abstractmethod
    def format_remote_topic(self, source: ClusterAlias, topic: TopicName) -> TopicName:
        """Names the copy of ``topic`` of the cluster ``source``."""

    @abstractmethod
    def topic_source(self, topic: TopicName) -> ClusterAlias | None:
        """Tells from which cluster ``topic`` was copied last; None for a topic that is no copy."""

    @abstractmethod
    def upstream_topic(self, topic: TopicName) -> TopicName | None:
        """Names ``topic`` as its source cluster does; None for a topic that is no copy."""

    def original_topic(self, topic: TopicName) -> TopicName:
        """
        Names ``topic`` as the cluster does where its records were first written (C113).

        A policy that leads in a circle, which Java would follow for ever, ends the walk.
        """
        seen = {topic}
        upstream = self.upstream_topic(topic)
        while upstream is not None and upstream not in seen:
            seen.add(upstream)
            topic = upstream
            upstream = self.upstream_topic(topic)
        return topic

    def heartbeats_topic(self) -> TopicName:
        """Names the topic of heartbeats."""
        return HEARTBEATS_TOPIC

    def offset_syncs_topic(self, alias: ClusterAlias) -> TopicName:
        """Names the topic of offset syncs with the cluster ``alias``."""
        return TopicName(f"mm2-offset-syncs.{alias}.internal")

    def checkpoints_topic(self, alias: ClusterAlias) -> TopicName:
        """Names the topic of checkpoints of the cluster ``alias``."""
        return TopicName(f"{alias}.checkpoints.internal")

    def is_heartbeats_topic(self, topic: TopicName) -> bool:
        """Tells whether ``topic`` holds heartbeats, our own or copied ones."""
        return self.original_topic(topic) == self.heartbeats_topic()

    def is_checkpoints_topic(self, topic: TopicName) -> bool:
        """Tells whether ``topic`` holds checkpoints, our own or copied ones."""
        return topic.endswith(".checkpoints.internal")

    def is_mm2_internal_topic(self, topic: TopicName) -> bool:
        """Tells whether MirrorMaker keeps its own records in ``topic`` (C114)."""
        own = topic.startswith("mm2") and topic.endswith(".internal")
        return own or self.is_checkpoints_topic(topic)

    def is_internal_topic(self, topic: TopicName) -> bool:
        """Tells whether ``topic`` is nobody's data, so that it is never mirrored (C115)."""
        return self.is_mm2_internal_topic(topic) or topic.startswith(("__", "."))


class DefaultReplicationPolicy(ReplicationPolicy):
    """Puts the source's alias and a separator before the name (Java's class of that name)."""

    def __init__(self) -> None:
        self._separator = DEFAULT_SEPARATOR
        self._internal_separator_enabled = True

    def configure(self, properties: Mapping[str, str]) -> None:
        """
        Takes the separator, and whether internal topics use it too.

        Absent keys leave everything as it is; without a separator the switch is not read (C120).
        """
        if SEPARATOR_KEY in properties:
            self._separator = properties[SEPARATOR_KEY]
            switch = properties.get(INTERNAL_SEPARATOR_KEY)
            if switch is not None:
                # Java's Boolean.parseBoolean: anything but "true" is false, blanks included.
                self._internal_separator_enabled = switch.lower() == "true"

    def format_remote_topic(self, source: ClusterAlias, topic: TopicName) -> TopicName:
        """Puts the alias in front, even if it stands there already (C117)."""
        return TopicName(f"{source}{self._separator}{topic}")

    def topic_source(self, topic: TopicName) -> ClusterAlias | None:
        """
        Returns what stands before the first separator, if something stands behind it (C118).

        Java splits the name and drops empty parts from its end, so ``topic.`` and ``a..`` have no
        source, and ``.b`` has the empty one (C445).
        """
        if not self._separator:
            return ClusterAlias(topic[0]) if len(topic) > 1 else None
        source, _, rest = topic.partition(self._separator)
        return ClusterAlias(source) if rest.replace(self._separator, "") else None

    def upstream_topic(self, topic: TopicName) -> TopicName | None:
        """Returns what stands behind the alias and its separator (C119)."""
        source = self.topic_source(topic)
        if source is None:
            return None
        return TopicName(topic[len(source) + len(self._separator) :])

    def offset_syncs_topic(self, alias: ClusterAlias) -> TopicName:
        """Names the topic of offset syncs with the internal separator (C121)."""
        dot = self._internal_separator
        return TopicName(f"mm2-offset-syncs{dot}{alias}{dot}internal")

    def checkpoints_topic(self, alias: ClusterAlias) -> TopicName:
        """Names the topic of checkpoints with the internal separator (C122)."""
        dot = self._internal_separator
        return TopicName(f"{alias}{dot}checkpoints{dot}internal")

    def is_checkpoints_topic(self, topic: TopicName) -> bool:
        """Recognises checkpoints by their ending (C124)."""
        dot = self._internal_separator
        return topic.endswith(f"{dot}checkpoints{dot}internal")

    def is_mm2_internal_topic(self, topic: TopicName) -> bool:
        """Recognises ``mm2...internal`` and checkpoints, with the internal separator (C124)."""
        own = topic.startswith("mm2") and topic.endswith(f"{self._internal_separator}internal")
        return own or self.is_checkpoints_topic(topic)

    @property
    def _internal_separator(self) -> str:
        return self._separator if self._internal_separator_enabled else DEFAULT_SEPARATOR


class IdentityReplicationPolicy(DefaultReplicationPolicy):
    """
    Keeps names as they are, except those of heartbeats (Java's class of that name).

    Names alone cannot tell a copy from an original here, so cycles are not detected (C159, C418).
    """

    def __init__(self) -> None:
        super().__init__()
        self._source_alias: ClusterAlias | None = None

    def configure(self, properties: Mapping[str, str]) -> None:
        """Takes the source's alias too."""
        super().configure(properties)
        if SOURCE_ALIAS_KEY in properties:
            self._source_alias = ClusterAlias(properties[SOURCE_ALIAS_KEY])

    def format_remote_topic(self, source: ClusterAlias, topic: TopicName) -> TopicName:
        """Returns ``topic`` itself, unless it looks like heartbeats (C126)."""
        return super().format_remote_topic(source, topic) if _looks_like_heartbeat(topic) else topic

    def topic_source(self, topic: TopicName) -> ClusterAlias | None:
        """Returns the configured source for every topic but heartbeats (C126)."""
        return super().topic_source(topic) if _looks_like_heartbeat(topic) else self._source_alias

    def upstream_topic(self, topic: TopicName) -> TopicName | None:
        """Returns ``topic`` itself, unless it looks like heartbeats (C126)."""
        return super().upstream_topic(topic) if _looks_like_heartbeat(topic) else topic


class LegacyReplicationPolicy(IdentityReplicationPolicy):
    """
    Names topics as the first MirrorMaker did: not at all.

    KIP-382 promises a policy of this name and Kafka never shipped it. Heartbeats, which the first
    MirrorMaker did not have, are renamed as in the identity policy, so that they cannot run in a
    circle and MirrorClient still tells from them which clusters are upstream.
    """


POLICIES: Final[Mapping[str, type[ReplicationPolicy]]] = {
    "DefaultReplicationPolicy": DefaultReplicationPolicy,
    "IdentityReplicationPolicy": IdentityReplicationPolicy,
    "LegacyReplicationPolicy": LegacyReplicationPolicy,
}


def build_policy(properties: Mapping[str, str]) -> ReplicationPolicy:
    """
    Creates the policy that the properties name and configures it with all of them (C084).

    Raises:
        ConfigError: there is no such class, it does not extend ``ReplicationPolicy``, or fails.
    """
    kind: type[ReplicationPolicy] = ReplicationPolicy  # type: ignore[type-abstract]  # is not created
    return build(properties, key=POLICY_KEY, kind=kind, known=POLICIES)


def _looks_like_heartbeat(topic: TopicName) -> bool:
    """
    Tells heartbeats by their ending.

    Java tests the ending and not the whole name, so ``myheartbeats`` counts (C125, C128).
    """
    return topic.endswith(HEARTBEATS_TOPIC)
