"""
Keys that Java's MirrorMaker 4.3 does not know: ours, and spellings of KIP-382 and old releases.

Java ignores them in a file, and so does everything that is computed as Java computes it; they take
effect when a flow's settings are made (``flow_config``). The spelling of Java 4.3 on the same level
wins.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from functools import partial
from typing import Final

from mm2.config.keys.definition import Definition, Key
from mm2.config.keys.effects import BUNDLES, CHECKPOINTS, NEW_ONLY, SHARES, TASKS, TOPICS
from mm2.config.keys.key_types import Type, Value, equals
from mm2.config.keys.value_checks import between, items, one_of
from mm2.core.positions.start_rules import RULES_KEY, parse_rules
from mm2.errors import ConfigError

SPARK_PREFIX: Final = "spark."
"""Top-level keys beginning so are passed to the Spark session as they are."""


class Treatment(enum.Enum):
    """What becomes of a spelling that Java 4.3 does not know."""

    ALIAS = "alias"
    HONOURED = "honoured"
    IGNORED = "no effect"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyAlias:
    """
    One deprecated key or key prefix.

    Attributes:
        name: the key; a prefix if it ends in a dot.
        stands_for: the key of 4.3 (or prefix) that it sets, if it is an alias.
    """

    name: str
    treatment: Treatment
    stands_for: str | None
    doc: str


def _alias(name: str, stands_for: str, doc: str = "") -> KeyAlias:
    return KeyAlias(
        name=name,
        treatment=Treatment.ALIAS,
        stands_for=stands_for,
        doc=doc or f"Write {stands_for} instead.",
    )


REMOTE_ADMIN: Final = "remote.admin."
ALIASES: Final = (
    _alias("refresh.topics", "refresh.topics.enabled"),
    _alias("refresh.groups", "refresh.groups.enabled"),
    _alias("sync.topic.configs", "sync.topic.configs.enabled"),
    _alias("sync.topic.acls", "sync.topic.acls.enabled"),
    _alias(
        "emit.heartbeats",
        "emit.heartbeats.enabled",
        "Does not decide whether the flow exists, as the new name does.",
    ),
    _alias("emit.checkpoints", "emit.checkpoints.enabled"),
    _alias("topics.whitelist", "topics"),
    _alias("topics.blacklist", "topics.exclude"),
    _alias("groups.whitelist", "groups"),
    _alias("groups.blacklist", "groups.exclude"),
    _alias("config.properties.blacklist", "config.properties.exclude"),
    _alias(
        REMOTE_ADMIN,
        "source.admin.",
        "KIP-382 calls the source cluster remote; of a sink connector it is the target, and read"
        " as target.admin.",
    ),
)
HANDLER: Final = "message.handler"
ARROW_FUNCTION: Final = "arrow.function"
SQL: Final = "transforms.sql."
"""Begins the keys of SQL expressions; behind it is the column, or ``where``."""

DEAD_LETTER_TOPIC: Final = "errors.deadletterqueue.topic.name"
RENAME_TOPICS: Final = "rename.topics"
READAHEAD: Final = "readahead.queue.capacity"
SPELLINGS: Final = (
    *ALIASES,
    KeyAlias(
        name=RENAME_TOPICS,
        treatment=Treatment.HONOURED,
        stands_for="replication.policy.class",
        doc="false stands for IdentityReplicationPolicy, unless replication.policy.class is given.",
    ),
    KeyAlias(
        name=READAHEAD,
        treatment=Treatment.IGNORED,
        stands_for=None,
        doc="How far reading runs ahead of writing is bounded in bytes, not in records.",
    ),
)


def _wrong_start_rules(value: Value) -> str | None:
    try:
        _start_rules(value)
    except ConfigError as error:
        return error.message
    return None


def _start_rules(value: Value) -> object:
    assert isinstance(value, tuple)  # noqa: S101 - only a list key has this check
    return parse_rules(value)


def _stripped(value: Value) -> str | None:
    return str(value).strip() or None


_source: Final = partial(Key, definitions=frozenset({Definition.OWN, Definition.SOURCE}))
_checkpoint: Final = partial(Key, definitions=frozenset({Definition.OWN, Definition.CHECKPOINT}))
_heartbeat: Final = partial(Key, definitions=frozenset({Definition.OWN, Definition.HEARTBEAT}))
_RETENTION: Final = (
    "Retention in ms that the topic is created with (KIP-382); left out, the broker's default."
)

# fmt: off
OWN_KEYS: Final = (
    _checkpoint("checkpoints.topic.retention.ms", Type.LONG, None, _RETENTION,
        field="checkpoints_retention", effects=NEW_ONLY),
    _heartbeat("heartbeats.topic.retention.ms", Type.LONG, None, _RETENTION,
        field="heartbeats_retention", effects=NEW_ONLY),
    _source("offset.syncs.topic.retention.ms", Type.LONG, None, _RETENTION,
        field="offset_syncs_retention", effects=NEW_ONLY),
    _checkpoint("reverse.checkpointing.enabled", Type.BOOLEAN, "true",
        "Whether checkpoints of B->A also say where a group that reads A's topics in their copies"
        " on B goes on in the originals on A. So it can return. Only if A->B is enabled in"
        " the same file and emits offset syncs, and then also while B->A itself is not enabled.",
        field="reverse_checkpoints",
        effects=CHECKPOINTS),
    _source("use.defaults.from", Type.STRING, "target",
        "Whose default values count for topic settings: target or source. Java passes over it at"
        " top level (C426).", effects=TOPICS),
    _source("replication.factor.default.from", Type.STRING, "target",
        "Whose replication factor a new topic gets with replication.factor = -1: target (the"
        " brokers' default, as in Java) or source (that of the source topic).",
        check=one_of("target", "source"), field="replication_factor_of_source",
        convert=equals("source"), effects=TOPICS),
    _source("sync.topic.acls.prefixed.enabled", Type.BOOLEAN, "false",
        "Whether rules for topics that begin with a prefix, or for all (*), are copied too.",
        field="acls_prefixed", effects=TOPICS),
    _source("sync.topic.acls.same.name", Type.STRING, "read",
        "Which rules are copied where the copy keeps its topic's name"
        " (IdentityReplicationPolicy): read (READ and DESCRIBE of single topics) or all. With all,"
        " they are what other copies get, and Java copies: also ALTER, DELETE and ALTER_CONFIGS."
        " With sync.topic.acls.prefixed.enabled these are also rules of many topics, which then"
        " hold for the target's own topics too.", check=one_of("read", "all"),
        field="acls_same_name_all", convert=equals("all"), effects=TOPICS),
    _source("sync.topic.acls.delete.enabled", Type.BOOLEAN, "false",
        "Whether a copied rule is deleted on the target when it is gone from the source.",
        field="acls_deleted", effects=TOPICS),
    _source(RULES_KEY, Type.LIST, "",
        "Where partitions without a position begin, the first that holds: topic=where or"
        " topic:partition=where. Here topic is a regular expression, and where is earliest, latest,"
        " an offset, a time (2026-11-21T09:30:00Z) or by_duration:PT1H. Others begin where"
        " auto.offset.reset of the source's consumer says.", check=_wrong_start_rules,
        field="starts", convert=_start_rules, effects=BUNDLES),
    _source("emit.offset-runs.enabled", Type.BOOLEAN, "true",
        "Whether exact runs are written beside the offset syncs, so that offsets of groups are"
        " translated exactly. Off where emit.offset-syncs.enabled is false.",
        field="emit_offset_runs", effects=BUNDLES),
    _source("source.topic.deleted.policy", Type.STRING, "keep",
        "What becomes of a remote topic when its source topic was deleted: keep or delete.",
        check=one_of("keep", "delete"), field="deletes_topics", convert=equals("delete"),
        effects=TOPICS),
    _source("flow.byte.rate.limit", Type.SIZE, "-1",
        "Most bytes that a flow reads from its source in a second, as stored there; its tasks"
        " share them. -1 is no limit. Can be changed while the flow runs.",
        check=lambda value: "write -1 for no limit" if value == 0 else None,
        field="byte_rate_limit", effects=TASKS),
    _source("source.gap.policy", Type.STRING, "report",
        "What follows when data are missing from the source: report (say so and go on) or fail"
        " (that partition stops, the others go on).", check=one_of("report", "fail"),
        field="fail_on_source_gap", convert=equals("fail"), effects=BUNDLES),
    _source("source.hanging.transaction.timeout.ms", Type.LONG, "900000",
        "With isolation.level=read_committed: a transaction of the source that holds mirroring"
        " back for longer is reported, in ms. Brokers abort transactions after"
        " transaction.max.timeout.ms at the latest, by default 900000.", check=between(0),
        field="hanging_transaction", effects=BUNDLES),
    _source("target.topic.deleted.policy", Type.STRING, "recreate",
        "What follows when a remote topic was deleted under us, or the end of its log was cut"
        " off: recreate or fail. With recreate, it is created, and the source is copied again from"
        " its start, or from where the cut is. With fail, its partitions stop; the others go on.",
        check=one_of("recreate", "fail"), field="fail_on_remote_gap", convert=equals("fail"),
        effects=BUNDLES),
    _source("decompressed.batch.max.bytes", Type.SIZE, "268435456",
        "Most bytes that one batch of the source may have when it is decompressed; a task needs"
        " about three times as much memory. Only batches that cannot be copied as they are get"
        " decompressed. errors.tolerance says what becomes of a larger one.", check=between(1),
        field="most_plain", effects=BUNDLES),
    _source("assignment.strategy", Type.STRING, "load",
        "How partitions are divided among tasks: load (evenly by measured bytes per second,"
        " moving few) or round-robin (by number, as Java does).",
        check=one_of("load", "round-robin"), field="assignment_strategy", effects=SHARES),
    _source("assignment.balance.interval.seconds", Type.LONG, "60",
        "How often assignment.strategy=load looks whether the loads are even, and over how long"
        " it averages them. Partitions move after two uneven looks in a row; -1 lets none move.",
        check=lambda value: "must not be 0: write -1 to let nothing move" if value == 0 else None,
        field="assignment_balance", effects=SHARES),
    _checkpoint("checkpoints.deleted.groups.policy", Type.STRING, "keep",
        "What becomes of checkpoints of a group that is gone from the source: keep (as in Java)"
        " or tombstone. The latter takes them back, so that their topic forgets them.",
        check=one_of("keep", "tombstone"), field="tombstone_deleted_groups",
        convert=equals("tombstone"), effects=CHECKPOINTS),
    _checkpoint("emit.checkpoints.follow.commits.enabled", Type.BOOLEAN, "false",
        "Whether what groups commit on the source is followed as it comes, for checkpoints within"
        " a second and not only after emit.checkpoints.interval.seconds. It takes READ on the"
        " source's __consumer_offsets, and reads all that is written there.",
        field="follow_commits", effects=CHECKPOINTS),
    _source(HANDLER, Type.CLASS, "",
        "Your code for the flow's records: a class with handle(record), which returns a list of"
        " records, or such a function. Write package.module:name; it may be asynchronous (KIP-3)."
        " Copies are made of what it returns.", own_class=True, field="handler",
        convert=_stripped, effects=BUNDLES),
    _source("message.handler.args", Type.STRING, "",
        "What the init method of message.handler is called with.", field="handler_args",
        effects=BUNDLES),
    _source("message.handler.topics", Type.LIST, ".*",
        "Regular expressions of the source's topics whose records go through message.handler;"
        " all others are copied as bytes.", check=items(), field="handler_topics",
        effects=BUNDLES),
    _source(ARROW_FUNCTION, Type.CLASS, "",
        "Your code for many records at a time: a function of a pyarrow.RecordBatch"
        " that returns one, or a class with such a handle(batch). Write"
        " package.module:name. A flow has this or message.handler.", own_class=True,
        field="function", convert=_stripped, effects=BUNDLES),
    _source("arrow.function.args", Type.STRING, "",
        "What the init method of arrow.function is called with.", field="function_args",
        effects=BUNDLES),
    _source("arrow.function.topics", Type.LIST, ".*",
        "Regular expressions of the source's topics whose records go through arrow.function;"
        " all others are copied as bytes.", check=items(), field="function_topics",
        effects=BUNDLES),
    _source("transforms.sql.where", Type.STRING, "",
        "Condition in Spark's SQL on the columns of a record: key, value, headers, timestamp,"
        " topic, partition and offset. Records for which it is not true are left out.",
        field="sql_where", convert=_stripped, effects=BUNDLES),
    _source("transforms.sql.key", Type.STRING, "",
        "Expression in Spark's SQL for the key of the copy, a STRING or BINARY. If empty, it is the"
        " record's. Both key and value are BINARY; CAST(value AS STRING) makes a text of it.",
        field="sql_key", convert=_stripped, effects=BUNDLES),
    _source("transforms.sql.value", Type.STRING, "",
        "Expression for the value of the copy, a STRING or BINARY; empty: the record's.",
        field="sql_value", convert=_stripped, effects=BUNDLES),
    _source("transforms.sql.headers", Type.STRING, "",
        "Expression for the headers of the copy, ARRAY<STRUCT<key: STRING, value: BINARY>>;"
        " empty: the record's.", field="sql_headers", convert=_stripped, effects=BUNDLES),
    _source("transforms.sql.timestamp", Type.STRING, "",
        "Expression for the timestamp of the copy, a TIMESTAMP; NULL is none; empty: the"
        " record's.", field="sql_timestamp", convert=_stripped, effects=BUNDLES),
    _source("transforms.sql.topic", Type.STRING, "",
        "Expression for the topic on the target that the copy goes to, a STRING; empty: the remote"
        " topic.", field="sql_topic", convert=_stripped, effects=BUNDLES),
    _source("transforms.sql.partition", Type.STRING, "",
        "Expression for the partition that the copy goes to, an INT; empty: the record's.",
        field="sql_partition", convert=_stripped, effects=BUNDLES),
    _source("transforms.sql.topics", Type.LIST, ".*",
        "Regular expressions of the source's topics whose records go through the expressions of"
        " transforms.sql; all others are copied as bytes.", check=items(), field="sql_topics",
        effects=BUNDLES),
    _source("provenance.headers.enabled", Type.BOOLEAN, "false",
        "Whether records get headers that say where they were written first (mm2.source.cluster,"
        " topic, partition, offset, timestamp, cluster.id), unless they have them. Records of the"
        " target are then not copied back to it, whatever topics are called.", field="provenance",
        effects=BUNDLES),
    _source("provenance.origins", Type.LIST, "",
        "With provenance.headers.enabled: aliases, or ids, of the clusters whose records are"
        " copied, by these headers; empty: of all but the target. So that of several ways to a"
        " cluster each record takes one.", check=items(), field="origins", effects=BUNDLES),
    _source(DEAD_LETTER_TOPIC, Type.STRING, "",
        "Topic on the target for records that errors.tolerance = all skips, created if it is"
        " missing; empty: they go to the log. Connect has it for sink connectors only.",
        field="dead_letter_topic", convert=_stripped, effects=BUNDLES),
    _source("errors.deadletterqueue.topic.replication.factor", Type.SHORT, "3",
        "Replicas of that topic when it is created; -1: as the brokers choose.",
        field="dead_letter_replication_factor", effects=NEW_ONLY),
    _source("errors.deadletterqueue.context.headers.enable", Type.BOOLEAN, "false",
        "Whether dead letters carry Connect's headers __connect.errors.*: where the record comes"
        " from, and why it was refused.", field="context_headers", effects=BUNDLES),
)
# fmt: on
"""Keys with a type and default that no definition of Java's holds."""
