"""The status page over HTTP: for browsers, at the root that clients of Connect ask, too."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import aclosing, suppress
from functools import cache
from http import HTTPStatus
from importlib.resources import files
from typing import Final

from aiohttp import web
from aiohttp.typedefs import Handler as WebHandler

from mm2.rest.rest_errors import RestError, not_found
from mm2.status_page.status_page import StatusPage

HEADERS: Final[Mapping[str, str]] = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self';"
        " connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""Of all that belongs to the page: nothing is loaded from elsewhere, and no page may embed it."""

_TYPES: Final = {
    ".css": "text/css",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
}
_HTML: Final = "text/html"
_JSON: Final = "application/json"


def page_routes(page: StatusPage) -> Iterable[web.AbstractRouteDef]:
    """What the page loads after itself."""

    async def updates(request: web.Request) -> web.StreamResponse:
        if page.is_full:
            message = "Too many status pages of this node are open; close others."
            raise RestError(HTTPStatus.SERVICE_UNAVAILABLE, message)
        response = web.StreamResponse(headers={**HEADERS, "X-Accel-Buffering": "no"})
        response.content_type = "text/event-stream"
        await response.prepare(request)
        async with aclosing(page.updates()) as found:
            with suppress(ConnectionError):  # The browser has gone.
                async for update in found:
                    await response.write(f"data: {update}\n\n".encode())
        return response

    return [web.get("/page/updates", updates), web.get("/page/{file}", _file)]


def for_browsers(handler: WebHandler, page: StatusPage) -> WebHandler:
    """Answers browsers with the page, and all others with what ``handler`` answers."""

    async def handle(request: web.Request) -> web.StreamResponse:
        if prefers_html(request.headers.get("Accept", "")):
            response: web.StreamResponse = web.Response(
                text=await page.html(), content_type=_HTML, headers=HEADERS
            )
        else:
            response = await handler(request)
        response.headers["Vary"] = "Accept"
        return response

    return handle


def prefers_html(accept: str) -> bool:
    """Whether a header ``Accept`` names HTML, and JSON not before it; wildcards are no browser."""
    weights = dict(_weighted(each) for each in accept.lower().split(","))
    html = weights.get(_HTML, 0.0)
    return html > 0 and html >= weights.get(_JSON, 0.0)


def _weighted(part: str) -> tuple[str, float]:
    kind, *parameters = (each.strip() for each in part.split(";"))
    written = next((each[2:] for each in parameters if each.startswith("q=")), "1")
    try:
        return kind, float(written)
    except ValueError:
        return kind, 0.0


async def _file(request: web.Request) -> web.Response:
    found = _static_files().get(request.match_info["file"])
    if found is None:
        raise not_found("HTTP 404 Not Found")
    body, content_type = found
    return web.Response(body=body, content_type=content_type, charset="utf-8", headers=HEADERS)


@cache
def _static_files() -> Mapping[str, tuple[bytes, str]]:
    """The files that there are, so that no request can name any other."""
    return {
        each.name: (each.read_bytes(), kind)
        for each in files("mm2.status_page").joinpath("static").iterdir()
        if (kind := _TYPES.get(f".{each.name.rpartition('.')[2]}"))
    }
