"""
How long each part of a stop may take, in seconds.

From SIGTERM to the end of the process at most ``PROCESS_S``, unless the user lets tasks drain for
longer (``task.shutdown.graceful.timeout.ms``). What contains other parts has a sum or a function
here, and lasts longer than they do together; what is still under way then is cancelled.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Final

PROCESS_S: Final = 30.0
"""SIGTERM to exit; what Kubernetes gives a pod (``terminationGracePeriodSeconds``)."""

# One after the other, when the herders have ended: 8 s, which leaves them 22.
REST_S: Final = 2.0
"""Requests that are being answered."""

JVM_S: Final = 4.0
"""Spark's JVM, from the end of its standard input until it is killed."""

CLASSES_S: Final = 2.0
"""``close`` of all of the user's classes together."""

_HERDERS_S: Final = PROCESS_S - REST_S - JVM_S - CLASSES_S

# In a task that stops, after it has drained.
POSITIONS_S: Final = 5.0
"""A commit of positions outside of transactions."""

TRANSACTION_S: Final = 8.0
"""A commit of a transaction, its positions included."""

SYNCS_S: Final = 1.0
"""The last offset syncs, behind those that are being written: their cluster may be the source."""

ABORT_S: Final = 2.0
"""A transaction that cannot be committed."""

OPENING_S: Final = 2.0
"""Clusters that a task asks before it is open; it has nothing to drain then."""

_COMMIT_S: Final = 9.0

REVOKED_PARTITIONS_S: Final = 10.0
"""Partitions that go to another task drain so long; not a part of a stop."""

# In a herder, one after the other: all take ``_HAND_OVER_S`` where the target answers, and each all
# of its time where it does not, but then tasks are cut off at once.
CONTROL_WRITE_S: Final = 4.0
"""Assignments that tell tasks to stop, or others that tasks have drained."""

STATUS_S: Final = 2.0
"""The last records of the status topic."""

LEASE_RENEWAL_S: Final = 3.0
"""A renewal of the lease, behind which the release may wait."""

LEASE_RELEASE_S: Final = 3.0
MEMBERSHIP_S: Final = 3.0
"""Leaving the flow's group."""

WRITER_FLUSH_S: Final = 1.0
WRITER_CLOSE_S: Final = 1.0
"""Requests under way, and then the connections: each of the two."""

_HAND_OVER_S: Final = 5.0
_CONNECTORS_MARGIN_S: Final = 2.0

FLOW_EVERYWHERE_S: Final = 60.0
"""How long a command waits until a flow has stopped on whatever node leads it."""

# In a stream of the legacy tool, one after the other.
STREAM_DRAIN_S: Final = 7.0
"""What is under way."""

STREAM_FAILED_DRAIN_S: Final = 2.0
"""The same after a failure: KIP-3 has the tool exit at once, with what is acknowledged by then."""

STREAM_COMMIT_S: Final = 5.0
"""A commit of offsets, to Kafka, ZooKeeper or both."""

ZOOKEEPER_ANSWER_S: Final = 4.0
"""Offsets that are read or written in ZooKeeper; less than a stop leaves to a commit."""

LISTENER_S: Final = 2.0
"""The user's rebalance listener."""

STREAM_LEAVE_S: Final = 3.0
"""Leaving the consumer group."""

ZOOKEEPER_S: Final = 1.0
"""The end of a session there."""

STREAM_S: Final = STREAM_DRAIN_S + STREAM_COMMIT_S + LISTENER_S + STREAM_LEAVE_S + ZOOKEEPER_S
"""One stream."""

# In a process of the legacy tool.
LINKS_S: Final = 1.0
"""Connections to streams, when these have ended."""

STREAMS_S: Final = PROCESS_S - REST_S - LINKS_S - JVM_S - CLASSES_S
"""All streams of a process, which stop at the same time."""


def bundle_s(drain_s: float) -> float:
    """A bundle that drains, and then commits."""
    return drain_s + _COMMIT_S


def herders_s(drain: timedelta) -> float:
    """All flows of a process, which stop at the same time."""
    return max(_HERDERS_S, bundle_s(drain.total_seconds()) + _HAND_OVER_S)


def connectors_s(drain: timedelta) -> float:
    """The same, in a Connect worker that has to note what did not end in time."""
    return herders_s(drain) - _CONNECTORS_MARGIN_S
