"""What a request is refused with: a status, and Connect's error body."""

from __future__ import annotations

from http import HTTPStatus

from mm2.errors import Mm2Error


class RestError(Mm2Error):
    """
    A request that is not granted.

    Args:
        status: of the answer.
        message: what is wrong and what to do about it, for the body of the answer.
    """

    def __init__(self, status: HTTPStatus, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


def bad_request(message: str) -> RestError:
    """The request is wrong; asking again does not help."""
    return RestError(HTTPStatus.BAD_REQUEST, message)


def not_found(message: str) -> RestError:
    """What the request names is not there."""
    return RestError(HTTPStatus.NOT_FOUND, message)


def conflict(message: str) -> RestError:
    """The request cannot be granted now; clients of Connect ask again a little later."""
    return RestError(HTTPStatus.CONFLICT, message)


def unknown_connector(name: str) -> RestError:
    """The connector is not there, in Connect's words."""
    return not_found(f"Connector {name} not found")
