"""``/connectors/{connector}``: how connectors and tasks are, and what they are told to do."""

from __future__ import annotations

from http import HTTPStatus
from typing import Final

from mm2.rest.connector_protocol import TaskTarget
from mm2.rest.documents import status_document, task_document
from mm2.rest.requests import Api, Request, Response
from mm2.rest.rest_errors import not_found
from mm2.rest.routes import CONNECTOR, Parameter, Route

_OK: Final = HTTPStatus.OK
_ACCEPTED: Final = HTTPStatus.ACCEPTED
_NO_CONTENT: Final = HTTPStatus.NO_CONTENT
_CONFLICT: Final = HTTPStatus.CONFLICT


async def get_status(api: Api, call: Request) -> Response:
    """How a connector is."""
    return Response(body=status_document(await api.connectors.status(call.connector)))


async def get_tasks(api: Api, call: Request) -> Response:
    """A connector's tasks and their configurations."""
    name = call.connector
    configs = await api.connectors.task_configs(name)
    return Response(
        body=[
            {"id": {"connector": name, "task": number}, "config": dict(config)}
            for number, config in sorted(configs.items())
        ]
    )


async def get_task_status(api: Api, call: Request) -> Response:
    """How one task is."""
    number = _task(call)
    state = (await api.connectors.status(call.connector)).tasks.get(number)
    if state is None:
        raise not_found(f"No status found for task {call.connector}-{number}")
    return Response(body=task_document(number, state))


async def restart_task(api: Api, call: Request) -> Response:
    """Has one task start anew."""
    await api.connectors.restart_task(call.connector, _task(call))
    return Response(status=_NO_CONTENT)


def _task(call: Request) -> int:
    written = call.path["task"]
    # Java's path parameter is an int; what is none has no resource.
    if not written.isascii() or not written.isdecimal() or len(written) > len(str(2**31)):
        raise not_found("HTTP 404 Not Found")
    return int(written)


async def pause(api: Api, call: Request) -> Response:
    """Has a connector hold, ready to go on."""
    await api.connectors.set_target_state(call.connector, TaskTarget.PAUSED)
    return Response(status=_ACCEPTED)


async def resume(api: Api, call: Request) -> Response:
    """Has a connector go on."""
    await api.connectors.set_target_state(call.connector, TaskTarget.RUNNING)
    return Response(status=_ACCEPTED)


async def stop(api: Api, call: Request) -> Response:
    """Has a connector stop."""
    await api.connectors.set_target_state(call.connector, TaskTarget.STOPPED)
    return Response(status=_NO_CONTENT)


async def restart(api: Api, call: Request) -> Response:
    """Has a connector, its tasks or both start anew."""
    include_tasks, only_failed = call.switch("includeTasks"), call.switch("onlyFailed")
    status = await api.connectors.restart(
        call.connector, include_tasks=include_tasks, only_failed=only_failed
    )
    if not include_tasks and not only_failed:
        return Response(status=_NO_CONTENT)
    return Response(status=_ACCEPTED, body=status_document(status))


_BOOLEAN: Final = {"type": "boolean", "default": False}
_RESTART: Final = (
    Parameter(name="includeTasks", doc="Whether tasks start anew, too.", schema=_BOOLEAN),
    Parameter(name="onlyFailed", doc="Whether only what has failed does.", schema=_BOOLEAN),
)

STEERING_ROUTES: Final = (
    Route(
        method="GET",
        path=f"{CONNECTOR}/status",
        handle=get_status,
        summary="Shows how a connector and its tasks are.",
        answers={_OK: "Status"},
    ),
    Route(
        method="GET",
        path=f"{CONNECTOR}/tasks",
        handle=get_tasks,
        summary="Lists a connector's tasks.",
        answers={_OK: "Tasks"},
    ),
    Route(
        method="GET",
        path=f"{CONNECTOR}/tasks/{{task}}/status",
        handle=get_task_status,
        summary="Shows how a task is.",
        answers={_OK: "TaskStatus"},
    ),
    Route(
        method="POST",
        path=f"{CONNECTOR}/tasks/{{task}}/restart",
        handle=restart_task,
        summary="Has a task start anew.",
        answers={_NO_CONTENT: None},
        refusals=(_CONFLICT,),
    ),
    Route(
        method="POST",
        path=f"{CONNECTOR}/restart",
        handle=restart,
        summary="Has a connector, its tasks or both start anew.",
        query=_RESTART,
        answers={_NO_CONTENT: None, _ACCEPTED: "Status"},
        refusals=(_CONFLICT,),
    ),
    Route(
        method="PUT",
        path=f"{CONNECTOR}/pause",
        handle=pause,
        summary="Has a connector pause.",
        answers={_ACCEPTED: None},
    ),
    Route(
        method="PUT",
        path=f"{CONNECTOR}/resume",
        handle=resume,
        summary="Has a connector go on, after a pause or a stop.",
        answers={_ACCEPTED: None},
    ),
    Route(
        method="PUT",
        path=f"{CONNECTOR}/stop",
        handle=stop,
        summary="Has a connector stop, so that its offsets can be altered.",
        answers={_NO_CONTENT: None},
    ),
)
