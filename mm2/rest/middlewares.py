"""What surrounds every request: errors, headers, origins of pages, names of hosts, passwords."""

from __future__ import annotations

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
from mm2.config.text.expressions import hide
from mm2.errors import Mm2Error
from mm2.rest.cors import Origins, is_local_name, name_in
from mm2.rest.listeners import ServerSetup
from mm2.rest.passwords import Passwords
from mm2.rest.rest_errors import RestError, status_of

log = structlog.get_logger()

_JSON: Final = "application/json"
_REALM: Final = 'Basic realm="mm2"'


def _refusal(status: int, message: str, headers: Mapping[str, str] | None = None) -> web.Response:
    body = json.dumps({"error_code": int(status), "message": hide(message)}).encode()
    return web.Response(body=body, status=status, headers=headers, content_type=_JSON)


@web.middleware
async def failures(request: web.Request, handler: WebHandler) -> web.StreamResponse:
    """Turns whatever goes wrong into Connect's error body."""
    try:
        return await handler(request)
    except web.HTTPException as error:
        return _of_library(request, error)
    except Mm2Error as error:
        return _refusal(status_of(error), str(error))
    except Exception as error:
        log.error("rest.failed", method=request.method, path=request.path, exc_info=error)
        return _refusal(HTTPStatus.INTERNAL_SERVER_ERROR, f"{type(error).__name__}: {error}")


def _of_library(request: web.Request, error: web.HTTPException) -> web.Response:
    """What the library refuses, in Jersey's words: no such path, no such method, too long."""
    if isinstance(error, web.HTTPMethodNotAllowed):
        allowed = {"Allow": ",".join(sorted(error.allowed_methods))}
        if request.method == "OPTIONS":
            return web.Response(status=HTTPStatus.OK, headers=allowed)
        return _refusal(error.status, "HTTP 405 Method Not Allowed", allowed)
    return _refusal(error.status, f"HTTP {error.status} {error.reason}")


def headers_of(rules: Iterable[HeaderRule]) -> Middleware:
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


def cross_origin(origins: Origins) -> Middleware:
    """Lets pages of other origins read answers, as ``access.control.*`` says."""

    @web.middleware
    async def middleware(request: web.Request, handler: WebHandler) -> web.StreamResponse:
        response = await handler(request)
        response.headers.update(origins.headers(request.headers.get("Origin")))
        return response

    return middleware


def known_names(setup: ServerSetup) -> Middleware:
    """Keeps pages out whose names lead to a listener that only this machine is to reach."""
    listeners = [each.listener for each in setup.bound]
    ports = {each.port for each in listeners if each.is_local and each.scheme == "http"}
    known, allows = (setup.settings.advertised_host or "").lower(), setup.origins.allows

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


def preflights(origins: Origins) -> Middleware:
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


def authentication(passwords: Passwords) -> Middleware:
    """Lets in who has a password (``rest.basic.auth.file``)."""

    @web.middleware
    async def middleware(request: web.Request, handler: WebHandler) -> web.StreamResponse:
        if not passwords.admits(request.headers.get("Authorization")):
            message = "User cannot access the resource."
            return _refusal(HTTPStatus.UNAUTHORIZED, message, {"WWW-Authenticate": _REALM})
        return await handler(request)

    return middleware
