"""Settings of topics, as one broker knows them (DescribeConfigs)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from aiokafka.protocol.admin import DescribeConfigsRequest
from aiokafka.protocol.api import Response

from mm2.kafka.wire.codes import Code

_TOPIC: Final = 2


def settings_request(topics: Iterable[str], names: Sequence[str]) -> DescribeConfigsRequest:
    """Asks for some settings of topics."""
    return DescribeConfigsRequest([(_TOPIC, topic, list(names)) for topic in topics])


def settings_of(response: Response) -> dict[str, dict[str, str]]:
    """Settings by topic; those that we may not see, or that are gone, are left out."""
    return {
        topic: {name: value for name, value, *_ in entries if value is not None}
        for error, _message, _kind, topic, entries in response.resources
        if error == Code.NONE
    }
