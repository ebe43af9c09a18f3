"""JSON schemas of what goes over the wire, by the names that routes use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

Schema = Mapping[str, object]

_TEXT: Final[Schema] = {"type": "string"}
_NULLABLE_TEXT: Final[Schema] = {"type": ["string", "null"]}
_NUMBER: Final[Schema] = {"type": "integer"}
_ANYTHING: Final[Schema] = {"type": "object"}


def reference(name: str) -> Schema:
    """A schema by its name."""
    return {"$ref": f"#/components/schemas/{name}"}


def _object(required: Mapping[str, Schema], optional: Mapping[str, Schema] | None = None) -> Schema:
    return {
        "type": "object",
        "properties": {**required, **(optional or {})},
        "required": list(required),
    }


def _list(of: Schema) -> Schema:
    return {"type": "array", "items": of}


def _map(of: Schema) -> Schema:
    return {"type": "object", "additionalProperties": of}


def _one_of(words: Sequence[str]) -> Schema:
    return {"type": "string", "enum": list(words)}


_STATE: Final = {
    "state": _one_of(["RUNNING", "PAUSED", "STOPPED", "FAILED", "UNASSIGNED", "RESTARTING"]),
    "worker_id": _TEXT,
}
_READY: Final = {"ready": {"type": "boolean"}, "reason": _NULLABLE_TEXT}
_TRACE: Final = {"trace": _TEXT}
_TYPE: Final = _one_of(["source", "sink"])
_TASK: Final = _object({"connector": _TEXT, "task": _NUMBER})

SCHEMAS: Final[Mapping[str, Schema]] = {
    "Error": _object({"error_code": _NUMBER, "message": _TEXT}),
    "Message": _object({"message": _TEXT}),
    "Names": _list(_TEXT),
    "Server": _object({"version": _TEXT, "commit": _TEXT, "kafka_cluster_id": _TEXT}),
    "Health": _object({"status": _one_of(["healthy", "starting"]), "message": _TEXT}),
    "Readiness": _object(
        {
            "status": _one_of(["ready", "not ready", "starting"]),
            "message": _TEXT,
            "flows": _list(_object({"flow": _TEXT, **_READY})),
            "clusters": _list(_object({"cluster": _TEXT, "servers": _TEXT, **_READY})),
        }
    ),
    "Config": _map(_TEXT),
    "ConfigChanges": _map(_NULLABLE_TEXT),
    "NewConnector": _object(
        {"name": _TEXT, "config": reference("Config")},
        {"initial_state": _one_of(["RUNNING", "PAUSED", "STOPPED"])},
    ),
    "Connector": _object(
        {"name": _TEXT, "config": reference("Config"), "tasks": _list(_TASK), "type": _TYPE}
    ),
    "Connectors": {
        "oneOf": [
            reference("Names"),
            _map(_object({}, {"status": reference("Status"), "info": reference("Connector")})),
        ]
    },
    "Tasks": _list(_object({"id": _TASK, "config": reference("Config")})),
    "TaskStatus": _object({"id": _NUMBER, **_STATE}, _TRACE),
    "Status": _object(
        {
            "name": _TEXT,
            "connector": _object(_STATE, _TRACE),
            "tasks": _list(reference("TaskStatus")),
            "type": _TYPE,
        }
    ),
    "Topics": _map(_object({"topics": _list(_TEXT)})),
    "Offsets": _object(
        {
            "offsets": _list(
                _object({"partition": _ANYTHING, "offset": {"type": ["object", "null"]}})
            )
        }
    ),
    "Plugins": _list(_object({"class": _TEXT, "type": _TYPE, "version": _TEXT})),
    "Definition": _object(
        {
            "name": _TEXT,
            "type": _TEXT,
            "required": {"type": "boolean"},
            "default_value": _NULLABLE_TEXT,
            "importance": _one_of(["HIGH", "MEDIUM", "LOW"]),
            "documentation": _TEXT,
            "group": _NULLABLE_TEXT,
            "order": _NUMBER,
            "width": _one_of(["NONE", "SHORT", "MEDIUM", "LONG"]),
            "display_name": _TEXT,
            "dependents": _list(_TEXT),
        }
    ),
    "Definitions": _list(reference("Definition")),
    "Validation": _object(
        {
            "name": _TEXT,
            "error_count": _NUMBER,
            "groups": _list(_TEXT),
            "configs": _list(
                _object(
                    {
                        "definition": {"anyOf": [reference("Definition"), {"type": "null"}]},
                        "value": _object(
                            {
                                "name": _TEXT,
                                "value": _NULLABLE_TEXT,
                                "recommended_values": _list(_TEXT),
                                "errors": _list(_TEXT),
                                "visible": {"type": "boolean"},
                            }
                        ),
                    }
                )
            ),
        }
    ),
    "LoggerLevel": _object({"level": _TEXT}),
    "Logger": _object({"level": _TEXT, "last_modified": {"type": ["integer", "null"]}}),
    "Metrics": _TEXT,
    "Events": _list(
        _object(
            {
                "number": _NUMBER,
                "time": _TEXT,
                "level": _TEXT,
                "name": _TEXT,
                "flow": _TEXT,
                "fields": _map(_TEXT),
            }
        )
    ),
    "Loggers": _map(reference("Logger")),
    "Anything": _ANYTHING,
}
