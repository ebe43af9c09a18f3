"""
What error codes and aiokafka's errors mean to us.

Kafka has more than a hundred error codes; callers need the few distinctions they act upon.
``Refused`` is the rest: the cluster answered, and the answer is no.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Final

from aiokafka import errors as aiokafka

from mm2.errors import AuthenticationFailed, ClusterError, NotAuthorized, Unavailable
from mm2.kafka.wire.connection_failures import NotLetIn
from mm2.kafka.wire.error_codes import Code, code_name


class Refused(ClusterError):
    """
    The cluster answers with an error for which there is no class of its own.

    Attributes:
        code: Kafka's name of the error.
    """

    def __init__(self, alias: str, message: str, code: str = "UNKNOWN") -> None:
        super().__init__(alias, message)
        self.code = code


class SecurityDisabled(ClusterError):
    """The cluster has no authorizer, so it has no ACLs (C190)."""


class NotSupported(ClusterError):
    """The cluster is too old for the operation."""


class TopicExists(ClusterError):
    """The topic that was to be created is there already."""


class UnknownTopic(ClusterError):
    """The topic or partition is not there, or we may not know of it."""


class UnknownGroup(ClusterError):
    """The group is not there."""


class GroupInUse(ClusterError):
    """The group has members, so only they may commit its offsets."""


_CLASSES: Final[dict[int, type[ClusterError]]] = {
    Code.SASL_AUTHENTICATION_FAILED: AuthenticationFailed,
    Code.UNSUPPORTED_SASL_MECHANISM: AuthenticationFailed,
    Code.TOPIC_AUTHORIZATION_FAILED: NotAuthorized,
    Code.GROUP_AUTHORIZATION_FAILED: NotAuthorized,
    Code.CLUSTER_AUTHORIZATION_FAILED: NotAuthorized,
    Code.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: NotAuthorized,
    Code.SECURITY_DISABLED: SecurityDisabled,
    Code.UNSUPPORTED_VERSION: NotSupported,
    Code.TOPIC_ALREADY_EXISTS: TopicExists,
    Code.UNKNOWN_TOPIC_OR_PARTITION: UnknownTopic,
    Code.UNKNOWN_TOPIC_ID: UnknownTopic,
    Code.GROUP_ID_NOT_FOUND: UnknownGroup,
    Code.NON_EMPTY_GROUP: GroupInUse,
    Code.UNKNOWN_MEMBER_ID: GroupInUse,
    Code.REBALANCE_IN_PROGRESS: GroupInUse,
    Code.STALE_MEMBER_EPOCH: GroupInUse,
    Code.FENCED_MEMBER_EPOCH: GroupInUse,
    Code.REQUEST_TIMED_OUT: Unavailable,
    Code.BROKER_NOT_AVAILABLE: Unavailable,
    Code.LEADER_NOT_AVAILABLE: Unavailable,
    Code.NOT_LEADER_OR_FOLLOWER: Unavailable,
    Code.REPLICA_NOT_AVAILABLE: Unavailable,
    Code.NETWORK_EXCEPTION: Unavailable,
    Code.COORDINATOR_LOAD_IN_PROGRESS: Unavailable,
    Code.COORDINATOR_NOT_AVAILABLE: Unavailable,
    Code.NOT_COORDINATOR: Unavailable,
    Code.NOT_CONTROLLER: Unavailable,
    Code.KAFKA_STORAGE_ERROR: Unavailable,
    Code.THROTTLING_QUOTA_EXCEEDED: Unavailable,
    Code.UNKNOWN_LEADER_EPOCH: Unavailable,
    Code.FENCED_LEADER_EPOCH: Unavailable,
}


def from_code(alias: str, code: int, what: str, message: str | None = None) -> ClusterError:
    """
    The error that callers understand, for an error code of the protocol.

    Args:
        what: names the operation and its object.
    """
    name = code_name(code)
    sentence = f"{what}: {message} ({name})" if message else f"{what}: {name}"
    found = _CLASSES.get(code)
    return Refused(alias, sentence, name) if found is None else found(alias, sentence)


def from_aiokafka(alias: str, error: BaseException, what: str) -> ClusterError:
    """The error that callers understand, for what aiokafka raised."""
    message = f"{what}: {_words(error)}"
    if isinstance(error, aiokafka.BrokerResponseError) and error.errno in _CLASSES:
        return _CLASSES[error.errno](alias, message)
    if isinstance(error, aiokafka.AuthenticationFailedError):
        return AuthenticationFailed(alias, message)
    if isinstance(error, aiokafka.KafkaTimeoutError | aiokafka.KafkaConnectionError):
        return Unavailable(alias, message)
    if isinstance(error, aiokafka.KafkaError) and not error.retriable:
        return Refused(alias, message, type(error).__name__)
    return Unavailable(alias, message)


def _words(error: BaseException) -> str:
    """What an error says, after its name, unless a person is told what to do."""
    text, name = str(error), type(error).__name__
    return text if text.startswith(name) or isinstance(error, NotLetIn) else f"{name}: {text}"


@contextmanager
def translated(alias: str, what: str) -> Iterator[None]:
    """Turns what aiokafka raises within into our errors."""
    try:
        yield
    except (aiokafka.KafkaError, TimeoutError, OSError) as error:
        raise from_aiokafka(alias, error, what) from error


TOO_FEW_BROKERS: Final = Code.INVALID_REPLICATION_FACTOR.name


def needs_more_brokers(error: BaseException) -> bool:
    """Whether a topic was to have more replicas than there are brokers."""
    return isinstance(error, Refused) and error.code == TOO_FEW_BROKERS


def raise_first(failures: Iterable[ClusterError], *, unless: type[ClusterError]) -> None:
    """Raises the first failure that is not of type `unless`."""
    for failure in failures:
        if not isinstance(failure, unless):
            raise failure
