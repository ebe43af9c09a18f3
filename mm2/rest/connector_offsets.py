"""Where connectors are and how they are moved, as both modes of running them do it."""

from __future__ import annotations

from collections.abc import Sequence

from mm2.core.connect.offset_records import SourcePartition
from mm2.core.model import ClusterAlias
from mm2.errors import ConfigErrors
from mm2.herder.offsets.offset_changes import Change, OffsetChanges
from mm2.rest.connector_protocol import JsonObject, Position
from mm2.rest.rest_errors import RestError, bad_request, conflict


async def positions(repositioning: OffsetChanges, source: ClusterAlias) -> list[Position]:
    """What is stored of a connector that copies from ``source``, in order."""
    stored = await repositioning.stored()
    return [
        Position(partition=SourcePartition(source, *where).fields(), offset={"offset": at})
        for where, at in sorted(stored.items())
    ]


async def alter(repositioning: OffsetChanges, document: JsonObject) -> str:
    """
    Moves a stopped connector; returns what the client is told.

    Raises:
        RestError: it has not drained yet.
        ConfigErrors: the request is wrong.
    """
    await _execute(repositioning, await repositioning.from_request(dict(document)))
    return "The offsets for this connector have been altered successfully"


async def reset(repositioning: OffsetChanges) -> str:
    """
    Has a stopped connector begin as a new one would; returns what the client is told.

    Raises:
        RestError: it has not drained yet.
    """
    await _execute(repositioning, await repositioning.deleted(None))
    return "The offsets for this connector have been reset successfully"


async def _execute(repositioning: OffsetChanges, changes: Sequence[Change]) -> None:
    try:
        await repositioning.check_stopped()
    except ConfigErrors as errors:
        raise conflict(str(errors)) from errors
    await repositioning.execute(changes)


def not_stopped(name: str) -> RestError:
    """Connect's refusal to move a connector that is to run."""
    return bad_request(
        "Connectors must be in the STOPPED state before their offsets can be modified. This"
        " can be done for the specified connector by issuing a 'PUT' request to the"
        f" '/connectors/{name}/stop' endpoint"
    )
