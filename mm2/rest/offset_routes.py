"""``/connectors/{connector}``: where connectors are, and which topics they use."""

from __future__ import annotations

from http import HTTPStatus
from typing import Final

from mm2.rest.documents import position_document
from mm2.rest.requests import Api, Request, Response
from mm2.rest.rest_errors import bad_request
from mm2.rest.routes import CONNECTOR, Route

_OK: Final = HTTPStatus.OK
_ACCEPTED: Final = HTTPStatus.ACCEPTED
_CONFLICT: Final = HTTPStatus.CONFLICT
_BAD: Final = HTTPStatus.BAD_REQUEST


async def get_topics(api: Api, call: Request) -> Response:
    """The topics that a connector uses."""
    topics = await api.connectors.topics(call.connector)
    return Response(body={call.connector: {"topics": list(topics)}})


async def reset_topics(api: Api, call: Request) -> Response:
    """Forgets the topics that a connector uses."""
    await api.connectors.reset_topics(call.connector)
    return Response(status=_ACCEPTED)


async def get_offsets(api: Api, call: Request) -> Response:
    """Where a connector is."""
    positions = await api.connectors.offsets(call.connector)
    return Response(body={"offsets": [position_document(each) for each in positions]})


async def alter_offsets(api: Api, call: Request) -> Response:
    """Moves a stopped connector."""
    document = call.object()
    if not document.get("offsets"):
        message = "Partitions / offsets need to be provided for an alter offsets request"
        raise bad_request(message)
    return Response(body={"message": await api.connectors.alter_offsets(call.connector, document)})


async def reset_offsets(api: Api, call: Request) -> Response:
    """Makes a stopped connector forget where it is."""
    return Response(body={"message": await api.connectors.reset_offsets(call.connector)})


POSITION_ROUTES: Final = (
    Route(
        method="GET",
        path=f"{CONNECTOR}/topics",
        handle=get_topics,
        summary="Lists the topics that a connector uses.",
        answers={_OK: "Topics"},
    ),
    Route(
        method="PUT",
        path=f"{CONNECTOR}/topics/reset",
        handle=reset_topics,
        summary="Always refused, as Connect does where topics are not tracked.",
        doc="Those that are shown are the topics of the present assignment.",
        answers={},
        refusals=(HTTPStatus.FORBIDDEN,),
    ),
    Route(
        method="GET",
        path=f"{CONNECTOR}/offsets",
        handle=get_offsets,
        summary="Shows where a connector is.",
        answers={_OK: "Offsets"},
    ),
    Route(
        method="PATCH",
        path=f"{CONNECTOR}/offsets",
        handle=alter_offsets,
        summary="Moves a stopped connector (KIP-875).",
        doc="An offset of null deletes the position.",
        body="Offsets",
        answers={_OK: "Message"},
        refusals=(_CONFLICT,),
    ),
    Route(
        method="DELETE",
        path=f"{CONNECTOR}/offsets",
        handle=reset_offsets,
        summary="Makes a stopped connector forget where it is (KIP-875).",
        answers={_OK: "Message"},
        refusals=(_BAD, _CONFLICT),
    ),
)
