"""The keys of the three connectors beside the security keys: ``Mirror*Config``, and Connect's."""

from __future__ import annotations

from typing import Final

from mm2.config.keys.definition import Definition, Key, Type, harmless, items, one_of, refused
from mm2.config.keys.keys_connect import CONNECT_KEYS
from mm2.config.keys.keys_connect import connector_key as _key

_S: Final = frozenset({Definition.SOURCE})
_C: Final = frozenset({Definition.CHECKPOINT})
_H: Final = frozenset({Definition.HEARTBEAT})
_SC: Final = _S | _C
_ALL: Final = _SC | _H
_MIRROR: Final = "org.apache.kafka.connect.mirror."


def _switch(definitions: frozenset[Definition], name: str, default: str, doc: str) -> Key:
    return _key(definitions, name, Type.BOOLEAN, default, "LOW", doc)


def _interval(definitions: frozenset[Definition], name: str, seconds: str, doc: str) -> Key:
    return _key(definitions, f"{name}.interval.seconds", Type.LONG, seconds, "LOW", doc)


_FLOW: Final = (
    _switch(
        _ALL, "enabled", "true", "Whether the flow runs. In a properties file, absence means false."
    ),
    _key(
        _ALL,
        "source.cluster.alias",
        Type.STRING,
        None,
        "HIGH",
        "Alias of the cluster to copy from; filled in.",
        required=True,
    ),
    _key(
        _ALL,
        "target.cluster.alias",
        Type.STRING,
        "target",
        "HIGH",
        "Alias of the cluster to copy to; filled in.",
    ),
    _key(
        _ALL,
        "admin.timeout.ms",
        Type.LONG,
        "60000",
        "LOW",
        "Longest wait for an administrative call, in ms, where default.api.timeout.ms of an"
        " admin client is not set.",
    ),
    _key(
        _ALL,
        "replication.policy.class",
        Type.CLASS,
        _MIRROR + "DefaultReplicationPolicy",
        "LOW",
        "How remote topics are named: Default, Identity or Legacy policy, or a Python "
        "class of yours.",
    ),
    _key(
        _ALL,
        "replication.policy.separator",
        Type.STRING,
        ".",
        "LOW",
        "Stands between alias and topic.",
    ),
    _switch(
        _ALL,
        "replication.policy.internal.topic.separator.enabled",
        "true",
        "Whether internal topics are named with the separator too.",
    ),
    refused(
        _key(
            _ALL,
            "forwarding.admin.class",
            Type.CLASS,
            "org.apache.kafka.clients.admin.ForwardingAdmin",
            "LOW",
            "Java class through which every administrative call goes.",
        ),
        "mm2 calls the clusters itself, and cannot load Java classes. Remove the key, or run the"
        " flow in Kafka's own MirrorMaker",
    ),
    harmless(
        _key(
            _ALL,
            "metric.reporters",
            Type.LIST,
            "org.apache.kafka.common.metrics.JmxReporter",
            "LOW",
            "Java classes to hand metrics to.",
            check=items(),
        ),
        "mm2 cannot load Java classes; mm2 status, /metrics and the progress topic show figures",
    ),
)

_SOURCE: Final = (
    _key(
        _S,
        "topics",
        Type.LIST,
        ".*",
        "HIGH",
        "Regular expressions of topics to mirror.",
        check=items(),
    ),
    _key(
        _S,
        "topics.exclude",
        Type.LIST,
        r"mm2.*\.internal,.*\.replica,__.*",
        "HIGH",
        "Regular expressions of topics not to mirror; they win over topics.",
        check=items(),
    ),
    _key(
        _S,
        "config.properties.exclude",
        Type.LIST,
        "follower.replication.throttled.replicas,leader.replication.throttled.replicas,"
        "message.timestamp.difference.max.ms,log.message.timestamp.before.max.ms,"
        "log.message.timestamp.after.max.ms,message.timestamp.type,unclean.leader.election.enable,"
        "min.insync.replicas",
        "HIGH",
        "Regular expressions of topic settings not to copy; replaces the default list.",
        check=items(),
    ),
    _key(
        _SC,
        "topic.filter.class",
        Type.CLASS,
        _MIRROR + "DefaultTopicFilter",
        "LOW",
        "Class that decides which topics are mirrored.",
    ),
    _key(
        _S,
        "config.property.filter.class",
        Type.CLASS,
        _MIRROR + "DefaultConfigPropertyFilter",
        "LOW",
        "Class that decides which topic settings are copied.",
    ),
    harmless(
        _key(
            _SC,
            "consumer.poll.timeout.ms",
            Type.LONG,
            "1000",
            "LOW",
            "Longest wait of one poll, in ms.",
        ),
        "mm2 waits for nothing but answers; fetch.max.wait.ms says how long a broker may take",
    ),
    _switch(_S, "refresh.topics.enabled", "true", "Whether to look for new topics and partitions."),
    _interval(
        _S, "refresh.topics", "600", "How often to look for new topics and partitions, in s."
    ),
    _switch(_S, "sync.topic.configs.enabled", "true", "Whether topic settings are copied."),
    _interval(_S, "sync.topic.configs", "600", "How often topic settings are copied, in s."),
    _switch(_S, "sync.topic.acls.enabled", "true", "Whether topic ACLs are copied."),
    _interval(_S, "sync.topic.acls", "600", "How often topic ACLs are copied, in s."),
    _key(
        _S,
        "replication.factor",
        Type.INT,
        "2",
        "LOW",
        "Replicas of the topics that mirroring creates.",
    ),
    _key(
        _S,
        "offset-syncs.topic.replication.factor",
        Type.SHORT,
        "3",
        "LOW",
        "Replicas of the offset-syncs topic.",
    ),
    _key(
        _SC,
        "offset-syncs.topic.location",
        Type.STRING,
        "source",
        "LOW",
        "Cluster that holds the offset-syncs topic.",
        check=one_of("source", "target"),
    ),
    _key(
        _S,
        "offset.lag.max",
        Type.LONG,
        "100",
        "LOW",
        "Records by which an offset sync may be behind.",
    ),
    _switch(_S, "emit.offset-syncs.enabled", "true", "Whether offset syncs are written."),
    _switch(
        _S,
        "heartbeats.replication.enabled",
        "true",
        "Whether heartbeats topics are mirrored always.",
    ),
    harmless(
        _key(
            _SC,
            "metric.names.formats",
            Type.LIST,
            "legacy",
            "LOW",
            "Formats in which metrics are named (KIP-1280).",
            check=items(empty_allowed=False, allowed=("legacy", "new")),
        ),
        "there are no JMX metrics",
    ),
)

_CHECKPOINT: Final = (
    _key(
        _C,
        "groups",
        Type.LIST,
        ".*",
        "HIGH",
        "Regular expressions of groups to follow.",
        check=items(),
    ),
    _key(
        _C,
        "groups.exclude",
        Type.LIST,
        "console-consumer-.*,connect-.*,__.*",
        "HIGH",
        "Regular expressions of groups not to follow; they win over groups.",
        check=items(),
    ),
    _key(
        _C,
        "group.filter.class",
        Type.CLASS,
        _MIRROR + "DefaultGroupFilter",
        "LOW",
        "Class that decides which groups are followed.",
    ),
    _switch(_C, "refresh.groups.enabled", "true", "Whether to look for new groups."),
    _interval(_C, "refresh.groups", "600", "How often to look for new groups, in s."),
    _switch(_C, "emit.checkpoints.enabled", "true", "Whether checkpoints are written."),
    _interval(_C, "emit.checkpoints", "60", "How often checkpoints are written, in s."),
    _switch(
        _C,
        "sync.group.offsets.enabled",
        "false",
        "Whether idle groups' offsets are set on the target.",
    ),
    _interval(
        _C, "sync.group.offsets", "60", "How often groups' offsets are set on the target, in s."
    ),
    _key(
        _C,
        "checkpoints.topic.replication.factor",
        Type.SHORT,
        "3",
        "LOW",
        "Replicas of the checkpoints topic.",
    ),
)

_HEARTBEAT: Final = (
    _switch(_H, "emit.heartbeats.enabled", "true", "Whether heartbeats are written."),
    _interval(_H, "emit.heartbeats", "1", "How often heartbeats are written, in s."),
    _key(
        _H,
        "heartbeats.topic.replication.factor",
        Type.SHORT,
        "3",
        "LOW",
        "Replicas of the heartbeats topic.",
    ),
)


CONNECTOR_KEYS: Final = (*_FLOW, *_SOURCE, *_CHECKPOINT, *_HEARTBEAT, *CONNECT_KEYS)
