"""
Error codes and aiokafka's errors become ours.
"""

from __future__ import annotations

import pytest
from aiokafka import errors as aiokafka

from mm2.errors import AuthenticationFailed, ClusterError, Mm2Error, NotAuthorized, Unavailable
from mm2.kafka.client_errors import (
    GroupInUse,
    Refused,
    SecurityDisabled,
    TopicExists,
    UnknownTopic,
    from_aiokafka,
    from_code,
    translated,
)
from mm2.kafka.wire.connection_failures import NotLetIn
from mm2.kafka.wire.error_codes import Code


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (Code.SECURITY_DISABLED, SecurityDisabled),
        (Code.TOPIC_ALREADY_EXISTS, TopicExists),
        (Code.UNKNOWN_TOPIC_OR_PARTITION, UnknownTopic),
        (Code.CLUSTER_AUTHORIZATION_FAILED, NotAuthorized),
        (Code.UNKNOWN_MEMBER_ID, GroupInUse),
        (Code.NOT_CONTROLLER, Unavailable),
        (Code.INVALID_CONFIG, Refused),
    ],
)
def test_codes_have_a_meaning(code: Code, expected: type[ClusterError]) -> None:
    """C185: a missing permission is told from other errors, with what was being done."""
    error = from_code("A", code, "do it", "reason")
    assert type(error) is expected
    assert str(error) == f"cluster A: do it: reason ({code.name})"
    assert str(from_code("A", code, "do it")) == f"cluster A: do it: {code.name}"
    assert error.retriable is (expected is Unavailable)


def test_a_refusal_keeps_its_code() -> None:
    error = from_code("A", Code.INVALID_CONFIG, "do it")
    assert isinstance(error, Refused)
    assert error.code == "INVALID_CONFIG"


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (aiokafka.KafkaConnectionError(), Unavailable),
        (aiokafka.NotLeaderForPartitionError(), Unavailable),
        (aiokafka.TopicAuthorizationFailedError(), NotAuthorized),
        (aiokafka.AuthenticationFailedError(), AuthenticationFailed),
        (NotLetIn("the password is wrong"), AuthenticationFailed),
        (aiokafka.UnknownTopicOrPartitionError(), UnknownTopic),
        (aiokafka.MessageSizeTooLargeError(), Refused),
        (OSError("gone"), Unavailable),
        (TimeoutError(), Unavailable),
    ],
)
def test_aiokafkas_exceptions_have_a_meaning(
    error: Exception, expected: type[ClusterError]
) -> None:
    assert type(from_aiokafka("A", error, "do it")) is expected


def test_what_to_do_about_a_refusal_is_told_without_names_of_classes() -> None:
    told = from_aiokafka("A", NotLetIn("a:1 refuses the password: correct it"), "connect")
    assert str(told) == "cluster A: connect: a:1 refuses the password: correct it"
    lost = from_aiokafka("A", aiokafka.KafkaConnectionError("a:1 closed"), "connect")
    assert str(lost) == "cluster A: connect: KafkaConnectionError: a:1 closed"


def test_our_own_errors_pass_untranslated() -> None:
    ours = UnknownTopic("A", "gone")
    with pytest.raises(Mm2Error) as caught, translated("A", "do it"):
        raise ours
    assert caught.value is ours
