"""
What kafbat UI asks of Kafka Connect, and what it must be able to read in the answers.

Taken down from its contract, kafka-connect-api.yaml, as of 2026-07: paths, statuses, and the fields
and enumerations of the models that it makes of answers. A client made from such a contract passes
over fields that it does not know, and fails for values that its enumerations do not have.
"""

from __future__ import annotations

from typing import Any, Final

import jsonschema_rs

_TEXT: Final = {"type": "string"}
_NUMBER: Final = {"type": "integer"}
_TEXTS: Final = {"type": "object", "additionalProperties": _TEXT}


def _model(**fields: Any) -> dict[str, Any]:
    return {"type": "object", "properties": fields, "required": list(fields)}


def _list(of: Any) -> dict[str, Any]:
    return {"type": "array", "items": of}


def _map(of: Any) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": of, "minProperties": 1}


_TASK_STATES: Final = ["RUNNING", "FAILED", "PAUSED", "RESTARTING", "UNASSIGNED"]
_TASK_ID: Final = _model(connector=_TEXT, task=_NUMBER)
_TASK: Final = _model(id=_NUMBER, state={"enum": _TASK_STATES}, worker_id=_TEXT)
_STATUS: Final = _model(
    name=_TEXT,
    connector=_model(state={"enum": [*_TASK_STATES, "STOPPED"]}, worker_id=_TEXT),
    tasks=_list(_TASK),
)
_CONNECTOR: Final = _model(
    name=_TEXT, config=_TEXTS, tasks=_list(_TASK_ID), type={"enum": ["source", "sink", "unknown"]}
)
_TYPES: Final = ["BOOLEAN", "CLASS", "DOUBLE", "INT", "LIST", "LONG", "PASSWORD", "SHORT", "STRING"]
_DEFINITION: Final = {
    **_model(name=_TEXT, type={"enum": _TYPES}, importance={"enum": ["LOW", "MEDIUM", "HIGH"]}),
    "not": {"properties": {"width": {"not": {"enum": ["SHORT", "MEDIUM", "LONG", "NONE"]}}}},
}
_VALUE: Final = _model(name=_TEXT, recommended_values=_list(_TEXT), errors=_list(_TEXT))

ANSWERS: Final[dict[tuple[str, str], tuple[int, Any]]] = {
    ("GET", "/"): (200, _model(version=_TEXT, commit=_TEXT, kafka_cluster_id=_TEXT)),
    ("GET", "/connectors?expand=status&expand=info"): (
        200,
        _map(_model(status=_STATUS, info=_CONNECTOR)),
    ),
    ("GET", "/connectors/{c}"): (200, _CONNECTOR),
    ("GET", "/connectors/{c}/config"): (200, _TEXTS),
    ("PUT", "/connectors/{c}/config"): (200, _CONNECTOR),
    ("GET", "/connectors/{c}/status"): (200, _STATUS),
    ("GET", "/connectors/{c}/tasks"): (200, _list(_model(id=_TASK_ID, config=_TEXTS))),
    ("GET", "/connectors/{c}/tasks/{t}/status"): (200, _TASK),
    ("POST", "/connectors/{c}/tasks/{t}/restart"): (204, None),
    ("POST", "/connectors/{c}/restart?includeTasks=false&onlyFailed=false"): (204, None),
    ("PUT", "/connectors/{c}/pause"): (202, None),
    ("PUT", "/connectors/{c}/resume"): (202, None),
    ("PUT", "/connectors/{c}/stop"): (204, None),
    ("GET", "/connectors/{c}/topics"): (200, _map(_model(topics=_list(_TEXT)))),
    ("GET", "/connectors/{c}/offsets"): (200, _model(offsets=_list({"type": "object"}))),
    ("DELETE", "/connectors/{c}/offsets"): (200, {"type": "object"}),
    ("GET", "/connector-plugins"): (200, _list({**_model(), "required": ["class"]})),
    ("PUT", "/connector-plugins/{p}/config/validate"): (
        200,
        _model(
            name=_TEXT,
            error_count=_NUMBER,
            groups=_list(_TEXT),
            configs=_list(_model(definition=_DEFINITION, value=_VALUE)),
        ),
    ),
}
"""Requests, and the status and the form of what they are answered."""


def check_answer(method: str, path: str, status: int, body: object) -> None:
    """
    Fails where kafbat UI would.

    Args:
        method: of the request.
        path: as in ``ANSWERS``.
        status: of the answer.
        body: its JSON; None if there is none.
    """
    expected, model = ANSWERS[method, path]
    assert status == expected, (method, path, status, body)
    if model is None:
        assert body is None, (method, path, body)
    else:
        jsonschema_rs.validator_for(model).validate(body)
