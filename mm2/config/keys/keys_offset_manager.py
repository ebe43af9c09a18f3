"""The keys of an offset manager: those that Kafka's brokers have for ``__consumer_offsets``."""

from __future__ import annotations

from functools import partial
from typing import Final

from mm2.config.keys.definition import Key
from mm2.config.keys.key_types import Type
from mm2.config.keys.value_checks import between, items, one_of, own_topic
from mm2.core.offset_manager.commits import DEFAULT_METADATA_BYTES

CODECS: Final = ("none", "gzip", "snappy", "lz4", "zstd")
"""By their numbers, as which Kafka's brokers have them."""

_key: Final = partial(Key, definitions=frozenset(), importance="HIGH")

# fmt: off
OFFSET_MANAGER_KEYS: Final = (
    _key("offsets.topic.name", Type.STRING, "mm2-group-offsets.internal",
        "The compacted topic that holds the offsets. Instances with the same cluster and topic form"
        " one offset manager.", check=own_topic, field="topic"),
    _key("offsets.topic.num.partitions", Type.INT, "50",
        "Partitions of the topic. It must not change: groups are spread by it.",
        check=between(1), field="partitions"),
    _key("offsets.topic.replication.factor", Type.SHORT, "3",
        "Replicas of the topic, if the offset manager creates it. With 3 or more, two of them must"
        " have a commit before it counts (min.insync.replicas).",
        check=between(1), field="replicas"),
    _key("offsets.topic.compression.codec", Type.STRING, "none",
        "How batches are compressed: none, gzip, snappy, lz4, zstd, or Kafka's number of it.",
        check=one_of(*CODECS, *map(str, range(len(CODECS)))), field="codec"),
    _key("offset.metadata.max.bytes", Type.INT, str(DEFAULT_METADATA_BYTES),
        "Bytes that metadata of one partition may have. Longer ones refuse the whole commit.",
        check=between(0), field="metadata_bytes"),
    _key("offsets.retention.minutes", Type.INT, "10080",
        "A group that has committed nothing for so long is dead, and its offsets are deleted.",
        check=between(1), field="retention_minutes"),
    _key("offsets.retention.check.interval.ms", Type.LONG, "600000",
        "How often offsets that have expired are looked for.",
        check=between(1), field="retention_check"),
    _key("offsets.commit.timeout.ms", Type.INT, "5000",
        "How long a commit or a fetch may wait for the cluster before the client is told to try"
        " again.", check=between(1), field="patience"),
    _key("listeners.security.protocol", Type.STRING, "PLAINTEXT",
        "How clients connect: PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL. With SASL they log in with"
        " a name and password of the cluster's, which checks them.",
        check=one_of("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"), field="protocol"),
    _key("listeners.sasl.enabled.mechanisms", Type.LIST, "PLAIN",
        "How clients may log in: PLAIN, SCRAM-SHA-256, SCRAM-SHA-512. SCRAM needs"
        " listeners.sasl.jaas.config.", check=items(
            empty_allowed=False, allowed=("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")),
        field="mechanisms"),
    _key("listeners.sasl.jaas.config", Type.PASSWORD, None,
        "Names and passwords of the cluster's users who may log in with SCRAM:"
        " org.apache.kafka.common.security.scram.ScramLoginModule required"
        ' user_NAME="password" ...;', field="users"),
    _key("listeners.ssl.client.auth", Type.STRING, "none",
        "Whether clients show a certificate: required, requested or none. Key and trust stores of"
        " the listener are named with the prefix listeners. (listeners.ssl.keystore.location, ...);"
        " without any of these, the ssl.* keys of the file count.",
        check=one_of("required", "requested", "none"), field="client_auth"),
    _key("max.connections", Type.INT, "10000",
        "Connections of clients, 10000 at most. At the limit, the one that has been idle for"
        " longest is closed for a new one. If none is idle, the new one is closed.",
        check=between(1, 10_000), field="max_connections"),
    _key("max.connections.per.ip", Type.INT, "5000",
        "Connections from one IPv4 address, or one IPv6 network of 64 bits. At the limit, one of"
        " these is closed, as for max.connections.",
        check=between(1), field="max_connections_per_ip"),
)
# fmt: on
