"""Declares routes at their handlers; the server and the OpenAPI document follow from them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

from mm2.rest.requests import Handler

MESSAGES: Final[Mapping[int, str]] = {
    HTTPStatus.OK: "OK.",
    HTTPStatus.CREATED: "Created.",
    HTTPStatus.ACCEPTED: "Will be done; the state tells when it is.",
    HTTPStatus.NO_CONTENT: "Done, or will be; the state tells.",
    HTTPStatus.BAD_REQUEST: "The request is wrong; the message says why.",
    HTTPStatus.UNAUTHORIZED: "Name and password are missing or wrong.",
    HTTPStatus.FORBIDDEN: "This node only shows, or the request comes from a foreign web page.",
    HTTPStatus.NOT_FOUND: "There is no such thing.",
    HTTPStatus.CONFLICT: "Cannot be done now; ask again later.",
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: "The body is too long.",
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE: "The body is not said to be JSON.",
    HTTPStatus.INTERNAL_SERVER_ERROR: "Something failed; the message says what.",
    HTTPStatus.SERVICE_UNAVAILABLE: (
        "A Kafka cluster that is needed does not answer, or this node is starting."
    ),
}
"""What each status means, for people."""

CONNECTOR: Final = "/connectors/{connector}"
"""The path of one connector, with which those of all that it has begin."""

_ALWAYS: Final = (
    HTTPStatus.UNAUTHORIZED,
    HTTPStatus.INTERNAL_SERVER_ERROR,
    HTTPStatus.SERVICE_UNAVAILABLE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """
    A parameter of the query.

    Attributes:
        schema: JSON schema of its value.
    """

    name: str
    doc: str
    schema: Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """
    One operation; its handler's docstring is its summary and description.

    Attributes:
        path: with names in braces for what varies.
        answers: schema names by statuses of success; None is no body.
        refusals: statuses of failure beside those that all routes have.
        body: name of the schema of the request's body; None if there is none.
    """

    method: str
    path: str
    handle: Handler
    answers: Mapping[int, str | None]
    refusals: Sequence[int]
    query: Sequence[Parameter]
    body: str | None

    @property
    def documentation(self) -> tuple[str, str]:
        """The summary, and the description, which may be empty."""
        summary, _, more = (inspect.getdoc(self.handle) or "").partition("\n")
        return summary, " ".join(more.split())

    @property
    def writes(self) -> bool:
        """Whether it changes anything, so that a node that only shows refuses it."""
        return self.method != "GET" and not self.validates

    @property
    def validates(self) -> bool:
        """Whether it only checks what it is sent."""
        return self.path.endswith("/validate")

    @property
    def needs_connectors(self) -> bool:
        """Whether it is about connectors, which a worker has to know first."""
        return self.path.partition("/{")[0] == "/connectors"

    def statuses(self) -> tuple[int, ...]:
        """Every status that an answer can have."""
        found: set[int] = {*self.answers, *self.refusals, *self.common_statuses()}
        if self.body is not None:
            found |= {
                HTTPStatus.BAD_REQUEST,
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
                HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
            }
        return tuple(sorted(found))

    def common_statuses(self) -> tuple[int, ...]:
        """Those of failures that all routes of its kind have."""
        found: set[int] = {*_ALWAYS}
        if "{" in self.path:
            found.add(HTTPStatus.NOT_FOUND)
        if self.writes:
            found.add(HTTPStatus.FORBIDDEN)
        return tuple(sorted(found))


class RouteTable(list[Route]):
    """Routes in the order in which ``add`` has declared them."""

    def add(
        self,
        method: str,
        path: str,
        *,
        answers: Mapping[int, str | None],
        refusals: Sequence[int] = (),
        query: Sequence[Parameter] = (),
        body: str | None = None,
    ) -> Callable[[Handler], Handler]:
        """Decorates the handler of a route; arguments are those of ``Route``."""

        def declare(handle: Handler) -> Handler:
            self.append(
                Route(
                    method=method,
                    path=path,
                    handle=handle,
                    answers=answers,
                    refusals=refusals,
                    query=query,
                    body=body,
                )
            )
            return handle

        return declare
