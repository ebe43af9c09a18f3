"""``/connectors``: what connectors are; how they are made, changed and deleted."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Final
from urllib.parse import quote

from mm2.core.connect.status_records import RunState
from mm2.errors import ClusterError
from mm2.rest.connector_protocol import (
    ConnectorInfo,
    ConnectorType,
    TaskTarget,
)
from mm2.rest.documents import info_document, status_document, status_without_tasks
from mm2.rest.requests import Api, Request, Response, changes_of, config_of
from mm2.rest.rest_errors import RestError, bad_request
from mm2.rest.routes import CONNECTOR, Parameter, RouteTable

_NAME: Final = "name"

CONNECTOR_ROUTES: Final = RouteTable()

_EXPAND: Final = Parameter(
    name="expand",
    doc="Answer an object by name, with what is named here; may be repeated.",
    schema={"type": "array", "items": {"type": "string", "enum": ["info", "status"]}},
)


@CONNECTOR_ROUTES.add("GET", "/connectors", query=(_EXPAND,), answers={200: "Connectors"})
async def list_connectors(api: Api, call: Request) -> Response:
    """Lists connectors."""
    names = await api.connectors.names()
    if "expand" not in call.query:
        return Response(body=list(names))
    parts = set(call.query["expand"])
    found = await asyncio.gather(*(_listed(api, name, parts) for name in names))
    return Response(
        body={n: each for n, each in zip(names, found, strict=True) if each is not None}
    )


async def _listed(api: Api, name: str, parts: set[str]) -> dict[str, object] | None:
    """One entry of the list, which one cluster that is away does not take from all the others."""
    try:
        return await _expanded(api, name, parts)
    except RestError as error:
        # Gone since it was listed.
        if error.status is not HTTPStatus.NOT_FOUND:
            raise
        return None
    except ClusterError as error:
        return _unseen(name, parts, str(error))


def _unseen(name: str, parts: set[str], reason: str) -> dict[str, object]:
    kind = ConnectorType.SOURCE
    found: dict[str, object] = {}
    if "status" in parts:
        status = status_without_tasks(name, RunState.UNASSIGNED, trace=reason)
        found["status"] = status_document(status)
    if "info" in parts:
        info = ConnectorInfo(name=name, type=kind, config={"name": name}, tasks=[])
        found["info"] = info_document(info)
    return found


async def _expanded(api: Api, name: str, parts: set[str]) -> dict[str, object]:
    found: dict[str, object] = {}
    if "status" in parts:
        found["status"] = status_document(await api.connectors.status(name))
    if "info" in parts:
        found["info"] = info_document(await api.connectors.info_quickly(name))
    return found


@CONNECTOR_ROUTES.add(
    "POST", "/connectors", body="NewConnector", answers={201: "Connector"}, refusals=(409,)
)
async def create_connector(api: Api, call: Request) -> Response:
    """
    Makes a connector.

    Refused in dedicated mode, where the file says which connectors there are.
    """
    fields = call.object()
    config = config_of(fields.get("config"))
    written = fields.get(_NAME)
    if not isinstance(written, str | None):
        raise bad_request("The name of a connector must be a text.")
    name = (written or "").strip()
    _check_name(name, config)
    target = _target(fields.get("initial_state"))
    info = await api.connectors.create(name, config, target)
    return _created(info)


def _created(info: ConnectorInfo) -> Response:
    return Response(
        status=HTTPStatus.CREATED,
        body=info_document(info),
        location=f"/connectors/{quote(info.name, safe='')}",
    )


def _check_name(name: str, config: dict[str, str]) -> None:
    """The name in a configuration must be that of the request; it is added if it is missing."""
    included = config.setdefault(_NAME, name)
    if included != name:
        raise bad_request(
            f"Connector name configuration ({included}) doesn't match connector name in the URL"
            f" ({name})"
        )


def _target(written: object) -> TaskTarget:
    match written:
        case None:
            return TaskTarget.RUNNING
        case str() if written.upper() in TaskTarget.__members__:
            return TaskTarget[written.upper()]
        case _:
            raise bad_request(f"initial_state must be one of {', '.join(TaskTarget.__members__)}")


@CONNECTOR_ROUTES.add("GET", CONNECTOR, answers={200: "Connector"})
async def get_connector(api: Api, call: Request) -> Response:
    """Shows a connector."""
    return Response(body=info_document(await api.connectors.info(call.connector)))


@CONNECTOR_ROUTES.add("DELETE", CONNECTOR, answers={204: None}, refusals=(400, 409))
async def delete_connector(api: Api, call: Request) -> Response:
    """
    Ends a connector for good.

    Refused in dedicated mode: stop it, or take its flow out of the file.
    """
    await api.connectors.delete(call.connector)
    return Response(status=HTTPStatus.NO_CONTENT)


@CONNECTOR_ROUTES.add("GET", f"{CONNECTOR}/config", answers={200: "Config"})
async def get_config(api: Api, call: Request) -> Response:
    """
    Shows a connector's configuration.

    Secrets read [hidden].
    """
    return Response(body=dict(await api.connectors.config(call.connector)))


@CONNECTOR_ROUTES.add(
    "PUT",
    f"{CONNECTOR}/config",
    body="Config",
    answers={200: "Connector", 201: "Connector"},
    refusals=(409,),
)
async def put_config(api: Api, call: Request) -> Response:
    """
    Gives a connector a configuration.

    Dedicated mode: what differs from the present one becomes an alteration of the flow, over
    its file. Keys that are left out are as the file says again. Values that read [hidden] stay
    as they are.
    """
    config = call.config()
    _check_name(call.connector, config)
    info, is_new = await api.connectors.put_config(call.connector, config)
    return _created(info) if is_new else Response(body=info_document(info))


@CONNECTOR_ROUTES.add(
    "PATCH",
    f"{CONNECTOR}/config",
    body="ConfigChanges",
    answers={200: "Connector"},
    refusals=(409,),
)
async def patch_config(api: Api, call: Request) -> Response:
    """
    Changes some keys of a connector's configuration.

    null is no value: the default counts (KIP-477).
    """
    changes = changes_of(call.object())
    if changes.get(_NAME, call.connector) != call.connector:
        raise bad_request("A connector cannot be given another name.")
    changes.pop(_NAME, None)
    return Response(body=info_document(await api.connectors.patch_config(call.connector, changes)))
