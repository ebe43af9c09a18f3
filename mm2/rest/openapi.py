"""The description of the interface (OpenAPI 3.1), and its page, made from the routes themselves."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from mm2 import __version__
from mm2.rest.connector_routes import CONNECTOR_ROUTES
from mm2.rest.node_routes import NODE_ROUTES
from mm2.rest.offset_routes import POSITION_ROUTES
from mm2.rest.requests import Api, Request, Response
from mm2.rest.routes import MESSAGES, Route, RouteTable
from mm2.rest.schemas import SCHEMAS, reference
from mm2.rest.state_routes import STATE_ROUTES

_PATH_NAME: Final = re.compile(r"\{(\w+)\}")
_PATH_DOCS: Final = {
    "connector": "Name of the connector, in dedicated mode A->B.MirrorSourceConnector.",
    "task": "Number of the task.",
    "plugin": "Class of connectors: in full, simple, or without Connector.",
    "logger": "root, or the first word of events.",
}


def description(routes: Iterable[Route]) -> dict[str, object]:
    """The description of routes."""
    paths: dict[str, dict[str, object]] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "mm2",
            "version": __version__,
            "description": "Kafka Connect's REST interface to flows of MirrorMaker.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": paths,
        "components": {
            "schemas": dict(SCHEMAS),
            "securitySchemes": {"basic": {"type": "http", "scheme": "basic"}},
        },
        "security": [{}, {"basic": []}],
    }


def _operation(route: Route) -> dict[str, object]:
    summary, more = route.documentation
    found: dict[str, object] = {
        "operationId": route.handle.__name__,
        "summary": summary,
        "parameters": [*_path_parameters(route), *_query_parameters(route)],
        "responses": {str(status): _response(route, status) for status in route.statuses()},
    }
    if more:
        found["description"] = more
    if route.body is not None:
        found["requestBody"] = {"required": True, "content": _content(route.body)}
    return found


def _path_parameters(route: Route) -> Iterator[Mapping[str, object]]:
    for name in _PATH_NAME.findall(route.path):
        number = name == "task"
        yield {
            "name": name,
            "in": "path",
            "required": True,
            "description": _PATH_DOCS[name],
            "schema": {"type": "integer", "minimum": 0} if number else {"type": "string"},
        }


def _query_parameters(route: Route) -> Iterator[Mapping[str, object]]:
    for parameter in route.query:
        yield {
            "name": parameter.name,
            "in": "query",
            "required": False,
            "description": parameter.doc,
            "schema": parameter.schema,
        }


def _response(route: Route, status: int) -> dict[str, object]:
    schema = route.answers.get(status, "Error")
    found: dict[str, object] = {"description": MESSAGES[status]}
    return found if schema is None else {**found, "content": _content(schema)}


def _content(schema: str) -> dict[str, object]:
    kind = "text/plain" if schema == "Metrics" else "application/json"
    return {kind: {"schema": reference(schema)}}


ROUTES: Final = RouteTable([*NODE_ROUTES, *CONNECTOR_ROUTES, *STATE_ROUTES, *POSITION_ROUTES])
"""All routes; this module's own is the last."""


@ROUTES.add("GET", "/openapi.json", answers={200: "Anything"})
async def get_openapi(api: Api, call: Request) -> Response:
    """Describes this interface (OpenAPI)."""
    return Response(body=description(ROUTES))


_HEAD: Final = """\
# REST interface

Each node answers on `listeners`, with the public interface of Kafka Connect 4.3: its paths, bodies,
statuses and error bodies. So Connect's clients show and steer our flows. In dedicated mode
the connectors are called `A->B.MirrorSourceConnector` and so on, `A-%3EB.MirrorSourceConnector` in
a URL. Any node answers for every flow of its file, whoever leads it. [How to use
it](../how-to/use-the-rest-interface.md).

This page is made from the same table as the server; `GET /openapi.json` describes the interface to
programs.

| request | | answers |
|---|---|---|
"""
_TAIL: Final = """
All routes can also be answered 401, 500 and 503, those that change anything 403, and those that
name something 404. Bodies of errors are `{"error_code": 404, "message": "..."}`.

## Statuses

| status | |
|---|---|
"""


def reference_page() -> str:
    """The page of the reference, in Markdown."""
    rows = [_row(route) for route in sorted(ROUTES, key=lambda each: (each.path, each.method))]
    statuses = [f"| {status} | {text} |\n" for status, text in sorted(MESSAGES.items())]
    return "".join([_HEAD, *rows, _TAIL, *statuses])


def _row(route: Route) -> str:
    query = "&".join(parameter.name for parameter in route.query)
    path = f"{route.path}?{query}" if query else route.path
    own = set(route.statuses()) - set(route.common_statuses()) | {*route.answers, *route.refusals}
    answers = ", ".join(str(status) for status in sorted(own))
    doc = " ".join(part for part in route.documentation if part).replace("|", "\\|")
    return f"| `{route.method} {path}` | {doc} | {answers} |\n"
