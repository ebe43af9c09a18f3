"""
The routes as an application of aiohttp: reads requests, writes answers, and lets in who may ask.

The one place, beside the server, that knows the HTTP library.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterable, Mapping
from email.utils import formatdate
from http import HTTPStatus
from typing import Final

import structlog
from aiohttp import web
from aiohttp.typedefs import Handler as WebHandler
from aiohttp.typedefs import Middleware

from mm2.config.keys.keys_top import HeaderRule
from mm2.config.text.expressions import hidden_in, hide
from mm2.errors import ConfigError, ConfigErrors, FlowError, InvalidArgument, Mm2Error
from mm2.rest.cors import Origins, is_local_name, is_loopback, name_in
from mm2.rest.listeners import ServerSetup
from mm2.rest.openapi import ROUTES
from mm2.rest.passwords import Passwords
from mm2.rest.requests import Api, Request, Response, parse_body
from mm2.rest.rest_errors import RestError
from mm2.rest.routes import Route

log = structlog.get_logger()

REQUEST_TIMEOUT_S: Final = 90.0
"""A request that takes longer is answered 500, as Connect does (C361)."""

MOST_BODY_BYTES: Final = 1024 * 1024
_JSON: Final = "application/json"
_TEXTS: Final = frozenset({"trace", "message", "errors", "reason", "servers"})
"""Fields of answers that hold sentences for people, or addresses."""
_REALM: Final = 'Basic realm="mm2"'


def application(
    api: Api, entrance: ServerSetup, *, request_timeout_s: float = REQUEST_TIMEOUT_S
) -> web.Application:
    """
    The application.

    Args:
        api: what it shows and steers.
        entrance: who is let in.
        request_timeout_s: how long a request may take.
    """
    origins, passwords = entrance.origins, entrance.passwords
    app = web.Application(
        middlewares=[
            _headers(entrance.settings.headers),
            _origins(origins),
            _failures,
            *([] if passwords else [_names(entrance)]),
            _preflights(origins),
            *([_authentication(passwords)] if passwords else []),
        ],
        client_max_size=MOST_BODY_BYTES,
    )
    app.add_routes(_routes(api, entrance, request_timeout_s))
    return app


def _routes(
    api: Api, entrance: ServerSetup, request_timeout_s: float
) -> Iterable[web.AbstractRouteDef]:
    for route in ROUTES:
        handler = _handler(route, api, request_timeout_s)
        if route.writes or (route.validates and api.plugins.resolves):
            handler = _guarded(handler, entrance)
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
            log.info("rest.obeyed", method=route.method, path=request.path, client=request.remote)
        return _response(answer)

    return handle


def _guarded(handler: WebHandler, entrance: ServerSetup) -> WebHandler:
    async def handle(request: web.Request) -> web.StreamResponse:
        if entrance.settings.read_only:
            raise RestError(HTTPStatus.FORBIDDEN, _only_shows(entrance))
        origin = request.headers.get("Origin")
        if entrance.origins.is_foreign(origin, request.host, is_local=_is_local(request)):
            message = f"Pages of {origin} may change nothing; see access.control.allow.origin."
            raise RestError(HTTPStatus.FORBIDDEN, message)
        return await handler(request)

    return handle


def _only_shows(entrance: ServerSetup) -> str:
    if not entrance.settings.read_only_by_default:
        return "This node only shows (rest.read.only); ask another one."
    return (
        "This node only shows, as nobody has to log in to it (rest.read.only). To let clients"
        " change flows, give it a login (rest.basic.auth.file, or https with"
        " listeners.https.ssl.client.auth=required), or write rest.read.only=false to let"
        " everybody change them who reaches it."
    )


def _is_local(request: web.Request) -> bool:
    """Whether the request came in on a loopback address."""
    return is_loopback(str(request.get_extra_info("sockname", ("",))[0]))


async def _body(request: web.Request) -> object:
    if request.content_type != _JSON:
        raise RestError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"Send the body as {_JSON}.")
    return parse_body(await request.read())


def _response(answer: Response) -> web.Response:
    headers = {"Location": answer.location} if answer.location else None
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


def _refusal(status: int, message: str, headers: Mapping[str, str] | None = None) -> web.Response:
    body = json.dumps({"error_code": int(status), "message": hide(message)}).encode()
    return web.Response(body=body, status=status, headers=headers, content_type=_JSON)


@web.middleware
async def _failures(request: web.Request, handler: WebHandler) -> web.StreamResponse:
    """Turns whatever goes wrong into Connect's error body."""
    try:
        return await handler(request)
    except web.HTTPException as error:
        return _of_library(request, error)
    except Mm2Error as error:
        return _refusal(_status_of(error), str(error))
    except Exception as error:
        log.error("rest.failed", method=request.method, path=request.path, exc_info=error)
        return _refusal(HTTPStatus.INTERNAL_SERVER_ERROR, f"{type(error).__name__}: {error}")


def _status_of(error: Mm2Error) -> HTTPStatus:
    match error:
        case RestError():
            return error.status
        case ConfigError() | ConfigErrors() | InvalidArgument():
            return HTTPStatus.BAD_REQUEST
        case FlowError():
            return HTTPStatus.CONFLICT
        case _ if error.retriable:
            return HTTPStatus.SERVICE_UNAVAILABLE
        case _:
            return HTTPStatus.INTERNAL_SERVER_ERROR


def _of_library(request: web.Request, error: web.HTTPException) -> web.Response:
    """What the library refuses, in Jersey's words: no such path, no such method, too long."""
    if isinstance(error, web.HTTPMethodNotAllowed):
        allowed = {"Allow": ",".join(sorted(error.allowed_methods))}
        if request.method == "OPTIONS":
            return web.Response(status=HTTPStatus.OK, headers=allowed)
        return _refusal(error.status, "HTTP 405 Method Not Allowed", allowed)
    return _refusal(error.status, f"HTTP {error.status} {error.reason}")


def _headers(rules: Iterable[HeaderRule]) -> Middleware:
    """Sets the headers of ``response.http.headers.config``, as Jetty's HeaderFilter does."""
    rules = tuple(rules)

    @web.middleware
    async def middleware(request: web.Request, handler: WebHandler) -> web.StreamResponse:
        response = await handler(request)
        for rule in rules:
            value = _date(rule.value) if rule.action.endswith("Date") else rule.value
            if rule.action.startswith("set"):
                response.headers[rule.name] = value
            else:
                response.headers.add(rule.name, value)
        return response

    return middleware


def _date(milliseconds: str) -> str:
    """Now + N ms as an HTTP date; N defaults to 0."""
    ahead = int(milliseconds) if milliseconds.lstrip("-").isdecimal() else 0
    return formatdate(time.time() + ahead / 1000, usegmt=True)


def _origins(origins: Origins) -> Middleware:
    @web.middleware
    async def middleware(request: web.Request, handler: WebHandler) -> web.StreamResponse:
        response = await handler(request)
        response.headers.update(origins.headers(request.headers.get("Origin")))
        return response

    return middleware


def _names(entrance: ServerSetup) -> Middleware:
    """Keeps pages out whose names lead to a listener that only this machine is to reach."""
    listeners = [each.listener for each in entrance.bound]
    ports = {each.port for each in listeners if each.is_local and each.scheme == "http"}
    known, allows = (entrance.settings.advertised_host or "").lower(), entrance.origins.allows

    @web.middleware
    async def middleware(request: web.Request, handler: WebHandler) -> web.StreamResponse:
        host = request.headers.get("Host", "")
        is_private = request.get_extra_info("sockname", ("", 0))[1] in ports
        name = name_in(host)
        is_known = name in {"", known} or is_local_name(name)
        if is_private and not is_known and not allows(f"http://{host}"):
            message = f"Ask for localhost, or set rest.advertised.host.name to {name}."
            raise RestError(HTTPStatus.FORBIDDEN, message)
        return await handler(request)

    return middleware


def _preflights(origins: Origins) -> Middleware:
    """Answers what browsers ask beforehand; they send no password with it."""

    @web.middleware
    async def middleware(request: web.Request, handler: WebHandler) -> web.StreamResponse:
        if request.method == "OPTIONS":
            headers = origins.preflight(
                request.headers.get("Origin"),
                request.headers.get("Access-Control-Request-Method"),
            )
            if headers is not None:
                return web.Response(status=HTTPStatus.OK, headers=headers)
        return await handler(request)

    return middleware


def _authentication(passwords: Passwords) -> Middleware:
    @web.middleware
    async def middleware(request: web.Request, handler: WebHandler) -> web.StreamResponse:
        if not passwords.admits(request.headers.get("Authorization")):
            message = "User cannot access the resource."
            return _refusal(HTTPStatus.UNAUTHORIZED, message, {"WWW-Authenticate": _REALM})
        return await handler(request)

    return middleware
