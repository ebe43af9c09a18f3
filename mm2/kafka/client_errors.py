"""
What the clients' errors mean to us.

Both client libraries raise one class for hundreds of codes; callers need the few distinctions they
act upon. ``Refused`` is the rest: the cluster answered, and the answer is no.
"""

# ruff: noqa: SLF001 - the names of librdkafka's own error codes begin with an underscore

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Final

from aiokafka import errors as aiokafka
from confluent_kafka import KafkaError, KafkaException

from mm2.errors import AuthenticationFailed, ClusterError, NotAuthorized, Unavailable
from mm2.kafka.wire.connection_failures import NotLetIn


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


LOGIN_REFUSED: Final = frozenset({KafkaError._AUTHENTICATION, KafkaError._SSL})
"""librdkafka error-callback codes for failed log-ins."""

_CLASSES: Final[dict[int, type[ClusterError]]] = {
    KafkaError._AUTHENTICATION: AuthenticationFailed,
    KafkaError._SSL: AuthenticationFailed,
    KafkaError.SASL_AUTHENTICATION_FAILED: AuthenticationFailed,
    KafkaError.UNSUPPORTED_SASL_MECHANISM: AuthenticationFailed,
    KafkaError.TOPIC_AUTHORIZATION_FAILED: NotAuthorized,
    KafkaError.GROUP_AUTHORIZATION_FAILED: NotAuthorized,
    KafkaError.CLUSTER_AUTHORIZATION_FAILED: NotAuthorized,
    KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: NotAuthorized,
    KafkaError.SECURITY_DISABLED: SecurityDisabled,
    KafkaError.UNSUPPORTED_VERSION: NotSupported,
    KafkaError._UNSUPPORTED_FEATURE: NotSupported,
    KafkaError.TOPIC_ALREADY_EXISTS: TopicExists,
    KafkaError.UNKNOWN_TOPIC_OR_PART: UnknownTopic,
    KafkaError.UNKNOWN_TOPIC_ID: UnknownTopic,
    KafkaError._UNKNOWN_TOPIC: UnknownTopic,
    KafkaError._UNKNOWN_PARTITION: UnknownTopic,
    KafkaError.GROUP_ID_NOT_FOUND: UnknownGroup,
    KafkaError.NON_EMPTY_GROUP: GroupInUse,
    KafkaError.UNKNOWN_MEMBER_ID: GroupInUse,
    KafkaError.REBALANCE_IN_PROGRESS: GroupInUse,
    KafkaError.STALE_MEMBER_EPOCH: GroupInUse,
    KafkaError.FENCED_MEMBER_EPOCH: GroupInUse,
    KafkaError._TIMED_OUT: Unavailable,
    KafkaError._TIMED_OUT_QUEUE: Unavailable,
    KafkaError._TRANSPORT: Unavailable,
    KafkaError._RESOLVE: Unavailable,
    KafkaError._ALL_BROKERS_DOWN: Unavailable,
    KafkaError._WAIT_COORD: Unavailable,
    KafkaError.REQUEST_TIMED_OUT: Unavailable,
    KafkaError.BROKER_NOT_AVAILABLE: Unavailable,
    KafkaError.LEADER_NOT_AVAILABLE: Unavailable,
    KafkaError.NOT_LEADER_FOR_PARTITION: Unavailable,
    KafkaError.REPLICA_NOT_AVAILABLE: Unavailable,
    KafkaError.NETWORK_EXCEPTION: Unavailable,
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS: Unavailable,
    KafkaError.COORDINATOR_NOT_AVAILABLE: Unavailable,
    KafkaError.NOT_COORDINATOR: Unavailable,
    KafkaError.NOT_CONTROLLER: Unavailable,
    KafkaError.KAFKA_STORAGE_ERROR: Unavailable,
    KafkaError.THROTTLING_QUOTA_EXCEEDED: Unavailable,
    KafkaError.UNKNOWN_LEADER_EPOCH: Unavailable,
    KafkaError.FENCED_LEADER_EPOCH: Unavailable,
}


_KEYS: Final = {
    KafkaError._AUTHENTICATION: "sasl.jaas.config, sasl.mechanism",
    KafkaError._SSL: "ssl.truststore.location, ssl.keystore.location, security.protocol",
}
_AFTER: Final = re.compile(r" \(after \d+ms in state \w+\)")


def stated_refusal(error: KafkaError) -> str:
    """What librdkafka says of a refused log-in, the same each time, and the keys to look at."""
    return f"{_AFTER.sub('', error.str())} (see {_KEYS[error.code()]})"


def from_librdkafka(alias: str, error: KafkaError, what: str) -> ClusterError:
    """The error that callers understand; ``what`` names the operation and its object."""
    message = f"{what}: {error.str()} ({error.name()})"
    found = _CLASSES.get(error.code())
    if found is not None:
        return found(alias, message)
    return (
        Unavailable(alias, message) if error.retriable() else Refused(alias, message, error.name())
    )


def from_exception(alias: str, error: BaseException, what: str) -> ClusterError:
    """As ``from_librdkafka``, for whatever a call of confluent-kafka raised."""
    cause = error.args[0] if isinstance(error, KafkaException) and error.args else None
    if isinstance(cause, KafkaError):
        return from_librdkafka(alias, cause, what)
    if isinstance(error, TimeoutError):
        return Unavailable(alias, f"{what}: no answer in time")
    return Refused(alias, f"{what}: {error}")


def from_aiokafka(alias: str, error: BaseException, what: str) -> ClusterError:
    """The error that callers understand, for what aiokafka raised."""
    message = f"{what}: {_words(error)}"
    for kinds, ours in _AIOKAFKA_CLASSES:
        if isinstance(error, kinds):
            return ours(alias, message)
    if isinstance(error, aiokafka.KafkaError) and not error.retriable:
        return Refused(alias, message, type(error).__name__)
    return Unavailable(alias, message)


def _words(error: BaseException) -> str:
    """What an error says, after its name, unless a person is told what to do."""
    text, name = str(error), type(error).__name__
    return text if text.startswith(name) or isinstance(error, NotLetIn) else f"{name}: {text}"


_AIOKAFKA_CLASSES: Final[tuple[tuple[tuple[type[Exception], ...], type[ClusterError]], ...]] = (
    (
        (
            aiokafka.AuthenticationFailedError,
            aiokafka.SaslAuthenticationFailed,
            aiokafka.UnsupportedSaslMechanismError,
        ),
        AuthenticationFailed,
    ),
    (
        (
            aiokafka.TopicAuthorizationFailedError,
            aiokafka.GroupAuthorizationFailedError,
            aiokafka.ClusterAuthorizationFailedError,
            aiokafka.TransactionalIdAuthorizationFailed,
        ),
        NotAuthorized,
    ),
    ((aiokafka.UnknownTopicOrPartitionError,), UnknownTopic),
    ((aiokafka.KafkaConnectionError, aiokafka.KafkaTimeoutError, TimeoutError), Unavailable),
)


@contextmanager
def translated(alias: str, what: str) -> Iterator[None]:
    """Turns what aiokafka raises within into our errors."""
    try:
        yield
    except (aiokafka.KafkaError, TimeoutError, OSError) as error:
        raise from_aiokafka(alias, error, what) from error


TOO_FEW_BROKERS: Final = "INVALID_REPLICATION_FACTOR"


def needs_more_brokers(error: BaseException) -> bool:
    """Whether a topic was to have more replicas than there are brokers."""
    return isinstance(error, Refused) and error.code == TOO_FEW_BROKERS


def raise_first(failures: Iterable[ClusterError], *, unless: type[ClusterError]) -> None:
    """
    Raises the first failure that is not of type `unless`.

    Args:
        failures: what has.
        unless: the reason that is none to give up.

    Raises:
        ClusterError: the first other failure.
    """
    for failure in failures:
        if not isinstance(failure, unless):
            raise failure
