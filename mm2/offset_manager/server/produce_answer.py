"""Refuses to write records: nobody writes to a cluster with the offset manager's rights."""

from __future__ import annotations

from typing import Final

from mm2.errors import SchemaError
from mm2.offset_manager.server.messages import Answer, ClientRequest

_NOT_AUTHORIZED: Final = 29
"""TOPIC_AUTHORIZATION_FAILED, upon which producers give up at once."""


def produce_answer(request: ClientRequest) -> Answer:
    """
    Says no for each partition.

    Raises:
        SchemaError: the client awaits no answer.
    """
    if request.body.acks == 0:
        raise SchemaError("records cannot be written here, and acks=0 lets nobody say so")
    return {
        "responses": [
            {
                "name": topic.name,
                "partition_responses": [
                    {
                        "index": each.index,
                        "error_code": _NOT_AUTHORIZED,
                        "base_offset": -1,
                        "record_errors": (),
                        "error_message": "An offset manager writes no records for clients.",
                    }
                    for each in topic.partition_data
                ],
            }
            for topic in request.body.topic_data
        ]
    }
