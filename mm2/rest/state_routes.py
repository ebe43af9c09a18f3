"""``/connectors/{connector}``: status, target state and restarts of connectors and tasks."""

from __future__ import annotations

from http import HTTPStatus
from typing import Final

from mm2.rest.connector_protocol import TaskTarget
from mm2.rest.documents import status_document, task_document
from mm2.rest.requests import Api, Request, Response
from mm2.rest.rest_errors import not_found
from mm2.rest.routes import CONNECTOR, Parameter, RouteTable

STATE_ROUTES: Final = RouteTable()

_BOOLEAN: Final = {"type": "boolean", "default": False}
_RESTART: Final = (
    Parameter(name="includeTasks", doc="Whether tasks start anew, too.", schema=_BOOLEAN),
    Parameter(name="onlyFailed", doc="Whether only what has failed does.", schema=_BOOLEAN),
)


@STATE_ROUTES.add("GET", f"{CONNECTOR}/status", answers={200: "Status"})
async def get_status(api: Api, call: Request) -> Response:
    """Shows how a connector and its tasks are."""
    return Response(body=status_document(await api.connectors.status(call.connector)))


@STATE_ROUTES.add("GET", f"{CONNECTOR}/tasks", answers={200: "Tasks"})
async def get_tasks(api: Api, call: Request) -> Response:
    """Lists a connector's tasks."""
    name = call.connector
    configs = await api.connectors.task_configs(name)
    return Response(
        body=[
            {"id": {"connector": name, "task": number}, "config": dict(config)}
            for number, config in sorted(configs.items())
        ]
    )


@STATE_ROUTES.add("GET", f"{CONNECTOR}/tasks/{{task}}/status", answers={200: "TaskStatus"})
async def get_task_status(api: Api, call: Request) -> Response:
    """Shows how a task is."""
    number = _task(call)
    state = (await api.connectors.status(call.connector)).tasks.get(number)
    if state is None:
        raise not_found(f"No status found for task {call.connector}-{number}")
    return Response(body=task_document(number, state))


@STATE_ROUTES.add(
    "POST", f"{CONNECTOR}/tasks/{{task}}/restart", answers={204: None}, refusals=(409,)
)
async def restart_task(api: Api, call: Request) -> Response:
    """Has a task start anew."""
    await api.connectors.restart_task(call.connector, _task(call))
    return Response(status=HTTPStatus.NO_CONTENT)


def _task(call: Request) -> int:
    written = call.path["task"]
    # Java's path parameter is an int; what is none has no resource.
    if not written.isascii() or not written.isdecimal() or len(written) > len(str(2**31)):
        raise not_found("HTTP 404 Not Found")
    return int(written)


@STATE_ROUTES.add(
    "POST",
    f"{CONNECTOR}/restart",
    query=_RESTART,
    answers={204: None, 202: "Status"},
    refusals=(409,),
)
async def restart(api: Api, call: Request) -> Response:
    """Has a connector, its tasks or both start anew."""
    include_tasks, only_failed = call.switch("includeTasks"), call.switch("onlyFailed")
    status = await api.connectors.restart(
        call.connector, include_tasks=include_tasks, only_failed=only_failed
    )
    if not include_tasks and not only_failed:
        return Response(status=HTTPStatus.NO_CONTENT)
    return Response(status=HTTPStatus.ACCEPTED, body=status_document(status))


@STATE_ROUTES.add("PUT", f"{CONNECTOR}/pause", answers={202: None})
async def pause(api: Api, call: Request) -> Response:
    """Has a connector pause."""
    await api.connectors.set_target_state(call.connector, TaskTarget.PAUSED)
    return Response(status=HTTPStatus.ACCEPTED)


@STATE_ROUTES.add("PUT", f"{CONNECTOR}/resume", answers={202: None})
async def resume(api: Api, call: Request) -> Response:
    """Has a connector go on, after a pause or a stop."""
    await api.connectors.set_target_state(call.connector, TaskTarget.RUNNING)
    return Response(status=HTTPStatus.ACCEPTED)


@STATE_ROUTES.add("PUT", f"{CONNECTOR}/stop", answers={204: None})
async def stop(api: Api, call: Request) -> Response:
    """Has a connector stop, so that its offsets can be altered."""
    await api.connectors.set_target_state(call.connector, TaskTarget.STOPPED)
    return Response(status=HTTPStatus.NO_CONTENT)
