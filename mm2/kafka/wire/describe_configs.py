"""Settings of topics and of brokers, as one broker knows them (DescribeConfigs)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from aiokafka.protocol.admin import DescribeConfigsRequest
from aiokafka.protocol.api import Response

from mm2.kafka.wire.error_codes import Code

_TOPIC: Final = 2
_BROKER: Final = 4


def settings_request(topics: Iterable[str], names: Sequence[str]) -> DescribeConfigsRequest:
    """Asks for some settings of topics."""
    return DescribeConfigsRequest([(_TOPIC, topic, list(names)) for topic in topics])


def broker_settings_request(node: int, names: Sequence[str]) -> DescribeConfigsRequest:
    """Asks a broker for some settings of its own; nobody else can tell them."""
    return DescribeConfigsRequest([(_BROKER, str(node), list(names))])


def settings_of(response: Response) -> dict[str, dict[str, str]]:
    """Settings by topic or node; those that we may not see, or that are gone, are left out."""
    return {
        topic: {name: value for name, value, *_ in entries if value is not None}
        for error, _message, _kind, topic, entries in response.resources
        if error == Code.NONE
    }
