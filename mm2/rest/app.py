"""
The routes as an application of aiohttp: reads requests, writes answers, and lets in who may ask.

Only this module, ``mm2.rest.middlewares`` and the server know the HTTP library.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable, Mapping
from http import HTTPStatus
from typing import Final

import structlog
from aiohttp import web
from aiohttp.typedefs import Handler as WebHandler

from mm2.config.text.expressions import hidden_in
from mm2.metrics.exposition import CONTENT_TYPE
from mm2.rest.cors import is_loopback
from mm2.rest.listeners import ServerSetup
from mm2.rest.middlewares import (
    authentication,
    cross_origin,
    failures,
    headers_of,
    known_names,
    preflights,
)
from mm2.rest.openapi import ROUTES
from mm2.rest.page_routes import for_browsers, page_routes
from mm2.rest.requests import Api, Request, Response, parse_body
from mm2.rest.rest_errors import RestError
from mm2.rest.routes import Route
from mm2.status_page.status_page import StatusPage

log = structlog.get_logger()

REQUEST_TIMEOUT_S: Final = 90.0
"""A request that takes longer is answered 500, as Connect does (C361)."""

MOST_BODY_BYTES: Final = 1024 * 1024
_JSON: Final = "application/json"
_TEXTS: Final = frozenset({"trace", "message", "errors", "reason", "servers"})
"""Fields of answers that hold sentences for people, or addresses."""


def application(
    api: Api, setup: ServerSetup, *, request_timeout_s: float = REQUEST_TIMEOUT_S
) -> web.Application:
    """The application."""
    origins, passwords = setup.origins, setup.passwords
    app = web.Application(
        middlewares=[
            headers_of(setup.settings.headers),
            cross_origin(origins),
            failures,
            *([] if passwords else [known_names(setup)]),
            preflights(origins),
            *([authentication(passwords)] if passwords else []),
        ],
        client_max_size=MOST_BODY_BYTES,
    )
    app.add_routes(_routes(api, setup, request_timeout_s))
    if api.page is not None:
        app.add_routes(page_routes(api.page))
        app.on_shutdown.append(_ending(api.page))
    return app


def _ending(page: StatusPage) -> Callable[[web.Application], Awaitable[None]]:
    async def end(_: web.Application) -> None:
        page.close()

    return end


def metrics_application(api: Api) -> web.Application:
    """Metrics and health alone, for everybody who can reach the port, probes above all."""
    app = web.Application(middlewares=[failures], client_max_size=MOST_BODY_BYTES)
    shown = [each for each in ROUTES if each.path in {"/metrics", "/health", "/health/ready"}]
    app.add_routes(
        web.route(each.method, each.path, _handler(each, api, REQUEST_TIMEOUT_S)) for each in shown
    )
    return app


def _routes(
    api: Api, setup: ServerSetup, request_timeout_s: float
) -> Iterable[web.AbstractRouteDef]:
    for route in ROUTES:
        handler = _handler(route, api, request_timeout_s)
        if route.writes or (route.validates and api.plugins.resolves):
            handler = _guarded(handler, setup)
        if route.path == "/" and api.page is not None:
            handler = for_browsers(handler, api.page)
        path = route.path if route.path == "/" else f"{route.path}{{_:/?}}"
        yield web.route(route.method, path, handler)


def _handler(route: Route, api: Api, timeout_s: float) -> WebHandler:
    async def handle(request: web.Request) -> web.StreamResponse:
        if route.needs_connectors and (reason := api.starting()):
            message = f"This worker is still starting up: {reason}. Ask again."
            raise RestError(HTTPStatus.SERVICE_UNAVAILABLE, message)
        call = Request(
            path=request.match_info,
            query={name: request.query.getall(name) for name in request.query},
            body=await _body(request) if route.body is not None else None,
        )
        try:
            async with asyncio.timeout(timeout_s):
                answer = await route.handle(api, call)
        except TimeoutError as error:
            raise RestError(HTTPStatus.INTERNAL_SERVER_ERROR, "Request timed out") from error
        if route.writes:
            log.info("rest.changed", method=route.method, path=request.path, client=request.remote)
        return _response(answer)

    return handle


def _guarded(handler: WebHandler, setup: ServerSetup) -> WebHandler:
    async def handle(request: web.Request) -> web.StreamResponse:
        if setup.settings.read_only:
            raise RestError(HTTPStatus.FORBIDDEN, _only_shows(setup))
        origin = request.headers.get("Origin")
        if setup.origins.is_foreign(origin, request.host, is_local=_is_local(request)):
            message = f"Pages of {origin} may change nothing; see access.control.allow.origin."
            raise RestError(HTTPStatus.FORBIDDEN, message)
        return await handler(request)

    return handle


def _only_shows(setup: ServerSetup) -> str:
    if not setup.settings.read_only_by_default:
        return "This node only shows (rest.read.only); ask another one."
    return (
        "This node only shows, as nobody has to log in to it (rest.read.only). To let clients"
        " change flows, give it a login (rest.basic.auth.file, or https with"
        " listeners.https.ssl.client.auth=required), or write rest.read.only=false to let"
        " everybody change them who reaches it."
    )


def _is_local(request: web.Request) -> bool:
    return is_loopback(str(request.get_extra_info("sockname", ("",))[0]))


async def _body(request: web.Request) -> object:
    if request.content_type != _JSON:
        raise RestError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"Send the body as {_JSON}.")
    return parse_body(await request.read())


def _response(answer: Response) -> web.Response:
    headers = {"Location": answer.location} if answer.location else None
    if answer.text is not None:
        body = answer.text.encode()
        return web.Response(body=body, headers={"Content-Type": CONTENT_TYPE})
    if answer.body is None:
        return web.Response(status=answer.status, headers=headers)
    return web.Response(
        body=json.dumps(_hidden(answer.body)).encode(),
        status=answer.status,
        headers=headers,
        content_type=_JSON,
    )


def _hidden(document: object) -> object:
    """The document with resolved values hidden in its texts; names and positions are data."""
    if isinstance(document, list | tuple):
        return [_hidden(each) for each in document]
    if isinstance(document, Mapping):
        return {
            key: hidden_in(value) if key in _TEXTS else _hidden(value)
            for key, value in document.items()
        }
    return document
