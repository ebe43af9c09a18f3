"""Errors, and the status with which each is answered."""

from __future__ import annotations

from http import HTTPStatus

from mm2.errors import ConfigError, ConfigErrors, FlowError, InvalidArgument, Mm2Error


class RestError(Mm2Error):
    """A request that is refused, with the status and message of the response."""

    def __init__(self, status: HTTPStatus, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


def status_of(error: Mm2Error) -> HTTPStatus:
    """The status with which a request that has failed is answered."""
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
    """There is no such connector; the message is Connect's."""
    return not_found(f"Connector {name} not found")
