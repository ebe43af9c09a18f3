"""What this node is: its release, health, classes of connectors and levels of logging."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import asdict
from http import HTTPStatus
from typing import Final

from mm2 import __version__
from mm2.rest.connector_plugins import API_VERSION
from mm2.rest.connector_protocol import Readiness
from mm2.rest.requests import Api, Request, Response
from mm2.rest.rest_errors import bad_request, not_found
from mm2.rest.routes import Parameter, RouteTable
from mm2.telemetry.levels import LEVELS, Level

NODE_ROUTES: Final = RouteTable()

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
_AFTER: Final = Parameter(
    name="after",
    doc="Only events with higher numbers than this one.",
    schema={"type": "integer", "minimum": 0, "default": 0},
)
_MOST_DIGITS: Final = 20
_FLOW: Final = Parameter(
    name="flow",
    doc="Only this flow and its clusters: A->B, A-%3EB in a URL; of a worker a connector's name.",
    schema={"type": "string"},
)


@NODE_ROUTES.add("GET", "/", answers={200: "Server"})
async def get_root(api: Api, call: Request) -> Response:
    """
    Shows release and cluster.

    version is the release of Kafka Connect whose interface this is, commit our own. Browsers, which
    accept text/html, get the status page.
    """
    return Response(
        body={
            "version": API_VERSION,
            "commit": f"mm2-{__version__}",
            "kafka_cluster_id": await api.connectors.cluster_id(),
        }
    )


@NODE_ROUTES.add("GET", "/health", answers={200: "Health", 503: "Health"})
async def get_health(api: Api, call: Request) -> Response:
    """
    Shows whether this process works, for liveness probes (KIP-1017).

    200 also while clusters are away; 503 while a Connect worker reads its connectors.
    """
    if reason := api.starting():
        body = {"status": "starting", "message": _still_starting(reason)}
        return Response(status=HTTPStatus.SERVICE_UNAVAILABLE, body=body)
    message = "Worker has completed startup and is ready to handle requests."
    return Response(body={"status": "healthy", "message": message})


def _still_starting(reason: str) -> str:
    return f"Worker is still starting up: {reason}."


@NODE_ROUTES.add(
    "GET",
    "/health/ready",
    query=(_FLOW,),
    answers={200: "Readiness", 503: "Readiness"},
    refusals=(404,),
)
async def get_readiness(api: Api, call: Request) -> Response:
    """
    Shows which flows and clusters are ready, for readiness probes and monitors.

    503 if any is not: a cluster does not answer, or nobody leads the flow. Answers within some
    seconds, whoever is away.
    """
    if starting := api.starting():
        return _readiness("starting", [_still_starting(starting)], Readiness())
    found = await api.connectors.readiness(next(iter(call.query.get("flow", ())), None))
    reasons = dict.fromkeys(filter(None, [*found.clusters.values(), *found.flows.values()]))
    return _readiness("not ready" if reasons else "ready", reasons, found)


def _readiness(status: str, reasons: Iterable[str], found: Readiness) -> Response:
    body = {
        "status": status,
        "message": "; ".join(reasons) or "All flows are led, and their clusters answer.",
        "flows": [
            {"flow": name, "ready": why is None, "reason": why} for name, why in found.flows.items()
        ],
        "clusters": [
            {"cluster": alias, "servers": servers, "ready": why is None, "reason": why}
            for (alias, servers), why in found.clusters.items()
        ],
    }
    is_ready = status == "ready"
    return Response(status=HTTPStatus.OK if is_ready else HTTPStatus.SERVICE_UNAVAILABLE, body=body)


@NODE_ROUTES.add("GET", "/metrics", answers={200: "Metrics"}, refusals=(404,))
async def get_metrics(api: Api, call: Request) -> Response:
    """
    Exports metrics of the flows that this node leads, in Prometheus' text format.

    404 if metrics.enabled is false.
    """
    if api.metrics is None:
        raise not_found("Metrics are off (metrics.enabled).")
    return Response(text=await api.metrics.scrape())


@NODE_ROUTES.add("GET", "/events", query=(_AFTER,), answers={200: "Events"}, refusals=(400,))
async def list_events(api: Api, call: Request) -> Response:
    """
    Lists the newest events of this node's log, the oldest first.

    A node keeps 1,000. Numbers grow with each event, also over restarts.
    """
    written = next(iter(call.query.get("after", ())), "0")
    if not written.isascii() or not written.isdecimal() or len(written) > _MOST_DIGITS:
        raise bad_request(f"after={written}: write the number of an event.")
    return Response(body=[asdict(event) for event in api.events.after(int(written))])


@NODE_ROUTES.add("GET", "/connector-plugins", query=(_CONNECTORS_ONLY,), answers={200: "Plugins"})
async def list_plugins(api: Api, call: Request) -> Response:
    """Lists the classes of connectors."""
    return Response(body=[plugin.document() for plugin in api.plugins.all])


@NODE_ROUTES.add("GET", "/connector-plugins/{plugin}/config", answers={200: "Definitions"})
async def get_definitions(api: Api, call: Request) -> Response:
    """Shows the definition of a class's configuration."""
    return Response(body=api.plugins.named(call.path["plugin"]).definitions())


@NODE_ROUTES.add(
    "PUT",
    "/connector-plugins/{plugin}/config/validate",
    body="Config",
    answers={200: "Validation"},
    refusals=(403,),
)
async def validate(api: Api, call: Request) -> Response:
    """
    Tells everything that is wrong with a configuration.

    A worker resolves the values, so that with rest.read.only it refuses.
    """
    # In another thread: patterns may take their time.
    return Response(
        body=await asyncio.to_thread(api.plugins.validated, call.path["plugin"], call.config())
    )


@NODE_ROUTES.add("GET", "/admin/loggers", answers={200: "Loggers"})
async def list_loggers(api: Api, call: Request) -> Response:
    """Lists the loggers whose level has been set."""
    return Response(body={name: _level(level) for name, level in api.levels.all().items()})


@NODE_ROUTES.add("GET", "/admin/loggers/{logger}", answers={200: "Logger"})
async def get_logger(api: Api, call: Request) -> Response:
    """Shows the level of a logger."""
    return Response(body=_level(_found(api, call.path["logger"])))


@NODE_ROUTES.add(
    "PUT", "/admin/loggers/{logger}", query=(_SCOPE,), body="LoggerLevel", answers={200: "Names"}
)
async def set_level(api: Api, call: Request) -> Response:
    """Sets the level of a logger on this node, and in tasks of the flows that it leads."""
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
    return Response(body=api.levels.set(logger, name))


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
