"""
Both clients' errors become ours.
"""

from __future__ import annotations

import pytest
from aiokafka import errors as aiokafka
from confluent_kafka import KafkaError, KafkaException

from mm2.errors import AuthenticationFailed, ClusterError, Mm2Error, NotAuthorized, Unavailable
from mm2.kafka.client_errors import (
    GroupInUse,
    Refused,
    SecurityDisabled,
    TopicExists,
    UnknownTopic,
    from_aiokafka,
    from_exception,
    from_librdkafka,
    stated_refusal,
    translated,
)
from mm2.kafka.wire.connection_failures import NotLetIn


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (KafkaError.SECURITY_DISABLED, SecurityDisabled),
        (KafkaError.TOPIC_ALREADY_EXISTS, TopicExists),
        (KafkaError.UNKNOWN_TOPIC_OR_PART, UnknownTopic),
        (KafkaError.CLUSTER_AUTHORIZATION_FAILED, NotAuthorized),
        (KafkaError.UNKNOWN_MEMBER_ID, GroupInUse),
        (KafkaError._AUTHENTICATION, AuthenticationFailed),
        (KafkaError._TIMED_OUT, Unavailable),
        (KafkaError.NOT_CONTROLLER, Unavailable),
        (KafkaError.INVALID_CONFIG, Refused),
    ],
)
def test_codes_have_a_meaning(code: int, expected: type[ClusterError]) -> None:
    """C185: a missing permission is told from other errors, with what was being done."""
    error = from_librdkafka("A", KafkaError(code, "reason"), "do it")
    assert type(error) is expected
    assert str(error).startswith("cluster A: do it: reason (")
    assert error.retriable is (expected is Unavailable)


def test_a_refusal_keeps_its_code() -> None:
    error = from_exception("A", KafkaException(KafkaError(KafkaError.INVALID_CONFIG)), "do it")
    assert isinstance(error, Refused)
    assert error.code == "INVALID_CONFIG"


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (TimeoutError(), Unavailable),
        (ValueError("bad"), Refused),
    ],
)
def test_other_exceptions_of_a_call(error: Exception, expected: type[ClusterError]) -> None:
    assert type(from_exception("A", error, "do it")) is expected


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


def test_a_refused_log_in_is_told_with_the_same_words_each_time() -> None:
    reason = "a:1/bootstrap: SASL authentication error: no (after 467ms in state AUTH_REQ)"
    told = stated_refusal(KafkaError(KafkaError._AUTHENTICATION, reason))
    assert told == (
        "a:1/bootstrap: SASL authentication error: no (see sasl.jaas.config, sasl.mechanism)"
    )


def test_our_own_errors_pass_untranslated() -> None:
    ours = UnknownTopic("A", "gone")
    with pytest.raises(Mm2Error) as caught, translated("A", "do it"):
        raise ours
    assert caught.value is ours
