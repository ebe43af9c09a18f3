"""What this node is: its release, health, classes of connectors and levels of logging."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Final

from mm2 import __version__
from mm2.errors import ClusterError
from mm2.rest.calls import Answer, Api, Call
from mm2.rest.errors import bad_request, not_found
from mm2.rest.plugins import API_VERSION
from mm2.rest.routes import Parameter, Route
from mm2.telemetry.levels import LEVELS, Level

HEALTHY_WITHIN_S: Final = 10.0
"""A node that needs longer is not healthy (KIP-1017)."""

_OK: Final = HTTPStatus.OK


async def get_root(api: Api, call: Call) -> Answer:
    """The release whose interface this is, and the cluster."""
    return Answer(
        body={
            "version": API_VERSION,
            "commit": f"mm2-{__version__}",
            "kafka_cluster_id": await api.connectors.cluster_id(),
        }
    )


async def get_health(api: Api, call: Call) -> Answer:
    """Whether this node can do its work."""
    if reason := api.starting():
        message = f"Worker is still starting up: {reason}."
        body = {"status": "starting", "message": message}
        return Answer(status=HTTPStatus.SERVICE_UNAVAILABLE, body=body)
    try:
        async with asyncio.timeout(HEALTHY_WITHIN_S):
            await api.connectors.check()
    except TimeoutError:
        return _unhealthy(f"No answer within {HEALTHY_WITHIN_S:.0f} s.")
    except ClusterError as error:
        return _unhealthy(str(error))
    message = "Worker has completed startup and is ready to handle requests."
    return Answer(body={"status": "healthy", "message": message})


def _unhealthy(reason: str) -> Answer:
    message = f"This node cannot work as it should: {reason}"
    body = {"status": "unhealthy", "message": message}
    return Answer(status=HTTPStatus.INTERNAL_SERVER_ERROR, body=body)


async def list_plugins(api: Api, call: Call) -> Answer:
    """The classes of connectors; there are no other plug-ins, whatever connectorsOnly says."""
    return Answer(body=[plugin.document() for plugin in api.plugins.all])


async def get_definitions(api: Api, call: Call) -> Answer:
    """The definition of a class's configuration."""
    return Answer(body=api.plugins.named(call.path["plugin"]).definitions())


async def validate(api: Api, call: Call) -> Answer:
    """How a configuration fits a class."""
    return Answer(body=api.plugins.validated(call.path["plugin"], call.config()))


async def list_loggers(api: Api, call: Call) -> Answer:
    """The levels that have been set."""
    return Answer(body={name: _level(level) for name, level in api.levels.all().items()})


async def get_logger(api: Api, call: Call) -> Answer:
    """The level of a logger."""
    return Answer(body=_level(_found(api, call.path["logger"])))


async def set_level(api: Api, call: Call) -> Answer:
    """Sets the level of a logger, on this node."""
    if (call.query.get("scope") or ["worker"])[0].lower() == "cluster":
        message = "Levels are set on one node at a time: leave scope=cluster out, and ask each."
        raise bad_request(message)
    written = call.object().get("level")
    if written is None:
        raise bad_request("Desired 'level' parameter was not specified in request.")
    name = str(written).upper()
    if name not in LEVELS:
        raise not_found(f"invalid log level '{written}'.")
    logger = call.path["logger"]
    _found(api, logger)
    return Answer(body=api.levels.set(logger, name))


def _found(api: Api, logger: str) -> Level:
    level = api.levels.of(logger)
    if level is None:
        message = (
            f'Logger {logger} not found. Loggers are "root", and the first words of events, for'
            ' example "checkpoint".'
        )
        raise not_found(message)
    return level


def _level(level: Level) -> dict[str, object]:
    return {"level": level.name, "last_modified": level.changed_ms}


_CONNECTORS_ONLY: Final = Parameter(
    name="connectorsOnly",
    doc="Has no effect: there are no plug-ins but connectors.",
    schema={"type": "boolean", "default": True},
)
_SCOPE: Final = Parameter(
    name="scope",
    doc="Only worker is possible: this node.",
    schema={"type": "string", "enum": ["worker", "cluster"], "default": "worker"},
)

NODE_ROUTES: Final = (
    Route(
        method="GET",
        path="/",
        handle=get_root,
        summary="Shows release and cluster.",
        doc="version is the release of Kafka Connect whose interface this is, commit our own.",
        answers={_OK: "Server"},
    ),
    Route(
        method="GET",
        path="/health",
        handle=get_health,
        summary="Shows whether this node can work (KIP-1017).",
        answers={
            _OK: "Health",
            HTTPStatus.INTERNAL_SERVER_ERROR: "Health",
            HTTPStatus.SERVICE_UNAVAILABLE: "Health",
        },
    ),
    Route(
        method="GET",
        path="/connector-plugins",
        handle=list_plugins,
        summary="Lists the classes of connectors.",
        query=(_CONNECTORS_ONLY,),
        answers={_OK: "Plugins"},
    ),
    Route(
        method="GET",
        path="/connector-plugins/{plugin}/config",
        handle=get_definitions,
        summary="Shows the definition of a class's configuration.",
        answers={_OK: "Definitions"},
    ),
    Route(
        method="PUT",
        path="/connector-plugins/{plugin}/config/validate",
        handle=validate,
        summary="Tells everything that is wrong with a configuration.",
        doc="A worker resolves the values, so that with rest.read.only it refuses.",
        body="Config",
        answers={_OK: "Validation"},
        refusals=(HTTPStatus.FORBIDDEN,),
    ),
    Route(
        method="GET",
        path="/admin/loggers",
        handle=list_loggers,
        summary="Lists the loggers whose level has been set.",
        answers={_OK: "Loggers"},
    ),
    Route(
        method="GET",
        path="/admin/loggers/{logger}",
        handle=get_logger,
        summary="Shows the level of a logger.",
        answers={_OK: "Logger"},
    ),
    Route(
        method="PUT",
        path="/admin/loggers/{logger}",
        handle=set_level,
        summary="Sets the level of a logger on this node; tasks keep theirs.",
        query=(_SCOPE,),
        body="LoggerLevel",
        answers={_OK: "Names"},
    ),
)
