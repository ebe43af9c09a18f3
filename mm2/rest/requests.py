"""A request and its answer as handlers see them: read, checked for form, without HTTP library."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus

from mm2.core.json_text import read_json
from mm2.metrics.scrape import Metrics
from mm2.rest.connector_plugins import Plugins
from mm2.rest.connector_protocol import Connectors, JsonObject
from mm2.rest.rest_errors import bad_request
from mm2.status_page.status_page import StatusPage
from mm2.telemetry.levels import LogLevels
from mm2.telemetry.recent_events import RECENT_EVENTS, RecentEvents


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """
    One request.

    Attributes:
        path: the path's parameters, decoded.
        body: the JSON; None for routes without a body.
    """

    path: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, Sequence[str]] = field(default_factory=dict)
    body: object = None

    @property
    def connector(self) -> str:
        """The connector that the path names."""
        return self.path["connector"]

    def switch(self, name: str, *, default: bool = False) -> bool:
        """A boolean of the query, read as Java does: "true" in any case, and nothing else."""
        written = self.query.get(name)
        return written[0].lower() == "true" if written else default

    def object(self) -> JsonObject:
        """
        The body, which must be an object.

        Raises:
            RestError: it is not.
        """
        if not isinstance(self.body, dict):
            raise bad_request("The body must be a JSON object.")
        return self.body

    def config(self) -> dict[str, str]:
        """
        The body as a configuration; keys whose value is null are left out.

        Raises:
            RestError: it is none.
        """
        return config_of(self.object())


def config_of(fields: object) -> dict[str, str]:
    """
    A configuration from an object of JSON; numbers and booleans become texts, as in Connect.

    Raises:
        RestError: it is none.
    """
    return {key: value for key, value in changes_of(fields).items() if value is not None}


def changes_of(fields: object) -> dict[str, str | None]:
    """
    The same where null has a meaning.

    Raises:
        RestError: it is no configuration.
    """
    if not isinstance(fields, dict):
        raise bad_request("A configuration must be a JSON object.")
    return {key: _text(key, value) for key, value in fields.items()}


def _text(key: str, value: object) -> str | None:
    match value:
        case None | str():
            return value
        case bool():
            return str(value).lower()
        case int() | float():
            return str(value)
        case _:
            raise bad_request(f"The value of {key} must be a text.")


def parse_body(data: bytes) -> object:
    """
    Reads the JSON of a body.

    Raises:
        RestError: it is none, or holds what no text can.
    """
    try:
        return read_json(data)
    except ValueError as error:
        raise bad_request(f"The body is not JSON: {error}") from error


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """
    A response.

    Attributes:
        body: becomes JSON; None for no body.
        text: metrics, sent as they are in place of a body.
        location: path of what was created.
    """

    status: HTTPStatus = HTTPStatus.OK
    body: object = None
    text: str | None = None
    location: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Api:
    """
    What handlers use.

    Attributes:
        starting: why the connectors are not known yet; None if they are.
        page: for browsers; None if there is none.
        metrics: exports what this node does; None if it does not.
        events: of this process.
    """

    connectors: Connectors
    plugins: Plugins
    levels: LogLevels
    starting: Callable[[], str | None] = field(default=lambda: None)
    page: StatusPage | None = None
    metrics: Metrics | None = None
    events: RecentEvents = RECENT_EVENTS


Handler = Callable[[Api, Request], Awaitable[Response]]
