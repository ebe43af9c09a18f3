"""Settings of topics and of brokers (DescribeConfigs, IncrementalAlterConfigs)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar, Final

from aiokafka.protocol.admin import DescribeConfigsRequest
from aiokafka.protocol.api import Request, RequestStruct, Response
from aiokafka.protocol.types import Array, Boolean, Int8, Int16, Int32, Schema, String

from mm2.core.topics.remote_configs import AlterConfig, ConfigOperation
from mm2.kafka.wire.error_codes import Code

TOPIC: Final = 2
_BROKER: Final = 4
_OPERATIONS: Final = {ConfigOperation.SET: 0, ConfigOperation.DELETE: 1}
_TEXT: Final = String("utf-8")


def settings_request(topics: Iterable[str], names: Sequence[str]) -> DescribeConfigsRequest:
    """Asks for some settings of topics."""
    return DescribeConfigsRequest([(TOPIC, topic, list(names)) for topic in topics])


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


class AlterConfigsResponse(Response):
    """Version 0 of IncrementalAlterConfigs."""

    API_KEY: ClassVar[int] = 44
    API_VERSION: ClassVar[int] = 0
    SCHEMA: ClassVar[Schema] = Schema(
        ("throttle_time_ms", Int32),
        (
            "responses",
            Array(
                ("error_code", Int16),
                ("error_message", _TEXT),
                ("resource_type", Int8),
                ("resource_name", _TEXT),
            ),
        ),
    )


class AlterConfigsV0(RequestStruct):
    """Kafka 2.3 (KIP-339)."""

    API_KEY: ClassVar[int] = 44
    API_VERSION: ClassVar[int] = 0
    RESPONSE_TYPE: ClassVar[type[Response]] = AlterConfigsResponse
    SCHEMA: ClassVar[Schema] = Schema(
        (
            "resources",
            Array(
                ("resource_type", Int8),
                ("resource_name", _TEXT),
                ("configs", Array(("name", _TEXT), ("operation", Int8), ("value", _TEXT))),
            ),
        ),
        ("validate_only", Boolean),
    )


class AlterConfigsRequest(Request[AlterConfigsV0]):
    """IncrementalAlterConfigs: sets and deletes settings of topics, leaving all others."""

    API_KEY: ClassVar[int] = 44

    def __init__(
        self, changes: Iterable[tuple[str, Sequence[AlterConfig]]], *, validate_only: bool = False
    ) -> None:
        self._validate_only = validate_only
        self._resources = [
            (TOPIC, topic, [(c.name, _OPERATIONS[c.operation], c.value) for c in some])
            for topic, some in changes
        ]

    def build(self, request_struct_class: type[AlterConfigsV0]) -> AlterConfigsV0:
        """Makes the request in the version that the broker and we share."""
        return request_struct_class(self._resources, self._validate_only)
