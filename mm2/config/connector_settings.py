"""What each connector of a flow is to do, typed; values that can be pickled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from mm2.config.clients import Side, client_properties
from mm2.core.model import SourceAndTarget
from mm2.core.positions.start_rules import StartRule


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectorSettings:
    """
    What the three connectors of a flow have in common.

    Attributes:
        flow: the flow.
        enabled: the flow's switch; a connector that is not enabled has no tasks.
        refusals: why Java would not create this connector (C112); one that has any must not run.
        tasks_max: most parallel tasks.
        admin_timeout: longest wait for an administrative call.
        properties: the whole configuration of the connector, resolved; policies and filters are
            built from it.
    """

    flow: SourceAndTarget
    enabled: bool
    refusals: tuple[str, ...] = ()
    tasks_max: int
    admin_timeout: timedelta
    properties: Mapping[str, str]

    @property
    def runs(self) -> bool:
        """Whether the connector is to run at all."""
        return self.enabled and not self.refusals

    def source_consumer(self, role: str | None, task: int | None = None) -> dict[str, str]:
        """Settings of a consumer of the source cluster, in Java's key names."""
        return client_properties(self.properties, "source", "consumer", role, task)

    def source_producer(self, role: str | None, task: int | None = None) -> dict[str, str]:
        """Settings of a producer into the source cluster, in Java's key names."""
        return client_properties(self.properties, "source", "producer", role, task)

    def source_admin(self, role: str | None, task: int | None = None) -> dict[str, str]:
        """Settings of an admin client of the source cluster, in Java's key names."""
        return self._admin("source", role, task)

    def target_consumer(self, role: str | None, task: int | None = None) -> dict[str, str]:
        """Settings of a consumer of the target cluster, in Java's key names."""
        return client_properties(self.properties, "target", "consumer", role, task)

    def target_producer(self, role: str | None, task: int | None = None) -> dict[str, str]:
        """Settings of a producer into the target cluster, in Java's key names."""
        return client_properties(self.properties, "target", "producer", role, task)

    def target_admin(self, role: str | None, task: int | None = None) -> dict[str, str]:
        """Settings of an admin client of the target cluster, in Java's key names."""
        return self._admin("target", role, task)

    def _admin(self, side: Side, role: str | None, task: int | None) -> dict[str, str]:
        """``admin.timeout.ms`` limits each call, unless the client has a limit of its own."""
        client = client_properties(self.properties, side, "admin", role, task)
        if "admin.timeout.ms" not in self.properties:
            return client
        limit = str(self.admin_timeout // timedelta(milliseconds=1))
        return {"default.api.timeout.ms": limit, **client}


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorSettings:
    """
    What becomes of records that cannot be mirrored (``errors.*``, KIP-298).

    Attributes:
        tolerates: whether they are skipped.
        dead_letter_topic: where they go, on the target; None writes them to the log.
        dead_letter_replication_factor: replicas of that topic.
        context_headers: whether Connect's headers are added there.
        logs: whether each is logged in any case.
        logs_messages: whether key and value are logged with it.
        retry_timeout: how long a refused record is sent again; None is for ever.
        retry_delay: after which a stopped partition tries again.
    """

    tolerates: bool
    dead_letter_topic: str | None
    dead_letter_replication_factor: int
    context_headers: bool
    logs: bool
    logs_messages: bool
    retry_timeout: timedelta | None
    retry_delay: timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceSettings(ConnectorSettings):
    """
    What MirrorSourceConnector does; None switches a periodic job off.

    Attributes:
        topics: regular expressions of topics to mirror.
        topics_exclude: regular expressions of topics not to mirror.
        refresh_topics: how often to look for new topics and partitions.
        sync_topic_configs: how often topic settings are copied.
        sync_topic_acls: how often topic ACLs are copied.
        config_properties_exclude: regular expressions of topic settings not to copy.
        use_defaults_from: whose default values count for topic settings; only "source" copies them.
        replication_factor: replicas of new remote topics; -1 is a default.
        replication_factor_of_source: whether that default is the source topic's own factor, and not
            that of the target's brokers.
        starts: where partitions without a position begin, before ``auto.offset.reset`` is asked.
        acls_prefixed: whether rules for prefixes are copied too.
        acls_same_name_all: whether copies that keep their topic's name get all rules, and not only
            those of reading.
        acls_deleted: whether copied rules go when the source's are gone.
        deletes_topics: whether remote topics go when the source's are gone.
        gaps_fail: whether a partition stops when data are missing from the source.
        hanging_transaction: how long a transaction of the source may hold mirroring back.
        remote_gaps_fail: whether a partition stops when its remote topic was deleted.
        most_plain: bytes that one batch may have when it is decompressed.
        offset_syncs_location: cluster that holds the offset-syncs topic, "source" or "target".
        offset_syncs_replication_factor: replicas of that topic.
        offset_syncs_retention: retention that it is created with; None is the broker's.
        offset_lag_max: records by which an offset sync may be behind.
        emit_offset_syncs: whether offset syncs are written.
        emit_offset_runs: whether exact runs are written beside them.
        heartbeats_replication: whether heartbeats topics are mirrored whatever the filter says.
        byte_rate_limit: bytes per second that the flow may read; negative: any.
        assignment_strategy: "load" or "round-robin".
        assignment_balance: how often measured loads are looked at; None: never.
        errors: what becomes of records that cannot be mirrored.
    """

    topics: tuple[str, ...]
    topics_exclude: tuple[str, ...]
    refresh_topics: timedelta | None
    sync_topic_configs: timedelta | None
    sync_topic_acls: timedelta | None
    config_properties_exclude: tuple[str, ...]
    use_defaults_from: str
    replication_factor: int
    replication_factor_of_source: bool
    starts: tuple[StartRule, ...]
    acls_prefixed: bool
    acls_same_name_all: bool
    acls_deleted: bool
    deletes_topics: bool
    gaps_fail: bool
    hanging_transaction: timedelta
    remote_gaps_fail: bool
    most_plain: int
    offset_syncs_location: str
    offset_syncs_replication_factor: int
    offset_syncs_retention: timedelta | None
    offset_lag_max: int
    emit_offset_syncs: bool
    emit_offset_runs: bool
    heartbeats_replication: bool
    byte_rate_limit: int
    assignment_strategy: str
    assignment_balance: timedelta | None
    errors: ErrorSettings

    def offset_syncs_producer(self, task: int | None = None) -> dict[str, str]:
        """The producer that writes offset syncs, into the cluster that holds them (C102)."""
        role = f"offset-syncs-{self.offset_syncs_location}-producer"
        at_source = self.offset_syncs_location == "source"
        return self.source_producer(role, task) if at_source else self.target_producer(role, task)

    def offset_syncs_admin(self, task: int | None = None) -> dict[str, str]:
        """The admin client of the cluster that holds the offset syncs (C103)."""
        role = f"offset-syncs-{self.offset_syncs_location}-admin"
        at_source = self.offset_syncs_location == "source"
        return self.source_admin(role, task) if at_source else self.target_admin(role, task)


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointSettings(ConnectorSettings):
    """
    What MirrorCheckpointConnector does; None switches a periodic job off.

    Attributes:
        groups: regular expressions of groups to follow.
        groups_exclude: regular expressions of groups not to follow.
        topics: regular expressions of topics whose offsets count, as for the source connector.
        topics_exclude: regular expressions of topics whose offsets do not count.
        refresh_groups: how often to look for new groups.
        emit_checkpoints: how often checkpoints are written; zero is without a pause.
        sync_group_offsets: how often offsets of idle groups are set on the target.
        checkpoints_replication_factor: replicas of the checkpoints topic.
        checkpoints_retention: retention that it is created with; None is the broker's.
        offset_syncs_location: cluster that holds the offset-syncs topic, "source" or "target".
        takes_back: whether checkpoints of groups that are deleted on the source are taken back.
        follows_commits: whether commits on the source are followed, for checkpoints at once.
        reverses: whether offsets in copies of the target's own topics are translated back.
    """

    groups: tuple[str, ...]
    groups_exclude: tuple[str, ...]
    topics: tuple[str, ...]
    topics_exclude: tuple[str, ...]
    refresh_groups: timedelta | None
    emit_checkpoints: timedelta | None
    sync_group_offsets: timedelta | None
    checkpoints_replication_factor: int
    checkpoints_retention: timedelta | None
    offset_syncs_location: str
    takes_back: bool
    follows_commits: bool
    reverses: bool

    def offset_syncs_consumer(self, task: int | None = None) -> dict[str, str]:
        """The consumer that reads offset syncs, from the cluster that holds them (C104)."""
        role = f"offset-syncs-{self.offset_syncs_location}-consumer"
        at_source = self.offset_syncs_location == "source"
        return self.source_consumer(role, task) if at_source else self.target_consumer(role, task)

    def offset_syncs_admin(self, task: int | None = None) -> dict[str, str]:
        """The admin client of the cluster that holds the offset syncs."""
        role = f"offset-syncs-{self.offset_syncs_location}-admin"
        at_source = self.offset_syncs_location == "source"
        return self.source_admin(role, task) if at_source else self.target_admin(role, task)


@dataclass(frozen=True, slots=True, kw_only=True)
class HeartbeatSettings(ConnectorSettings):
    """
    What MirrorHeartbeatConnector does, whether the flow is enabled or not (C311).

    Attributes:
        emit_heartbeats: how often heartbeats are written; zero is without a pause, None never.
        heartbeats_replication_factor: replicas of the heartbeats topic.
        heartbeats_retention: retention that it is created with; None is the broker's.
    """

    emit_heartbeats: timedelta | None
    heartbeats_replication_factor: int
    heartbeats_retention: timedelta | None

    @property
    def runs(self) -> bool:
        """Always: heartbeats do not depend on the flow being enabled, only on their own switch."""
        return not self.refusals
