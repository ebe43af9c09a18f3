"""``/connectors``: what connectors are, how they are, and what becomes of them."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Final
from urllib.parse import quote

from mm2.errors import ClusterError
from mm2.rest.calls import Answer, Api, Call, changes_of, config_of
from mm2.rest.documents import info_document, position_document, status_document, task_document
from mm2.rest.errors import RestError, bad_request, not_found
from mm2.rest.ports import ConnectorInfo, ConnectorStatus, ConnectorType, State, Target
from mm2.rest.routes import Parameter, Route

_NAME: Final = "name"
_OK: Final = HTTPStatus.OK
_ACCEPTED: Final = HTTPStatus.ACCEPTED
_NO_CONTENT: Final = HTTPStatus.NO_CONTENT
_CONFLICT: Final = HTTPStatus.CONFLICT
_BAD: Final = HTTPStatus.BAD_REQUEST


async def list_connectors(api: Api, call: Call) -> Answer:
    """The names of connectors, or with ``expand`` what they are and how."""
    names = await api.connectors.names()
    if "expand" not in call.query:
        return Answer(body=list(names))
    parts = set(call.query["expand"])
    found = await asyncio.gather(*(_listed(api, name, parts) for name in names))
    return Answer(body={n: each for n, each in zip(names, found, strict=True) if each is not None})


async def _listed(api: Api, name: str, parts: set[str]) -> dict[str, object] | None:
    """One entry of the list, which one cluster that is away does not take from all the others."""
    try:
        return await _expanded(api, name, parts)
    except RestError as error:
        # Gone since it was listed.
        if error.status is not HTTPStatus.NOT_FOUND:
            raise
        return None
    except ClusterError as error:
        return _unseen(name, parts, str(error))


def _unseen(name: str, parts: set[str], reason: str) -> dict[str, object]:
    kind = ConnectorType.SOURCE
    found: dict[str, object] = {}
    if "status" in parts:
        state = State(state="UNASSIGNED", worker_id="", trace=reason)
        found["status"] = status_document(ConnectorStatus(name=name, type=kind, connector=state))
    if "info" in parts:
        info = ConnectorInfo(name=name, type=kind, config={"name": name}, tasks=[])
        found["info"] = info_document(info)
    return found


async def _expanded(api: Api, name: str, parts: set[str]) -> dict[str, object]:
    found: dict[str, object] = {}
    if "status" in parts:
        found["status"] = status_document(await api.connectors.status(name))
    if "info" in parts:
        found["info"] = info_document(await api.connectors.listed(name))
    return found


async def create_connector(api: Api, call: Call) -> Answer:
    """Makes a connector."""
    fields = call.object()
    config = config_of(fields.get("config"))
    written = fields.get(_NAME)
    if not isinstance(written, str | None):
        raise bad_request("The name of a connector must be a text.")
    name = (written or "").strip()
    _check_name(name, config)
    target = _target(fields.get("initial_state"))
    info = await api.connectors.create(name, config, target)
    return _created(info)


def _created(info: ConnectorInfo) -> Answer:
    return Answer(
        status=HTTPStatus.CREATED,
        body=info_document(info),
        location=f"/connectors/{quote(info.name, safe='')}",
    )


def _check_name(name: str, config: dict[str, str]) -> None:
    """The name in a configuration must be that of the request; it is added if it is missing."""
    included = config.setdefault(_NAME, name)
    if included != name:
        raise bad_request(
            f"Connector name configuration ({included}) doesn't match connector name in the URL"
            f" ({name})"
        )


def _target(written: object) -> Target:
    match written:
        case None:
            return Target.RUNNING
        case str() if written.upper() in Target.__members__:
            return Target[written.upper()]
        case _:
            raise bad_request(f"initial_state must be one of {', '.join(Target.__members__)}")


async def get_connector(api: Api, call: Call) -> Answer:
    """What a connector is."""
    return Answer(body=info_document(await api.connectors.info(call.connector)))


async def get_config(api: Api, call: Call) -> Answer:
    """A connector's configuration."""
    return Answer(body=dict(await api.connectors.config(call.connector)))


async def put_config(api: Api, call: Call) -> Answer:
    """Gives a connector a configuration."""
    config = call.config()
    _check_name(call.connector, config)
    info, is_new = await api.connectors.put_config(call.connector, config)
    return _created(info) if is_new else Answer(body=info_document(info))


async def patch_config(api: Api, call: Call) -> Answer:
    """Changes some keys of a connector's configuration."""
    changes = changes_of(call.object())
    if changes.get(_NAME, call.connector) != call.connector:
        raise bad_request("A connector cannot be given another name.")
    changes.pop(_NAME, None)
    return Answer(body=info_document(await api.connectors.patch_config(call.connector, changes)))


async def delete_connector(api: Api, call: Call) -> Answer:
    """Ends a connector for good."""
    await api.connectors.delete(call.connector)
    return Answer(status=_NO_CONTENT)


async def get_status(api: Api, call: Call) -> Answer:
    """How a connector is."""
    return Answer(body=status_document(await api.connectors.status(call.connector)))


async def get_tasks(api: Api, call: Call) -> Answer:
    """A connector's tasks and their configurations."""
    name = call.connector
    configs = await api.connectors.task_configs(name)
    return Answer(
        body=[
            {"id": {"connector": name, "task": number}, "config": dict(config)}
            for number, config in sorted(configs.items())
        ]
    )


async def get_task_status(api: Api, call: Call) -> Answer:
    """How one task is."""
    number = _task(call)
    state = (await api.connectors.status(call.connector)).tasks.get(number)
    if state is None:
        raise not_found(f"No status found for task {call.connector}-{number}")
    return Answer(body=task_document(number, state))


async def restart_task(api: Api, call: Call) -> Answer:
    """Has one task start anew."""
    await api.connectors.restart_task(call.connector, _task(call))
    return Answer(status=_NO_CONTENT)


def _task(call: Call) -> int:
    written = call.path["task"]
    # Java's path parameter is an int; what is none has no resource.
    if not written.isascii() or not written.isdecimal() or len(written) > len(str(2**31)):
        raise not_found("HTTP 404 Not Found")
    return int(written)


async def get_topics(api: Api, call: Call) -> Answer:
    """The topics that a connector uses."""
    topics = await api.connectors.topics(call.connector)
    return Answer(body={call.connector: {"topics": list(topics)}})


async def reset_topics(api: Api, call: Call) -> Answer:
    """Forgets the topics that a connector uses."""
    await api.connectors.reset_topics(call.connector)
    return Answer(status=_ACCEPTED)


async def pause(api: Api, call: Call) -> Answer:
    """Has a connector hold, ready to go on."""
    await api.connectors.want(call.connector, Target.PAUSED)
    return Answer(status=_ACCEPTED)


async def resume(api: Api, call: Call) -> Answer:
    """Has a connector go on."""
    await api.connectors.want(call.connector, Target.RUNNING)
    return Answer(status=_ACCEPTED)


async def stop(api: Api, call: Call) -> Answer:
    """Has a connector stop."""
    await api.connectors.want(call.connector, Target.STOPPED)
    return Answer(status=_NO_CONTENT)


async def restart(api: Api, call: Call) -> Answer:
    """Has a connector, its tasks or both start anew."""
    include_tasks, only_failed = call.switch("includeTasks"), call.switch("onlyFailed")
    status = await api.connectors.restart(
        call.connector, include_tasks=include_tasks, only_failed=only_failed
    )
    if not include_tasks and not only_failed:
        return Answer(status=_NO_CONTENT)
    return Answer(status=_ACCEPTED, body=status_document(status))


async def get_offsets(api: Api, call: Call) -> Answer:
    """Where a connector is."""
    positions = await api.connectors.offsets(call.connector)
    return Answer(body={"offsets": [position_document(each) for each in positions]})


async def alter_offsets(api: Api, call: Call) -> Answer:
    """Moves a stopped connector."""
    document = call.object()
    if not document.get("offsets"):
        message = "Partitions / offsets need to be provided for an alter offsets request"
        raise bad_request(message)
    return Answer(body={"message": await api.connectors.alter_offsets(call.connector, document)})


async def reset_offsets(api: Api, call: Call) -> Answer:
    """Makes a stopped connector forget where it is."""
    return Answer(body={"message": await api.connectors.reset_offsets(call.connector)})


_BOOLEAN: Final = {"type": "boolean", "default": False}
_EXPAND: Final = Parameter(
    name="expand",
    doc="Answer an object by name, with what is named here; may be repeated.",
    schema={"type": "array", "items": {"type": "string", "enum": ["info", "status"]}},
)
_RESTART: Final = (
    Parameter(name="includeTasks", doc="Whether tasks start anew, too.", schema=_BOOLEAN),
    Parameter(name="onlyFailed", doc="Whether only what has failed does.", schema=_BOOLEAN),
)
_ONE: Final = "/connectors/{connector}"

CONNECTOR_ROUTES: Final = (
    Route(
        method="GET",
        path="/connectors",
        handle=list_connectors,
        summary="Lists connectors.",
        query=(_EXPAND,),
        answers={_OK: "Connectors"},
    ),
    Route(
        method="POST",
        path="/connectors",
        handle=create_connector,
        summary="Makes a connector.",
        doc="Refused in dedicated mode, where the file says which connectors there are.",
        body="NewConnector",
        answers={HTTPStatus.CREATED: "Connector"},
        refusals=(_CONFLICT,),
    ),
    Route(
        method="GET",
        path=_ONE,
        handle=get_connector,
        summary="Shows a connector.",
        answers={_OK: "Connector"},
    ),
    Route(
        method="DELETE",
        path=_ONE,
        handle=delete_connector,
        summary="Ends a connector for good.",
        doc="Refused in dedicated mode: stop it, or take its flow out of the file.",
        answers={_NO_CONTENT: None},
        refusals=(_BAD, _CONFLICT),
    ),
    Route(
        method="GET",
        path=f"{_ONE}/config",
        handle=get_config,
        summary="Shows a connector's configuration.",
        doc="Secrets read [hidden].",
        answers={_OK: "Config"},
    ),
    Route(
        method="PUT",
        path=f"{_ONE}/config",
        handle=put_config,
        summary="Gives a connector a configuration.",
        doc="Dedicated mode: what differs from the present one becomes an alteration of the flow,"
        " over its file; keys that are left out are as the file says again. Values that read"
        " [hidden] stay as they are.",
        body="Config",
        answers={_OK: "Connector", HTTPStatus.CREATED: "Connector"},
        refusals=(_CONFLICT,),
    ),
    Route(
        method="PATCH",
        path=f"{_ONE}/config",
        handle=patch_config,
        summary="Changes some keys of a connector's configuration.",
        doc="null is no value: the default counts (KIP-477).",
        body="ConfigChanges",
        answers={_OK: "Connector"},
        refusals=(_CONFLICT,),
    ),
    Route(
        method="GET",
        path=f"{_ONE}/status",
        handle=get_status,
        summary="Shows how a connector and its tasks are.",
        answers={_OK: "Status"},
    ),
    Route(
        method="GET",
        path=f"{_ONE}/tasks",
        handle=get_tasks,
        summary="Lists a connector's tasks.",
        answers={_OK: "Tasks"},
    ),
    Route(
        method="GET",
        path=f"{_ONE}/tasks/{{task}}/status",
        handle=get_task_status,
        summary="Shows how a task is.",
        answers={_OK: "TaskStatus"},
    ),
    Route(
        method="POST",
        path=f"{_ONE}/tasks/{{task}}/restart",
        handle=restart_task,
        summary="Has a task start anew.",
        answers={_NO_CONTENT: None},
        refusals=(_CONFLICT,),
    ),
    Route(
        method="POST",
        path=f"{_ONE}/restart",
        handle=restart,
        summary="Has a connector, its tasks or both start anew.",
        query=_RESTART,
        answers={_NO_CONTENT: None, _ACCEPTED: "Status"},
        refusals=(_CONFLICT,),
    ),
    Route(
        method="PUT",
        path=f"{_ONE}/pause",
        handle=pause,
        summary="Has a connector pause.",
        answers={_ACCEPTED: None},
    ),
    Route(
        method="PUT",
        path=f"{_ONE}/resume",
        handle=resume,
        summary="Has a connector go on, after a pause or a stop.",
        answers={_ACCEPTED: None},
    ),
    Route(
        method="PUT",
        path=f"{_ONE}/stop",
        handle=stop,
        summary="Has a connector stop, so that its offsets can be altered.",
        answers={_NO_CONTENT: None},
    ),
    Route(
        method="GET",
        path=f"{_ONE}/topics",
        handle=get_topics,
        summary="Lists the topics that a connector uses.",
        answers={_OK: "Topics"},
    ),
    Route(
        method="PUT",
        path=f"{_ONE}/topics/reset",
        handle=reset_topics,
        summary="Always refused, as Connect does where topics are not tracked.",
        doc="Those that are shown are the topics of the present assignment.",
        answers={},
        refusals=(HTTPStatus.FORBIDDEN,),
    ),
    Route(
        method="GET",
        path=f"{_ONE}/offsets",
        handle=get_offsets,
        summary="Shows where a connector is.",
        answers={_OK: "Offsets"},
    ),
    Route(
        method="PATCH",
        path=f"{_ONE}/offsets",
        handle=alter_offsets,
        summary="Moves a stopped connector (KIP-875).",
        doc="An offset of null deletes the position.",
        body="Offsets",
        answers={_OK: "Message"},
        refusals=(_CONFLICT,),
    ),
    Route(
        method="DELETE",
        path=f"{_ONE}/offsets",
        handle=reset_offsets,
        summary="Makes a stopped connector forget where it is (KIP-875).",
        answers={_OK: "Message"},
        refusals=(_BAD, _CONFLICT),
    ),
)
