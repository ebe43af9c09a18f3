"""What each connector of a flow is to do, typed; values that can be pickled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from mm2.config.clients import Side, client_properties
from mm2.core.model import SourceAndTarget
from mm2.core.positions.start_rules import StartRule
from mm2.core.transforms.provenance import Provenance


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectorSettings:
    """
    What the three connectors of a flow have in common.

    Attributes:
        refusals: why Java would not create this connector (C112); one that has any must not run.
        tasks_max: most tasks; None lets their number follow the lag (``auto``).
        properties: the whole configuration of the connector, resolved; policies and filters are
            built from it.
    """

    flow: SourceAndTarget
    enabled: bool
    refusals: tuple[str, ...] = ()
    tasks_max: int | None
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
    What becomes of records that cannot be mirrored.

    Attributes:
        tolerates: skips them; else their partitions stop.
        dead_letter_topic: where skipped records go, on the target; None writes them to the log.
        logs: logs each, in any case.
        logs_messages: logs key and value, too.
        retry_timeout: how long a refused record is sent again before it is skipped; None is for
            ever.
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
class GapSettings:
    """
    What a task does when data are missing.

    Attributes:
        fail_on_source_gap: stops a partition at a gap of the source; else the gap is reported, and
            mirroring goes on behind it.
        fail_on_remote_gap: stops a partition whose remote topic was deleted, or has lost copies;
            else it is created and filled again.
        hanging_transaction: one that is open for longer is reported.
    """

    fail_on_source_gap: bool
    fail_on_remote_gap: bool
    hanging_transaction: timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class TransformSettings:
    """
    What records become on their way.

    Attributes:
        handler: import path of the message handler; None has none.
        handler_args: what its ``init`` is called with.
        handler_topics: regular expressions of the topics of the source that go through it.
        function: import path of the Arrow function, which there is only without a handler.
        function_args: what its ``init`` is called with.
        function_topics: regular expressions of the topics of the source that go through it.
        sql_where: condition in Spark's SQL, and likewise the columns of the copy; None: as they
            are. There are such only without a handler and a function.
        sql_topics: regular expressions of the topics of the source that go through them.
        connect: keys and values of Connect's transforms, which are applied behind all of these.
        provenance: whether headers say where records were written first.
        origins: aliases or ids of the clusters whose records are copied then; empty: all but the
            target.
        clusters: aliases that such a header may name.
        replication_factor: of topics that are created for what goes elsewhere; -1: as the brokers
            choose.
        provided: keys of SQL and of arguments above that have values of providers: secrets.
    """

    handler: str | None = None
    handler_args: str = ""
    handler_topics: tuple[str, ...] = (".*",)
    function: str | None = None
    function_args: str = ""
    function_topics: tuple[str, ...] = (".*",)
    sql_where: str | None = None
    sql_key: str | None = None
    sql_value: str | None = None
    sql_headers: str | None = None
    sql_timestamp: str | None = None
    sql_topic: str | None = None
    sql_partition: str | None = None
    sql_topics: tuple[str, ...] = (".*",)
    connect: Mapping[str, str] = field(default_factory=dict)
    provenance: bool = False
    origins: tuple[str, ...] = ()
    clusters: tuple[str, ...] = ()
    replication_factor: int = -1
    provided: tuple[str, ...] = ()

    @property
    def sql(self) -> Mapping[str, str]:
        """The expressions by what they say: ``where``, or a column of the copy."""
        found = {
            "where": self.sql_where,
            "key": self.sql_key,
            "value": self.sql_value,
            "headers": self.sql_headers,
            "timestamp": self.sql_timestamp,
            "topic": self.sql_topic,
            "partition": self.sql_partition,
        }
        return {name: text for name, text in found.items() if text is not None}


UNCHANGED: Final = TransformSettings()


def provenance_of(
    flow: SourceAndTarget, settings: TransformSettings, source_id: str = "", target_id: str = ""
) -> Provenance | None:
    """
    What a flow does about headers of provenance; None: nothing.

    Args:
        source_id: of the cluster; empty if it is not known.
        target_id: likewise.
    """
    if not settings.provenance:
        return None
    if source_id == target_id:
        # Two clusters that were formatted with one id: nothing would be copied.
        source_id = target_id = ""
    clusters = {*settings.clusters, *settings.origins, flow.source, flow.target}
    return Provenance(
        flow=flow,
        clusters=clusters,
        origins=settings.origins,
        source_id=source_id,
        target_id=target_id,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceSettings(ConnectorSettings):
    """
    What MirrorSourceConnector does; each field has the meaning of the key whose row names it.

    None switches a periodic job off, and leaves a topic's retention to the broker.
    ``emit_offset_runs`` needs ``emit_offset_syncs``, too. ``replication_factor_of_source`` says of
    a factor of -1 whether it is the source topic's own, and not the default of the target's
    brokers.
    """

    refresh_topics: timedelta | None
    sync_topic_configs: timedelta | None
    sync_topic_acls: timedelta | None
    replication_factor: int
    replication_factor_of_source: bool
    starts: tuple[StartRule, ...]
    acls_prefixed: bool
    acls_same_name_all: bool
    acls_deleted: bool
    deletes_topics: bool
    most_plain: int
    offset_syncs_location: str
    offset_syncs_replication_factor: int
    offset_syncs_retention: timedelta | None
    offset_lag_max: int
    emit_offset_syncs: bool
    emit_offset_runs: bool
    heartbeats_replication: bool
    metric_names_formats: tuple[str, ...]
    byte_rate_limit: int
    assignment_strategy: str
    assignment_balance: timedelta | None
    errors: ErrorSettings
    gaps: GapSettings
    transforms: TransformSettings

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
    What MirrorCheckpointConnector does; each field has the meaning of the key whose row names it.

    None switches a periodic job off; an ``emit_checkpoints`` of zero is without a pause.
    """

    refresh_groups: timedelta | None
    emit_checkpoints: timedelta | None
    sync_group_offsets: timedelta | None
    checkpoints_replication_factor: int
    checkpoints_retention: timedelta | None
    offset_syncs_location: str
    tombstone_deleted_groups: bool
    follow_commits: bool
    reverse_checkpoints: bool
    metric_names_formats: tuple[str, ...]

    def offset_syncs_consumer(self, task: int | None = None) -> dict[str, str]:
        """The consumer that reads offset syncs, from the cluster that holds them (C104)."""
        role = f"offset-syncs-{self.offset_syncs_location}-consumer"
        at_source = self.offset_syncs_location == "source"
        return self.source_consumer(role, task) if at_source else self.target_consumer(role, task)


@dataclass(frozen=True, slots=True, kw_only=True)
class HeartbeatSettings(ConnectorSettings):
    """
    What MirrorHeartbeatConnector does, whether the flow is enabled or not (C311).

    An ``emit_heartbeats`` of zero is without a pause, None never.
    """

    emit_heartbeats: timedelta | None
    heartbeats_replication_factor: int
    heartbeats_retention: timedelta | None

    @property
    def runs(self) -> bool:
        """Always: heartbeats do not depend on the flow being enabled, only on their own switch."""
        return not self.refusals
