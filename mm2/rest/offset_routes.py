"""``/connectors/{connector}``: where connectors are, and which topics they use."""

from __future__ import annotations

from http import HTTPStatus
from typing import Final

from mm2.rest.documents import position_document
from mm2.rest.requests import Api, Request, Response
from mm2.rest.rest_errors import bad_request
from mm2.rest.routes import CONNECTOR, RouteTable

POSITION_ROUTES: Final = RouteTable()


@POSITION_ROUTES.add("GET", f"{CONNECTOR}/topics", answers={200: "Topics"})
async def get_topics(api: Api, call: Request) -> Response:
    """Lists the topics that a connector uses."""
    topics = await api.connectors.topics(call.connector)
    return Response(body={call.connector: {"topics": list(topics)}})


@POSITION_ROUTES.add("PUT", f"{CONNECTOR}/topics/reset", answers={}, refusals=(403,))
async def reset_topics(api: Api, call: Request) -> Response:
    """
    Always refused, as Connect does where topics are not tracked.

    Those that are shown are the topics of the present assignment.
    """
    await api.connectors.reset_topics(call.connector)
    return Response(status=HTTPStatus.ACCEPTED)


@POSITION_ROUTES.add("GET", f"{CONNECTOR}/offsets", answers={200: "Offsets"})
async def get_offsets(api: Api, call: Request) -> Response:
    """Shows where a connector is."""
    positions = await api.connectors.offsets(call.connector)
    return Response(body={"offsets": [position_document(each) for each in positions]})


@POSITION_ROUTES.add(
    "PATCH", f"{CONNECTOR}/offsets", body="Offsets", answers={200: "Message"}, refusals=(409,)
)
async def alter_offsets(api: Api, call: Request) -> Response:
    """
    Moves a stopped connector (KIP-875).

    An offset of null deletes the position.
    """
    document = call.object()
    if not document.get("offsets"):
        message = "Partitions / offsets need to be provided for an alter offsets request"
        raise bad_request(message)
    return Response(body={"message": await api.connectors.alter_offsets(call.connector, document)})


@POSITION_ROUTES.add(
    "DELETE", f"{CONNECTOR}/offsets", answers={200: "Message"}, refusals=(400, 409)
)
async def reset_offsets(api: Api, call: Request) -> Response:
    """Makes a stopped connector forget where it is (KIP-875)."""
    return Response(body={"message": await api.connectors.reset_offsets(call.connector)})
